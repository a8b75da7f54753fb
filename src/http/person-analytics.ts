/** Person analytics: correlation, lifecycle, stickiness and values of a property. Interface §4.1. */
import { CorrelationBody, FormatQuery, ValueList, ValuesQuery } from '../contract/persons.ts'
import { Refusal } from '../errors.ts'
import { valuesTree } from '../query/value-lists.ts'
import { queryOf } from './addresses.ts'
import { answerJson } from './answers.ts'
import { answerCsv, listFormat } from './lists-as-csv.ts'
import type { Needs } from './needs.ts'
import { queryValue } from './pages.ts'
import { projectRoute } from './route.ts'
import { shapeOf } from './shape.ts'
import { type Asked, askTree } from './trees.ts'

/** What every analysis of events is asked with (wire §6). */
const INSIGHT = [
  'actions',
  'date_from',
  'date_to',
  'events',
  'filter_test_accounts',
  'insight',
  'interval',
  'limit',
  'offset',
  'properties',
  'search',
] as const

/** The parameters that ask for an analysis, by endpoint; without any of them there is nothing to work out. */
const ANALYSES = {
  correlation: [
    ...INSIGHT,
    'funnel_correlation_event_exclude_property_names',
    'funnel_correlation_event_names',
    'funnel_correlation_exclude_names',
    'funnel_correlation_names',
    'funnel_correlation_person_converted',
    'funnel_correlation_person_entity',
    'funnel_correlation_person_limit',
    'funnel_correlation_person_offset',
    'funnel_correlation_property_values',
    'funnel_correlation_type',
    'funnel_window_interval',
    'funnel_window_interval_unit',
  ],
  lifecycle: [...INSIGHT, 'lifecycle_type', 'target_date'],
  stickiness: [
    ...INSIGHT,
    'entity_id',
    'entity_math',
    'entity_order',
    'entity_type',
    'shown_as',
    'stickiness_days',
  ],
} as const

/** Where an analysis stands below a project, and what it does. */
const PLACES = [
  ['correlation', 'funnel/correlation/', 'Persons behind what goes with converting in a funnel.'],
  ['lifecycle', 'lifecycle/', 'Persons who were new, returning, resurrecting or dormant.'],
  ['stickiness', 'stickiness/', 'Persons who came back on a number of days.'],
] as const

export const PERSON_ANALYTICS_ROUTES = [
  ...PLACES.map(([analysis, path, says]) =>
    projectRoute({
      method: 'GET',
      path: `persons/${path}`,
      scope: 'person:read',
      says,
      query: FormatQuery,
      answers: { 200: null },
      answer: (_needs, { request }) => {
        listFormat(request)
        refuseAnalysis(analysis, [...new URLSearchParams(queryOf(request.url)).keys()])
        return answerEmpty()
      },
    }),
  ),
  projectRoute({
    method: 'POST',
    path: 'persons/funnel/correlation/',
    scope: 'person:read',
    says: 'Persons behind what goes with converting in a funnel.',
    query: FormatQuery,
    answers: { 200: null },
    body: shapeOf(CorrelationBody),
    answer: (_needs, { body, request }) => {
      listFormat(request)
      const named = [...new URLSearchParams(queryOf(request.url)).keys(), ...Object.keys(body)]
      // The one member that the interface documents asks for nothing by itself.
      refuseAnalysis(
        'correlation',
        named.filter((name) => name !== 'properties'),
      )
      return answerEmpty()
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

/** Refuses what cannot be worked out, naming the first parameter that asks for it. */
function refuseAnalysis(analysis: keyof typeof ANALYSES, named: readonly string[]): void {
  const known: readonly string[] = ANALYSES[analysis]
  const asked = named.find((name) => known.includes(name))
  if (asked === undefined) return
  throw new Refusal('invalid_input', `The parameter ${asked} is not supported here.`, {
    attr: asked,
  })
}

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
