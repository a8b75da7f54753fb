/** Persons: list and read. Events create and change them. */

import { pageOfItems } from '../../contract/common.ts'
import { FormatQuery, PersonItem, PersonsQuery } from '../../contract/persons/persons.ts'
import { Refusal } from '../../errors.ts'
import {
  type ActorListContext,
  type PersonListRequest,
  type PersonPage,
  personCountTree,
  personsTree,
} from '../../query/lists/persons.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { formatUuid, uuidBytes } from '../../uuid.ts'
import { readFilterParameters } from '../analytics/queries/filter-parameters.ts'
import type { QueryCall } from '../analytics/queries/query-context.ts'
import { runTree } from '../analytics/queries/run-tree.ts'
import { answerJson, answerResults } from '../answers/answers.ts'
import { neighbourPages, queryId, queryValue, readPage, readSearch } from '../answers/pages.ts'
import { answerRefusal } from '../answers/refusals.ts'
import type { AppContext } from '../app-context.ts'
import { projectRoute } from '../route.ts'
import { answerCsv, listFormat } from './lists-as-csv.ts'
import { personIdInPath } from './person-in-path.ts'
import { serializePerson } from './person-serializer.ts'

/** The most persons of one page. */
const PAGE_MAX = 10_000

/** A request without filters. */
export const NO_PERSON_FILTERS: PersonListRequest = {
  uuid: null,
  email: null,
  distinct_id: null,
  search: null,
  properties: null,
  cohort_id: null,
}

export const PERSON_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'persons/',
    scope: 'person:read',
    summary: 'Persons, the newest first.',
    query: PersonsQuery,
    answers: { 200: pageOfItems(PersonItem) },
    answer: (app, call) => listPersons(app, call),
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/',
    scope: 'person:write',
    summary: 'Refused: persons are made by events.',
    answers: {},
    answer: () => {
      const detail =
        'Creating persons via this API is not allowed. Please send an event with $set to /capture/ instead.'
      return answerRefusal(new Refusal('method_not_allowed', detail), { Allow: 'GET, HEAD' })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/:person_id/',
    scope: 'person:read',
    summary: 'One person.',
    query: FormatQuery,
    answers: { 200: PersonItem },
    answer: async (app, call) => {
      const { params, request } = call
      const format = listFormat(request)
      const uuid = formatUuid(personIdInPath(params))
      const wanted = { ...NO_PERSON_FILTERS, uuid }
      const { items } = await findPersons(app, call, wanted, { limit: 1, offset: 0 })
      const [person] = items
      if (person === undefined) throw new Refusal('not_found', 'Not found.')
      return format === 'csv' ? answerCsv([person]) : answerJson(person)
    },
  }),
] as const

async function listPersons(app: AppContext, call: QueryCall): Promise<Response> {
  const { request } = call
  const format = listFormat(request)
  const wanted = {
    ...NO_PERSON_FILTERS,
    email: queryValue(request, 'email'),
    distinct_id: queryValue(request, 'distinct_id'),
    search: readSearch(request).trim() || null,
    properties: readFilterParameters(request),
    cohort_id: queryId(request, 'cohort'),
  }
  const page = readPage(request, { limit_max: PAGE_MAX })
  const { items, has_more } = await findPersons(app, call, wanted, page)
  if (format === 'csv') return answerCsv(items, ['id', 'name'])
  const count = await runTree(
    app,
    call,
    'persons/count',
    personCountTree(wanted, contextOf(app, call)),
  )
  const head = {
    count: Number(count.rows[0]?.[0]),
    ...neighbourPages(request, app.publicUrl(), { ...page, has_more }),
  }
  return answerResults(head, items)
}

/** Finds a page of persons, the newest first. Refuses filters that cannot be evaluated. */
export async function findPersons(
  app: AppContext,
  call: QueryCall,
  request: PersonListRequest,
  page: PersonPage,
): Promise<{ readonly items: readonly object[]; readonly has_more: boolean }> {
  const tree = personsTree(request, page, contextOf(app, call))
  const { rows } = await runTree(app, call, 'persons', tree)
  const items = await mapInSlices(
    rows.slice(0, page.limit),
    ([id, created_at, properties, is_identified]) =>
      serializePerson(app, call.project, {
        id: uuidBytes(String(id)),
        created_at: Date.parse(String(created_at)) * 1000,
        properties: JSON.parse(String(properties)),
        is_identified: is_identified === true || is_identified === 1,
      }),
  )
  return { items, has_more: rows.length > page.limit }
}

/** The context of the filters of a list of persons or groups. */
export function contextOf(app: AppContext, { project }: QueryCall): ActorListContext {
  return {
    timezone: project.timezone,
    now: app.now(),
    property_types: app.definitions.propertyTypes(project.id),
  }
}
