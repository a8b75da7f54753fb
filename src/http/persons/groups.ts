/** Groups: types, lists, one group. Events create them. */

import {
  GroupItem,
  GroupPage,
  GroupProperties,
  GroupQuery,
  GroupsQuery,
  GroupTypeList,
  GroupTypeNamesBody,
  GroupValueList,
  GroupValuesQuery,
} from '../../contract/persons/groups.ts'
import { Refusal } from '../../errors.ts'
import {
  readGroupTypeNames,
  writeGroupTypeNames,
} from '../../projects/settings/group-type-names.ts'
import {
  type GroupListRequest,
  groupPropertiesTree,
  groupsTree,
  hasType,
} from '../../query/lists/groups.ts'
import { valuesTree } from '../../query/lists/properties.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { readFilterParameters } from '../analytics/queries/filter-parameters.ts'
import type { QueryCall } from '../analytics/queries/query-context.ts'
import { runTree } from '../analytics/queries/run-tree.ts'
import { answerJson, answerResults } from '../answers/answers.ts'
import {
  neighbourPages,
  type PageRequest,
  queryValue,
  readPage,
  readSearch,
} from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { projectRoute } from '../route.ts'
import { valueItems } from './person-analytics.ts'
import { contextOf } from './persons.ts'

/** The most groups of one page. */
const PAGE_MAX = 10_000

export const GROUP_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'groups_types/',
    scope: 'group:read',
    summary: 'List group types.',
    answers: { 200: GroupTypeList },
    answer: (app, { project }) => answerJson(listTypes(app, project.id)),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'groups_types/update_metadata/',
    scope: 'group:write',
    summary: 'Set the display names of group types.',
    body: validatorOf(GroupTypeNamesBody),
    answers: { 200: GroupTypeList },
    answer: (app, { project, body }) => {
      const types = app.persons.listGroupTypes(project.id)
      const changes = body.map((change, index) => {
        const { group_type, group_type_index } = change
        const type = types.find((one) =>
          group_type === undefined
            ? one.group_type_index === group_type_index
            : one.group_type === group_type,
        )
        if (type !== undefined) return [type.group_type_index, change] as const
        const detail = 'There is no such group type.'
        throw new Refusal('does_not_exist', detail, { attr: `${index}__group_type` })
      })
      writeGroupTypeNames(app.control, project.id, new Map(changes))
      return answerJson(listTypes(app, project.id))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/',
    scope: 'group:read',
    summary: 'Groups of one type, the newest first.',
    query: GroupsQuery,
    answers: { 200: GroupPage },
    answer: async (app, call) => {
      const { request } = call
      const wanted = {
        group_type_index: readTypeIndex(request),
        group_key: null,
        search: readSearch(request) || null,
        properties: readFilterParameters(request),
      }
      const page = readPage(request, { limit_max: PAGE_MAX })
      const { items, has_more } = await findGroups(app, call, wanted, page)
      const head = neighbourPages(request, app.publicUrl(), { ...page, has_more })
      return answerResults(head, items)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/find/',
    scope: 'group:read',
    summary: 'One group, by its type and key.',
    query: GroupQuery,
    answers: { 200: GroupItem },
    answer: async (app, call) => answerJson(await getGroup(app, call, readGroupKey(call.request))),
  }),
  projectRoute({
    method: 'GET',
    path: 'groups/property_definitions/',
    scope: 'group:read',
    summary: 'The properties of groups by the index of their type, the most frequent first.',
    answers: { 200: GroupProperties },
    answer: async (app, call) => {
      const { rows } = await runTree(app, call, 'groups/properties', groupPropertiesTree())
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
    summary: 'The values of a property of groups, the most frequent first.',
    query: GroupValuesQuery,
    answers: { 200: GroupValueList },
    answer: async (app, call) => {
      const { request } = call
      const is_of_type = hasType(readTypeIndex(request))
      const key = queryValue(request, 'key') ?? ''
      if (key === '') throw requiredField('key')
      const containing = queryValue(request, 'value') || null
      const tree = valuesTree('groups', { key, containing, conditions: [is_of_type] })
      const { rows } = await runTree(app, call, 'groups/values', tree)
      return answerJson(valueItems(rows))
    },
  }),
] as const

function listTypes(app: AppContext, project_id: number): readonly object[] {
  const names = readGroupTypeNames(app.control, project_id)
  return app.persons
    .listGroupTypes(project_id)
    .toSorted((one, other) => one.group_type_index - other.group_type_index)
    .map((type) => ({ ...type, ...(names.get(type.group_type_index) ?? NO_NAMES) }))
}

const NO_NAMES = { name_singular: null, name_plural: null }

async function findGroups(
  app: AppContext,
  call: QueryCall,
  request: GroupListRequest,
  page: PageRequest,
): Promise<{ readonly items: readonly object[]; readonly has_more: boolean }> {
  const { rows } = await runTree(
    app,
    call,
    'groups',
    groupsTree(request, page, contextOf(app, call)),
  )
  const shown = rows.slice(0, page.limit)
  const items = await mapInSlices(shown, ([group_key, created_at, properties]) => ({
    group_type_index: request.group_type_index,
    group_key,
    group_properties: JSON.parse(String(properties)),
    created_at,
  }))
  return { items, has_more: rows.length > page.limit }
}

/** Returns a group in the form of lists. Refuses a group that is not stored. */
export async function getGroup(
  app: AppContext,
  call: QueryCall,
  { group_type_index, group_key }: ReturnType<typeof readGroupKey>,
): Promise<object> {
  const wanted = { group_type_index, group_key, search: null, properties: null }
  const { items } = await findGroups(app, call, wanted, { limit: 1, offset: 0 })
  const [group] = items
  if (group === undefined) throw new Refusal('not_found', 'Not found.')
  return group
}

/** Reads the group that a query string names. Refuses it without a type or a key. */
export function readGroupKey(request: Request): {
  readonly group_type_index: number
  readonly group_key: string
} {
  const group_type_index = readTypeIndex(request)
  const group_key = queryValue(request, 'group_key')
  if (group_key === null) throw requiredField('group_key')
  return { group_type_index, group_key }
}

/** Reads the index of a group type. Refuses a missing one, and anything but an index. */
export function readTypeIndex(request: Request): number {
  const text = queryValue(request, 'group_type_index')
  if (text === null || text === '') throw requiredField('group_type_index')
  if (/^[0-4]$/.test(text)) return Number(text)
  const detail = 'Must be a whole number from 0 to 4.'
  throw new Refusal('invalid_input', detail, { attr: 'group_type_index' })
}

const requiredField = (attr: string): Refusal =>
  new Refusal('required', 'This field is required.', { attr })
