/** BREAKDOWN_TYPES: breakdowns as expressions over events, and the names of their values. */
import type { BreakdownFilter } from '../../contract/insights/breakdown.ts'
import { type Refusal, refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { call, compare, constant, field } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import { readExpression } from './expression.ts'

/** The value of events without one. */
export const NO_VALUE = '$$_posthog_breakdown_null_$$'
/** All values beyond the limit. */
export const OTHER_VALUES = '$$_posthog_breakdown_other_$$'

/** Display names of both. */
const DISPLAY_NAMES: ReadonlyMap<string, string> = new Map([
  [NO_VALUE, 'None (i.e. no value)'],
  [OTHER_VALUES, 'Other (i.e. all remaining values)'],
])

/** A name is printed for each series or step, dozens of times: 256 KiB of it took 215 ms of the main thread in a funnel. */
const NAME_LENGTH_MAX = 400
/** Each is a query of its own in a funnel, and is looked for among the project's cohorts. */
const COHORTS_MAX = 100
/** Default limit of values. */
const VALUES_DEFAULT = 25
/** Limit for countries on a map. */
export const COUNTRIES_MAX = 300

/** One breakdown. */
export type BreakdownItem = {
  readonly property: string
  readonly type: string
  readonly group_type_index: number
  /** Number of equal bins; null to use each value. */
  readonly bin_count: number | null
  readonly normalize_url: boolean
}

/** The breakdowns of a query: up to three values, or cohorts (`'all'`: everyone). */
export type Breakdowns =
  | {
      readonly kind: 'values'
      readonly items: readonly BreakdownItem[]
      /** Whether answers show values as lists, as the request had a list. */
      readonly is_multiple: boolean
      readonly limit: number
      readonly hides_other: boolean
    }
  | { readonly kind: 'cohorts'; readonly cohorts: readonly (number | 'all')[] }

const ATTR = 'query__breakdownFilter'

/** Parses the breakdowns of a query; null for none. Refuses unknown types, and cohorts that are not ids. */
export function readBreakdowns(filter: BreakdownFilter | null | undefined): Breakdowns | null {
  if (filter === null || filter === undefined) return null
  const breakdown = filter.breakdown ?? null
  const listed = Array.isArray(breakdown) ? breakdown : breakdown === null ? [] : [breakdown]
  const several = filter.breakdowns ?? []
  const cohorts = several.length === 0 ? listed : several.map(({ property }) => property)
  const is_of_cohorts =
    several.length === 0
      ? filter.breakdown_type === 'cohort'
      : several.every(({ type }) => type === 'cohort')
  if (is_of_cohorts) {
    if (cohorts.length > COHORTS_MAX) {
      throw refuse(`A breakdown has at most ${COHORTS_MAX} cohorts.`, 'breakdown')
    }
    return cohorts.length === 0 ? null : { kind: 'cohorts', cohorts: cohorts.map(cohortId) }
  }
  const items = several.length > 0 ? several.map(severalItem) : oneItem(filter, listed)
  if (items.length === 0) return null
  for (const item of items) requireItem(item)
  return {
    kind: 'values',
    items,
    is_multiple: several.length > 0 || items.length > 1,
    limit: filter.breakdown_limit ?? VALUES_DEFAULT,
    hides_other: filter.breakdown_hide_other_aggregation === true,
  }
}

/** Parses a cohort of a breakdown: its id, or `'all'` for everyone, also called 0. Refuses other texts. */
export function cohortId(value: number | string): number | 'all' {
  if (value === 'all' || Number(value) === 0) return 'all'
  const id = Number(value)
  if (Number.isSafeInteger(id) && id > 0) return id
  throw refuse(`Not the ID of a cohort: ${JSON.stringify(value)}`, 'breakdown')
}

function severalItem(input: NonNullable<BreakdownFilter['breakdowns']>[number]): BreakdownItem {
  return {
    property: String(input.property),
    type: input.type ?? 'event',
    group_type_index: input.group_type_index ?? 0,
    bin_count: input.histogram_bin_count ?? null,
    normalize_url: input.normalize_url === true,
  }
}

function oneItem(
  filter: BreakdownFilter,
  properties: readonly (number | string)[],
): readonly BreakdownItem[] {
  return properties.slice(0, 3).map((property) => ({
    property: String(property),
    type: filter.breakdown_type ?? 'event',
    group_type_index: filter.breakdown_group_type_index ?? 0,
    bin_count: filter.breakdown_histogram_bin_count ?? null,
    normalize_url: filter.breakdown_normalize_url === true,
  }))
}

type BreakdownReader = (item: BreakdownItem) => Expr

/** A line per type. Adding a type means adding a line. */
const BREAKDOWN_TYPES: Readonly<Record<string, BreakdownReader>> = {
  event: ({ property }) => field(['properties', property]),
  person: ({ property }) => field(['person', 'properties', property]),
  group: ({ property, group_type_index }) =>
    field([`group_${group_type_index}`, 'properties', property]),
  session: ({ property }) => field(['session', property]),
  event_metadata: ({ property }) => field([property.replace(/^group_/, '$group_')]),
  hogql: ({ property }) => readExpression(property, `${ATTR}__breakdown`),
}

/** Refuses unknown types and long names. Expressions have a limit of their own. */
function requireItem({ type, property }: BreakdownItem): void {
  if (!Object.hasOwn(BREAKDOWN_TYPES, type)) {
    throw refuse(`Breakdowns of type ${JSON.stringify(type)} are not supported.`, 'breakdown_type')
  }
  if (type !== 'hogql' && property.length > NAME_LENGTH_MAX) {
    throw refuse(`A property's name has at most ${NAME_LENGTH_MAX} characters.`, 'breakdown')
  }
}

/** The breakdown value of an event. */
export function breakdownValue(item: BreakdownItem): Expr {
  const reading = BREAKDOWN_TYPES[item.type]
  if (reading === undefined) throw new Error(`breakdown of type ${item.type} was not refused`)
  return reading(item)
}

/** The breakdown value as text, as in answers: never null; with bin edges the bin, `[a,b]`. */
export function breakdownText(item: BreakdownItem, edges: readonly number[] | null): Expr {
  const value = breakdownValue(item)
  const none = constant(NO_VALUE)
  if (edges !== null) return expr`ifNull(${binOf(value, edges)}, ${none})`
  // A property is read as cheaply twice. The engine takes 17 ns a row for `ifNull` over `nullIf`, for this 1.
  if (item.type !== 'hogql' && !item.normalize_url)
    return expr`if(notEmpty(toString(${value})), assumeNotNull(toString(${value})), ${none})`
  const text = expr`toString(${value})`
  const known = item.normalize_url ? withoutTrailingSlash(text) : expr`nullIf(${text}, '')`
  return expr`ifNull(${known}, ${none})`
}

/** Removes trailing `/`, `?` and `#`: `/a/` and `/a?` become `/a`; an empty text and one of nothing else become `/`. */
function withoutTrailingSlash(text: Expr): Expr {
  const trimmed = expr`replaceRegexpOne(${text}, '[/?#]+$', '')`
  return expr`if(${trimmed} = '', '/', ${trimmed})`
}

/** The bin of a number, `[a,b]`, as text; null for other values and outside the edges. */
function binOf(value: Expr, edges: readonly number[]): Expr {
  const number = expr`toFloat(${value})`
  const [first, ...uppers] = edges
  if (first === undefined || uppers.length === 0) return constant(null)
  const cases = uppers.flatMap((upper, index) => [
    compare(number, '<', constant(upper)),
    constant(binLabel(edges[index] ?? first, upper)),
  ])
  const below = compare(number, '<', constant(first))
  return call('multiIf', [below, constant(null), ...cases, constant(null)])
}

const binLabel = (lower: number, upper: number): string => `[${lower},${upper}]`

/** The condition that an event's value is a number of a histogram. */
export function isInAnyBin(item: BreakdownItem): Expr {
  return expr`ifNull(isFinite(toFloat(${breakdownValue(item)})), false)`
}

/** Edges of equal bins over a range, to two decimals; each bin excludes its upper edge. */
export function binEdges(least: number, most: number, bin_count: number): readonly number[] {
  const first = hundredthBelow(least)
  const last = hundredthAbove(most)
  const width = (most - first) / bin_count
  const inner = Array.from({ length: bin_count - 1 }, (_, index) =>
    cents(first + width * (index + 1)),
  ).filter((edge) => first < edge && edge < last)
  return [...new Set([first, ...inner, last])].toSorted((a, b) => a - b)
}

/** The nearest hundredth at or below a number; 19.99 is its own, though 19.99 × 100 is less than 1999. */
function hundredthBelow(value: number): number {
  const near = cents(value)
  return near <= value ? near : cents(near - 0.01)
}

/** The next hundredth above a number, or the next double where those are further apart. */
function hundredthAbove(value: number): number {
  const next = cents(hundredthBelow(value) + 0.01)
  if (next > value) return next
  return Math.min(value + Math.abs(value) * Number.EPSILON, Number.MAX_VALUE)
}

/** Larger numbers have too few binary digits for hundredths. */
const HUNDREDTHS_END = 1e13

const cents = (value: number): number =>
  Math.abs(value) < HUNDREDTHS_END ? Math.round(value * 100) / 100 : value

/** Parses a bin of an answer, `[a,b]`. Refuses other texts. */
export function edgesOfBin(value: string): readonly number[] {
  const [, lower, upper] = /^\[(-?[\d.e+]+),\s*(-?[\d.e+]+)\]$/.exec(value) ?? []
  if (lower !== undefined && upper !== undefined) return [Number(lower), Number(upper)]
  throw refuse(`Not a bin of a histogram: ${JSON.stringify(value.slice(0, 100))}`, 'breakdown')
}

/**
 * The condition that an event has a breakdown value of an answer. Refuses texts that are not bins
 * where bins are used.
 */
export function hasBreakdown(item: BreakdownItem, value: string): Expr {
  if (item.bin_count === null) return compare(breakdownText(item, null), '==', constant(value))
  // Texts and infinite numbers are in no bin.
  if (value === NO_VALUE) return expr`not ${isInAnyBin(item)}`
  const edges = edgesOfBin(value)
  const label = binLabel(edges[0] ?? 0, edges[1] ?? 0)
  return compare(breakdownText(item, edges), '==', constant(label))
}

/** The display name of a value, or of several breakdowns' values together. */
export function breakdownLabel(values: readonly string[]): string {
  return values.map((value) => DISPLAY_NAMES.get(value) ?? value).join('::')
}

function refuse(detail: string, member: string): Refusal {
  return refuseMember(detail, `${ATTR}__${member}`)
}
