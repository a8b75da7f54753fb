/** Person analytics: correlation, lifecycle, stickiness and values of a property. Interface §4.1. */
import {
  ANALYSES,
  type Analysis,
  analysisQuery,
  PeopleBehind,
} from '../../contract/person-analytics.ts'
import { CorrelationBody, ValueList, ValuesQuery } from '../../contract/persons.ts'
import { countOf, type Parameters, textOf } from '../../insights/old-filters.ts'
import { oldCorrelation, oldLifecycle, oldStickiness } from '../../insights/old-questions.ts'
import { valuesTree } from '../../query/value-lists.ts'
import { pathOf, queryOf } from '../addresses.ts'
import { answerJson } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { queryValue, queryValues } from '../pages.ts'
import { type Asked, askTree } from '../questions/trees.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { answerCsv, listFormat } from './lists-as-csv.ts'
import { answerPeople } from './people-behind.ts'

/** Where an analysis stands below a project, what it does, and who is asked for. */
const PLACES = [
  [
    'correlation',
    'funnel/correlation/',
    'Persons behind what goes with converting in a funnel.',
    oldCorrelation,
  ],
  [
    'lifecycle',
    'lifecycle/',
    'Persons who were new, returning, resurrecting or dormant.',
    oldLifecycle,
  ],
  ['stickiness', 'stickiness/', 'Persons who came back on a number of days.', oldStickiness],
] as const

export const PERSON_ANALYTICS_ROUTES = [
  ...PLACES.map(([analysis, path, says, sourceOf]) =>
    projectRoute({
      method: 'GET',
      path: `persons/${path}`,
      scope: 'person:read',
      says,
      query: analysisQuery(analysis),
      answers: { 200: PeopleBehind },
      answer: (needs, call) => {
        listFormat(call.request)
        const sent = queryValues(call.request)
        if (!asksFor(analysis, Object.keys(sent))) return answerEmpty()
        return analyse(needs, call, { analysis, sent, source: sourceOf(sent) })
      },
    }),
  ),
  projectRoute({
    method: 'POST',
    path: 'persons/funnel/correlation/',
    scope: 'person:read',
    says: 'Persons behind what goes with converting in a funnel.',
    query: analysisQuery('correlation'),
    answers: { 200: PeopleBehind },
    body: shapeOf(CorrelationBody),
    answer: (needs, call) => {
      listFormat(call.request)
      const sent: Parameters = { ...queryValues(call.request), ...call.body }
      // The one member that the interface documents asks for nothing by itself.
      const named = Object.keys(sent).filter((name) => name !== 'properties')
      if (!asksFor('correlation', named)) return answerEmpty()
      return analyse(needs, call, { analysis: 'correlation', sent, source: oldCorrelation(sent) })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/values/',
    scope: 'person:read',
    says: 'The twenty most frequent values of a person property.',
    query: ValuesQuery,
    answers: { 200: ValueList },
    answer: (needs, call) => answerValues(needs, call),
  }),
] as const

/** Without any parameter of an analysis there is nothing to work out (interface §4.1: 200 and no body). */
function asksFor(analysis: Analysis, named: readonly string[]): boolean {
  return named.some((name) => Object.hasOwn(ANALYSES[analysis].properties, name))
}

type Wanted = {
  readonly analysis: Analysis
  readonly sent: Parameters
  readonly source: object
}

function analyse(
  needs: Needs,
  asked: Asked,
  { analysis, sent, source }: Wanted,
): Promise<Response> {
  const [limit_name, offset_name] = PAGE_NAMES[analysis]
  const limit = countOf(sent, limit_name) || LIMIT_DEFAULT
  const offset = countOf(sent, offset_name) ?? 0
  const address = (at: number): string => {
    const query = new URLSearchParams(queryOf(asked.request.url))
    query.set(offset_name, String(at))
    return `${needs.publicUrl()}${pathOf(asked.request.url)}?${query.toString()}`
  }
  const told = { initial: address(0), is_cached: false, last_refresh: needs.now() }
  return answerPeople(needs, asked, {
    source,
    page: { limit, offset },
    search: textOf(sent, 'search'),
    address,
    ...(analysis === 'correlation'
      ? { more: ({ missing }) => ({ ...told, missing_persons: missing }) }
      : {}),
  })
}

/** Persons of a page where nobody says how many. */
const LIMIT_DEFAULT = 100

/** What a page's size and beginning are called. */
const PAGE_NAMES = {
  correlation: ['funnel_correlation_person_limit', 'funnel_correlation_person_offset'],
  lifecycle: ['limit', 'offset'],
  stickiness: ['limit', 'offset'],
} as const satisfies Record<Analysis, readonly [string, string]>

/** Without a key there is nothing to answer; without anything else either, the body is as empty as documented. */
async function answerValues(needs: Needs, asked: Asked): Promise<Response> {
  const { request } = asked
  const format = listFormat(request)
  const key = queryValue(request, 'key')
  const containing = queryValue(request, 'value')
  if (key === null && containing === null) return answerEmpty()
  if (key === null || key === '') return answerList([], format)
  const tree = valuesTree('persons', { key, containing: containing || null })
  const { rows } = await askTree(needs, asked, 'persons/values', tree)
  return answerList(valueItems(rows), format)
}

/** Values as they were stored, not as text. */
export function valueItems(
  rows: readonly (readonly unknown[])[],
): readonly { readonly name: unknown; readonly count: number }[] {
  return rows.map(([value, count]) => ({ name: JSON.parse(String(value)), count: Number(count) }))
}

function answerList(items: readonly object[], format: 'csv' | 'json'): Response {
  return format === 'csv' ? answerCsv(items, ['name', 'count']) : answerJson(items)
}

/** Done, and nothing to say; clients of the interface look for exactly 200. */
function answerEmpty(): Response {
  return new Response(null, { status: 200, headers: { 'X-Content-Type-Options': 'nosniff' } })
}
