/** Autocaptured elements: counts of clicks by elements chain, and values of element members. */

import {
  ElementPage,
  ElementStats,
  ElementStatsQuery,
  LookedUpValues,
  LookedUpValuesQuery,
} from '../../../contract/analytics/elements.ts'
import { PageQuery } from '../../../contract/common.ts'
import { Refusal } from '../../../errors.ts'
import type { Expr } from '../../../hogql/syntax/ast.ts'
import { compare, constant, field, tuple } from '../../../hogql/syntax/nodes.ts'
import { readRange, sinceDayStart, withinRange } from '../../../insights/dates/date-range.ts'
import { readDate } from '../../../insights/dates/dates.ts'
import { type ElementAnswer, readElements } from '../../../insights/elements.ts'
import { filterCondition } from '../../../insights/filters/property-filters.ts'
import { projectDates } from '../../../insights/insight.ts'
import { legacyBoolean } from '../../../insights/legacy/legacy-filters.ts'
import { clickedTree } from '../../../query/lists/events.ts'
import { Slices } from '../../../threads/slices.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson, answerResults } from '../../answers/answers.ts'
import {
  answerPage,
  neighbourPages,
  queryValue,
  queryValues,
  readPage,
} from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { projectRoute } from '../../route.ts'
import { readFilterParameters } from '../queries/filter-parameters.ts'
import type { QueryCall } from '../queries/query-context.ts'
import { runTree } from '../queries/run-tree.ts'

/** Chains per page. */
const PAGE_DEFAULT = 250
const PAGE_MAX = 10_000
/** The number of most frequent chains that values are taken from. */
const CHAINS_MAX = 1000
const VALUES_MAX = 20

/** Events that carry elements; the first two are the default. */
const EVENTS = ['$autocapture', '$rageclick', '$dead_click'] as const

export const ELEMENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'elements/',
    scope: 'query:read',
    summary: 'An empty list, for old clients: elements are parts of events, not objects.',
    query: PageQuery,
    answers: { 200: ElementPage },
    answer: (app, { request }) => answerPage(request, app.publicUrl(), []),
  }),
  projectRoute({
    method: 'GET',
    path: 'elements/stats/',
    scope: 'query:read',
    summary: 'Count clicks by element, the most frequent first; of the last week by default.',
    query: ElementStatsQuery,
    answers: { 200: ElementStats },
    answer: async (app, call) => {
      const { request } = call
      const input = readPage(request)
      const limit = queryValue(request, 'limit') === null ? PAGE_DEFAULT : input.limit
      const page = { offset: input.offset, limit: Math.min(limit, PAGE_MAX) }
      const tree = clickedTree(readConditions(app, call, readEvents(request)), page)
      const { rows } = await runTree(app, call, 'elements/stats', tree)
      const has_more = rows.length > page.limit
      const head = neighbourPages(request, app.publicUrl(), { ...page, has_more })
      return answerResults(head, rows.slice(0, page.limit), ([chain, type, count]) => ({
        count: Number(count),
        hash: null,
        type,
        elements: readElements(String(chain)),
      }))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'elements/values/',
    scope: 'query:read',
    summary: 'List the tags, texts, links or classes of the elements clicked in the last week.',
    query: LookedUpValuesQuery,
    answers: { 200: LookedUpValues },
    answer: async (app, call) => {
      const { request } = call
      const read = VALUES.get(queryValue(request, 'key') ?? '')
      if (read === undefined) {
        const detail = `Choose one of: ${[...VALUES.keys()].join(', ')}.`
        throw new Refusal('invalid_choice', detail, { attr: 'key' })
      }
      const page = { limit: CHAINS_MAX, offset: 0 }
      const tree = clickedTree(readConditions(app, call, EVENTS), page)
      const { rows } = await runTree(app, call, 'elements/values', tree)
      const containing = (queryValue(request, 'value') ?? '').toLowerCase()
      const counted = new Map<string, number>()
      const slices = new Slices()
      for (const [chain, , count] of rows) {
        if (slices.isOver()) await slices.end()
        for (const value of new Set(readElements(String(chain)).flatMap(read))) {
          if (!value.toLowerCase().includes(containing)) continue
          counted.set(value, (counted.get(value) ?? 0) + Number(count))
        }
      }
      const most = [...counted].toSorted(([, a], [, b]) => b - a).slice(0, VALUES_MAX)
      return answerJson(most.map(([name, count]) => ({ name, count })))
    },
  }),
] as const

/** The members of an element that can be listed, by parameter. */
const VALUES: ReadonlyMap<string, (element: ElementAnswer) => readonly string[]> = new Map([
  ['tag_name', ({ tag_name }) => asTextList(tag_name)],
  ['text', ({ text }) => asTextList(text)],
  ['href', ({ href }) => asTextList(href)],
  ['attr_class', ({ attr_class }) => attr_class ?? []],
  ['attr_id', ({ attr_id }) => asTextList(attr_id)],
])

const asTextList = (text: string | null): readonly string[] =>
  text === null || text === '' ? [] : [text]

/** Reads the events to count. Refuses others. */
function readEvents(request: Request): readonly string[] {
  const requested = new URLSearchParams(queryOf(request.url)).getAll('include')
  const unknown = requested.find((name) => !EVENTS.some((event) => event === name))
  if (unknown !== undefined) {
    const detail = `${JSON.stringify(unknown.slice(0, 100))} is not a valid choice.`
    throw new Refusal('invalid_choice', detail, { attr: 'include' })
  }
  return requested.length === 0 ? EVENTS.slice(0, 2) : requested
}

/** Reads the conditions on events. Refuses malformed dates and filters. */
function readConditions(
  app: AppContext,
  { project, request }: QueryCall,
  events: readonly string[],
): readonly Expr[] {
  const now = app.now()
  const dates = projectDates(project, now)
  const date = (name: string): string | null => {
    const input = queryValue(request, name) || null
    if (input !== null && input !== 'all') readDate(input, dates, name)
    return input
  }
  const dateRange = { date_from: date('date_from'), date_to: date('date_to') }
  const context = {
    now,
    timezone: project.timezone,
    property_types: app.definitions.propertyTypes(project.id),
    path_cleaning_filters: project.path_cleaning_filters,
    prefix: [],
  }
  const is_real = legacyBoolean(queryValues(request), 'filter_test_accounts')
  const filters = [
    filterCondition(readFilterParameters(request), { ...context, attr: 'properties' }),
    is_real
      ? filterCondition(project.test_account_filters, { ...context, attr: 'filter_test_accounts' })
      : null,
  ]
  return [
    compare(field(['event']), 'in', tuple(events.map((name) => constant(name)))),
    // Clicks are counted by days, whatever time the date has.
    withinRange(sinceDayStart(readRange({ dateRange }, dates, { earliest_us: 0n }))),
    ...filters.flatMap((filter) => filter ?? []),
  ]
}
