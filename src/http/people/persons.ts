/** Persons: listed, found. They are made and changed by events (wire §4.8). */

import { pageOfItems } from '../../contract/common.ts'
import { FormatQuery, PersonItem, PersonsQuery } from '../../contract/persons.ts'
import { Refusal } from '../../errors.ts'
import {
  type Page,
  type PersonContext,
  personCountTree,
  personsTree,
  type WantedPersons,
} from '../../query/persons.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { pageAddress, pageOf, queryValue } from '../pages.ts'
import { filtersSent } from '../questions/filters-sent.ts'
import { type Asked, askTree } from '../questions/trees.ts'
import { namedIn, projectRoute } from '../route.ts'
import { answerCsv, listFormat } from './lists-as-csv.ts'
import { personIdOf } from './person-in-path.ts'
import { personOnWire, uuidText } from './person-wire.ts'

/** The most persons of one page. */
const PAGE_MAX = 10_000

const NOBODY_WANTED: WantedPersons = {
  uuid: null,
  email: null,
  distinct_id: null,
  search: null,
  properties: null,
}

export const PERSON_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'persons/',
    scope: 'person:read',
    says: 'Persons, the newest first.',
    query: PersonsQuery,
    answers: { 200: pageOfItems(PersonItem) },
    answer: (needs, call) => listPersons(needs, call),
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/',
    scope: 'person:write',
    says: 'Refused: persons are made by events.',
    answers: {},
    answer: () => {
      const detail =
        'Creating persons via this API is not allowed. Please send an event with $set to /capture/ instead.'
      throw new Refusal('method_not_allowed', detail)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/:person_id/',
    scope: 'person:read',
    says: 'One person.',
    query: FormatQuery,
    answers: { 200: PersonItem },
    answer: async (needs, asked) => {
      const { params, request } = asked
      const format = listFormat(request)
      const uuid = uuidText(personIdOf(namedIn(params, 'person_id')))
      const wanted = { ...NOBODY_WANTED, uuid }
      const { items } = await findPersons(needs, asked, wanted, { limit: 1, offset: 0 })
      const [person] = items
      if (person === undefined) throw new Refusal('not_found', 'Not found.')
      return format === 'csv' ? answerCsv([person]) : answerJson(person)
    },
  }),
] as const

async function listPersons(needs: Needs, asked: Asked): Promise<Response> {
  const { request } = asked
  const format = listFormat(request)
  const wanted = {
    ...NOBODY_WANTED,
    email: queryValue(request, 'email'),
    distinct_id: queryValue(request, 'distinct_id'),
    search: queryValue(request, 'search')?.trim() ?? null,
    properties: filtersSent(request),
  }
  const sent = pageOf(request)
  const page = { ...sent, limit: Math.min(sent.limit, PAGE_MAX) }
  const { items, has_more } = await findPersons(needs, asked, wanted, page)
  if (format === 'csv') return answerCsv(items, ['id', 'name'])
  const count = await askTree(
    needs,
    asked,
    'persons/count',
    personCountTree(wanted, contextOf(needs, asked)),
  )
  const { limit, offset } = page
  const address = (at: number): string => pageAddress(request, needs.publicUrl(), { at, limit })
  return answerJson({
    count: Number(count.rows[0]?.[0]),
    next: has_more ? address(offset + limit) : null,
    previous: offset > 0 ? address(Math.max(0, offset - limit)) : null,
    results: items,
  })
}

async function findPersons(
  needs: Needs,
  asked: Asked,
  wanted: WantedPersons,
  page: Page,
): Promise<{ readonly items: readonly object[]; readonly has_more: boolean }> {
  const tree = personsTree(wanted, page, contextOf(needs, asked))
  const { rows } = await askTree(needs, asked, 'persons', tree)
  const items = rows.slice(0, page.limit).map(([id, created_at, properties, is_identified]) =>
    personOnWire(needs, asked.project, {
      id: Uint8Array.fromHex(String(id).replaceAll('-', '')),
      created_at: Date.parse(String(created_at)) * 1000,
      properties: JSON.parse(String(properties)),
      is_identified: is_identified === true || is_identified === 1,
    }),
  )
  return { items, has_more: rows.length > page.limit }
}

function contextOf(needs: Needs, { project }: Asked): PersonContext {
  return {
    timezone: project.timezone,
    now: needs.now(),
    property_types: needs.definitions.propertyTypes(project.id),
  }
}
