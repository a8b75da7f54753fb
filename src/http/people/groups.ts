/** Groups: their types, lists of them, one of them. They are made by events (wire §4.10). */
import {
  GroupItem,
  GroupPage,
  GroupProperties,
  GroupQuery,
  GroupsQuery,
  GroupTypeList,
  GroupValueList,
  GroupValuesQuery,
} from '../../contract/groups.ts'
import { Refusal } from '../../errors.ts'
import { groupPropertiesTree, groupsTree, hasType, type WantedGroups } from '../../query/groups.ts'
import { valuesTree } from '../../query/value-lists.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { type Page, pageAddress, pageOf, queryValue } from '../pages.ts'
import { type Asked, askTree } from '../questions/trees.ts'
import { projectRoute } from '../route.ts'
import { valueItems } from './person-analytics.ts'

/** The most groups of one page. */
const PAGE_MAX = 10_000

export const GROUP_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'groups_types/',
    scope: 'group:read',
    says: 'The types of groups that events have named so far.',
    answers: { 200: GroupTypeList },
    answer: (needs, { project }) => {
      const types = needs.people
        .listGroupTypes(project.id)
        .toSorted((one, other) => one.group_type_index - other.group_type_index)
      return answerJson(types.map((type) => ({ ...type, name_singular: null, name_plural: null })))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/',
    scope: 'group:read',
    says: 'Groups of one type, the newest first.',
    query: GroupsQuery,
    answers: { 200: GroupPage },
    answer: async (needs, asked) => {
      const { request } = asked
      const wanted = {
        group_type_index: typeIndexIn(request),
        group_key: null,
        search: queryValue(request, 'search') || null,
      }
      const sent = pageOf(request)
      const page = { ...sent, limit: Math.min(sent.limit, PAGE_MAX) }
      const { items, has_more } = await findGroups(needs, asked, wanted, page)
      const { limit, offset } = page
      const address = (at: number): string => pageAddress(request, needs.publicUrl(), { at, limit })
      return answerJson({
        next: has_more ? address(offset + limit) : null,
        previous: offset > 0 ? address(Math.max(0, offset - limit)) : null,
        results: items,
      })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/find/',
    scope: 'group:read',
    says: 'One group, by its type and key.',
    query: GroupQuery,
    answers: { 200: GroupItem },
    answer: async (needs, asked) => {
      const { request } = asked
      const group_type_index = typeIndexIn(request)
      const group_key = queryValue(request, 'group_key')
      if (group_key === null) throw required('group_key')
      const wanted = { group_type_index, group_key, search: null }
      const { items } = await findGroups(needs, asked, wanted, { limit: 1, offset: 0 })
      const [group] = items
      if (group === undefined) throw new Refusal('not_found', 'Not found.')
      return answerJson(group)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/property_definitions/',
    scope: 'group:read',
    says: 'The properties of groups by the index of their type, the most frequent first.',
    answers: { 200: GroupProperties },
    answer: async (needs, asked) => {
      const { rows } = await askTree(needs, asked, 'groups/properties', groupPropertiesTree())
      const by_type = Map.groupBy(rows, ([index]) => String(index))
      return answerJson(
        Object.fromEntries(
          [...by_type].map(([index, own]) => [
            index,
            own.map(([, name, count]) => ({ name, count })),
          ]),
        ),
      )
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/property_values/',
    scope: 'group:read',
    says: 'The values of a property of groups, the most frequent first.',
    query: GroupValuesQuery,
    answers: { 200: GroupValueList },
    answer: async (needs, asked) => {
      const { request } = asked
      const is_of_type = hasType(typeIndexIn(request))
      const key = queryValue(request, 'key') ?? ''
      if (key === '') throw required('key')
      const containing = queryValue(request, 'value') || null
      const tree = valuesTree('groups', { key, containing, conditions: [is_of_type] })
      const { rows } = await askTree(needs, asked, 'groups/values', tree)
      return answerJson(valueItems(rows))
    },
  }),
] as const

async function findGroups(
  needs: Needs,
  asked: Asked,
  wanted: WantedGroups,
  page: Page,
): Promise<{ readonly items: readonly object[]; readonly has_more: boolean }> {
  const { rows } = await askTree(needs, asked, 'groups', groupsTree(wanted, page))
  const items = rows.slice(0, page.limit).map(([group_key, created_at, properties]) => ({
    group_type_index: wanted.group_type_index,
    group_key,
    group_properties: JSON.parse(String(properties)),
    created_at,
  }))
  return { items, has_more: rows.length > page.limit }
}

/** The type of groups that a request names. Refuses none, and what is no index. */
export function typeIndexIn(request: Request): number {
  const text = queryValue(request, 'group_type_index')
  if (text === null || text === '') throw required('group_type_index')
  if (/^[0-4]$/.test(text)) return Number(text)
  const detail = 'Must be a whole number from 0 to 4.'
  throw new Refusal('invalid_input', detail, { attr: 'group_type_index' })
}

const required = (attr: string): Refusal =>
  new Refusal('required', 'This field is required.', { attr })
