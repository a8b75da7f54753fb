/** Person analytics: funnels, trends, correlation, lifecycle, stickiness and the values of a property. */

import {
  ANALYSES,
  type Analysis,
  analysisQuery,
  PeopleBehind,
} from '../../contract/persons/person-analytics.ts'
import {
  CorrelationBody,
  FunnelPeopleBody,
  ValueList,
  ValuesQuery,
} from '../../contract/persons/persons.ts'
import { legacyFunnelActors, legacyTrendsActors } from '../../insights/legacy/legacy-actors.ts'
import { countOf, type LegacyParameters, legacyText } from '../../insights/legacy/legacy-filters.ts'
import {
  legacyCorrelation,
  legacyLifecycle,
  legacyStickiness,
} from '../../insights/legacy/legacy-queries.ts'
import { valuesTree } from '../../query/lists/properties.ts'
import { pathOf, queryOf } from '../addresses.ts'
import type { QueryCall } from '../analytics/queries/query-context.ts'
import { runTree } from '../analytics/queries/run-tree.ts'
import { answerJson } from '../answers/answers.ts'
import { queryValue, queryValues } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { projectRoute } from '../route.ts'
import { answerActors } from './actors.ts'
import { answerCsv, listFormat } from './lists-as-csv.ts'

/** The path of each analysis below a project, its summary, and its parameters. */
const ANALYSIS_ROUTES = [
  ['correlation', 'funnel/correlation/', 'Persons behind a funnel correlation.', legacyCorrelation],
  [
    'lifecycle',
    'lifecycle/',
    'Persons who were new, returning, resurrecting or dormant.',
    legacyLifecycle,
  ],
  ['funnel', 'funnel/', 'Persons of a step of a funnel.', legacyFunnelActors],
  ['trends', 'trends/', 'Persons behind a trend, by how often.', legacyTrendsActors],
  ['stickiness', 'stickiness/', 'Persons who came back on a number of days.', legacyStickiness],
] as const

export const PERSON_ANALYTICS_ROUTES = [
  ...ANALYSIS_ROUTES.map(([analysis, path, summary, sourceOf]) =>
    projectRoute({
      method: 'GET',
      path: `persons/${path}`,
      scope: 'person:read',
      summary: summary,
      query: analysisQuery(analysis),
      answers: { 200: PeopleBehind },
      answer: (app, call) => {
        listFormat(call.request)
        const input = queryValues(call.request)
        if (!asksFor(analysis, Object.keys(input))) return answerEmpty()
        return analyse(app, call, { analysis, sent: input, source: sourceOf(input) })
      },
    }),
  ),
  projectRoute({
    method: 'POST',
    path: 'persons/funnel/correlation/',
    scope: 'person:read',
    summary: 'Persons behind a funnel correlation.',
    query: analysisQuery('correlation'),
    answers: { 200: PeopleBehind },
    body: validatorOf(CorrelationBody),
    answer: (app, call) => {
      listFormat(call.request)
      const input: LegacyParameters = { ...queryValues(call.request), ...call.body }
      // `properties`, the one documented parameter, does not start an analysis.
      const named = Object.keys(input).filter((name) => name !== 'properties')
      if (!asksFor('correlation', named)) return answerEmpty()
      return analyse(app, call, {
        analysis: 'correlation',
        sent: input,
        source: legacyCorrelation(input),
      })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'persons/funnel/',
    scope: 'person:read',
    summary: 'Persons of a step of a funnel.',
    query: analysisQuery('funnel'),
    answers: { 200: PeopleBehind },
    body: validatorOf(FunnelPeopleBody),
    answer: (app, call) => {
      listFormat(call.request)
      const input: LegacyParameters = { ...queryValues(call.request), ...call.body }
      return analyse(app, call, {
        analysis: 'funnel',
        sent: input,
        source: legacyFunnelActors(input),
      })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'persons/values/',
    scope: 'person:read',
    summary: 'The twenty most frequent values of a person property.',
    query: ValuesQuery,
    answers: { 200: ValueList },
    answer: (app, call) => answerValues(app, call),
  }),
] as const

/** Whether any parameter of the analysis was sent; without one the answer is 200 and an empty body. */
function asksFor(analysis: Analysis, named: readonly string[]): boolean {
  return named.some((name) => Object.hasOwn(ANALYSES[analysis].properties, name))
}

type AnalysisRequest = {
  readonly analysis: Analysis
  readonly sent: LegacyParameters
  readonly source: object
}

function analyse(
  app: AppContext,
  call: QueryCall,
  { analysis, sent: input, source }: AnalysisRequest,
): Promise<Response> {
  const [limit_name, offset_name] = PAGE_NAMES[analysis]
  const limit = countOf(input, limit_name) || LIMIT_DEFAULT
  const offset = countOf(input, offset_name) ?? 0
  const address = (at: number): string => {
    const query = new URLSearchParams(queryOf(call.request.url))
    query.set(offset_name, String(at))
    return `${app.publicUrl()}${pathOf(call.request.url)}?${query.toString()}`
  }
  const params = { initial: address(0), is_cached: false, last_refresh: app.now() }
  return answerActors(app, call, {
    source,
    page: { limit, offset },
    search: legacyText(input, 'search'),
    address,
    has_counts: analysis === 'trends',
    ...(HAS_MISSING.has(analysis)
      ? { more: ({ missing }) => ({ ...params, missing_persons: missing }) }
      : {}),
  })
}

/** Analyses whose answers have the number of actors without a profile, and their own age. */
const HAS_MISSING: ReadonlySet<Analysis> = new Set(['correlation', 'funnel', 'trends'])

/** Default size of a page of persons. */
const LIMIT_DEFAULT = 100

/** Names of a page's size and start. */
const PAGE_NAMES = {
  correlation: ['funnel_correlation_person_limit', 'funnel_correlation_person_offset'],
  funnel: ['limit', 'offset'],
  lifecycle: ['limit', 'offset'],
  stickiness: ['limit', 'offset'],
  trends: ['limit', 'offset'],
} as const satisfies Record<Analysis, readonly [string, string]>

/**
 * Answers the values of a property. Without a key there is nothing to compute; without any parameter the body
 * is empty, as documented.
 */
async function answerValues(app: AppContext, call: QueryCall): Promise<Response> {
  const { request } = call
  const format = listFormat(request)
  const key = queryValue(request, 'key')
  const containing = queryValue(request, 'value')
  if (key === null && containing === null) return answerEmpty()
  if (key === null || key === '') return answerList([], format)
  const tree = valuesTree('persons', { key, containing: containing || null })
  const { rows } = await runTree(app, call, 'persons/values', tree)
  return answerList(valueItems(rows), format)
}

/** Serializes values with their stored types, not as text. */
export function valueItems(
  rows: readonly (readonly unknown[])[],
): readonly { readonly name: unknown; readonly count: number }[] {
  return rows.map(([value, count]) => ({ name: JSON.parse(String(value)), count: Number(count) }))
}

async function answerList(items: readonly object[], format: 'csv' | 'json'): Promise<Response> {
  return format === 'csv' ? answerCsv(items, ['name', 'count']) : answerJson(items)
}

/** 200 without a body: clients of the interface check for exactly that status. */
function answerEmpty(): Response {
  return new Response(null, { status: 200, headers: { 'X-Content-Type-Options': 'nosniff' } })
}
