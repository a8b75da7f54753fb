/** Actors that occurred in the same events as a group or a person. */

import { RelatedList, RelatedQuery } from '../../contract/persons/groups.ts'
import { Refusal } from '../../errors.ts'
import { isShown, rightsAt } from '../../projects/rights/rights.ts'
import {
  type ActorKey,
  relatedGroupsTree,
  relatedPersonsTree,
} from '../../query/lists/related-actors.ts'
import { formatUuid } from '../../uuid.ts'
import type { QueryCall } from '../analytics/queries/query-context.ts'
import { runTree } from '../analytics/queries/run-tree.ts'
import { answerJson } from '../answers/answers.ts'
import { queryValue } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { projectRoute } from '../route.ts'
import { readTypeIndex } from './groups.ts'
import { personIdOf } from './person-in-path.ts'
import { serializePerson } from './person-serializer.ts'

export const RELATED_GROUP_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'groups/related/',
    scope: 'group:read',
    summary:
      'Persons and groups of other types that came with a group, or groups that came with a person, in the last 90 days.',
    query: RelatedQuery,
    answers: { 200: RelatedList },
    answer: async (app, call) => {
      const one = readActor(call.request)
      const { project, caller } = call
      const shows_persons = isShown(rightsAt(app.control, caller, call), 'groups/related.persons')
      if (one.kind === 'person' && !shows_persons) throw noPersons()
      const related: object[] =
        one.kind === 'group' && shows_persons ? [...(await personsOf(app, call, one))] : []
      for (const { group_type_index } of app.persons.listGroupTypes(project.id)) {
        if (one.kind === 'group' && one.group_type_index === group_type_index) continue
        related.push(...(await groupsOf(app, call, one, group_type_index)))
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

/** Reads the actor; a person without a group type. Refuses a malformed id. */
function readActor(request: Request): ActorKey {
  const id = queryValue(request, 'id') ?? ''
  if (id === '') throw new Refusal('required', 'This field is required.', { attr: 'id' })
  const is_group = (queryValue(request, 'group_type_index') ?? '') !== ''
  return is_group
    ? { kind: 'group', group_type_index: readTypeIndex(request), key: id }
    : { kind: 'person', id: formatUuid(personIdOf(id, 'id')) }
}

async function personsOf(
  app: AppContext,
  call: QueryCall,
  one: ActorKey,
): Promise<readonly object[]> {
  const { rows } = await runTree(app, call, 'groups/related', relatedPersonsTree(one))
  return rows.flatMap(([id]) => {
    const bytes = personIdOf(String(id))
    const person = app.persons.findPersonById(call.project.id, bytes)
    return person === null ? [] : [serializePerson(app, call.project, person)]
  })
}

async function groupsOf(
  app: AppContext,
  call: QueryCall,
  one: ActorKey,
  group_type_index: number,
): Promise<readonly object[]> {
  const tree = relatedGroupsTree(one, group_type_index)
  const { rows } = await runTree(app, call, 'groups/related', tree)
  return rows.map(([group_key, created_at, properties]) => ({
    type: 'group',
    id: group_key,
    group_type_index,
    group_key,
    created_at,
    properties: JSON.parse(String(properties)),
  }))
}
