/** Who came together with a group, or which groups a person came with (wire §4.10). */
import { RelatedList, RelatedQuery } from '../../contract/groups.ts'
import { Refusal } from '../../errors.ts'
import { isShown, rightsAt } from '../../projects/rights.ts'
import { type One, relatedGroupsTree, relatedPersonsTree } from '../../query/related.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { queryValue } from '../pages.ts'
import { type Asked, askTree } from '../questions/trees.ts'
import { projectRoute } from '../route.ts'
import { typeIndexIn } from './groups.ts'
import { personIdOf } from './person-in-path.ts'
import { personOnWire, uuidText } from './person-wire.ts'

export const RELATED_GROUP_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'groups/related/',
    scope: 'group:read',
    says: 'Persons and groups of other types that came with a group, or groups that came with a person, in the last 90 days.',
    query: RelatedQuery,
    answers: { 200: RelatedList },
    answer: async (needs, asked) => {
      const one = oneIn(asked.request)
      const { project, asker } = asked
      const shows_persons = isShown(rightsAt(needs.control, asker, asked), 'groups/related.persons')
      if (one.kind === 'person' && !shows_persons) throw noPersons()
      const related: object[] =
        one.kind === 'group' && shows_persons ? [...(await personsOf(needs, asked, one))] : []
      for (const { group_type_index } of needs.people.listGroupTypes(project.id)) {
        if (one.kind === 'group' && one.group_type_index === group_type_index) continue
        related.push(...(await groupsOf(needs, asked, one, group_type_index)))
      }
      return answerJson(related)
    },
  }),
] as const

const noPersons = (): Refusal =>
  new Refusal(
    'permission_denied',
    'Reading what came with a person needs the right to read persons.',
  )

/** Without a type of groups, a person is meant. Refuses what is no id of one. */
function oneIn(request: Request): One {
  const id = queryValue(request, 'id') ?? ''
  if (id === '') throw new Refusal('required', 'This field is required.', { attr: 'id' })
  const is_group = (queryValue(request, 'group_type_index') ?? '') !== ''
  return is_group
    ? { kind: 'group', group_type_index: typeIndexIn(request), key: id }
    : { kind: 'person', id: uuidText(personIdOf(id, 'id')) }
}

async function personsOf(needs: Needs, asked: Asked, one: One): Promise<readonly object[]> {
  const { rows } = await askTree(needs, asked, 'groups/related', relatedPersonsTree(one))
  return rows.flatMap(([id]) => {
    const bytes = personIdOf(String(id))
    const person = needs.people.findPersonById(asked.project.id, bytes)
    return person === null ? [] : [personOnWire(needs, asked.project, person)]
  })
}

async function groupsOf(
  needs: Needs,
  asked: Asked,
  one: One,
  group_type_index: number,
): Promise<readonly object[]> {
  const tree = relatedGroupsTree(one, group_type_index)
  const { rows } = await askTree(needs, asked, 'groups/related', tree)
  return rows.map(([group_key, created_at, properties]) => ({
    type: 'group',
    id: group_key,
    group_type_index,
    group_key,
    created_at,
    properties: JSON.parse(String(properties)),
  }))
}
