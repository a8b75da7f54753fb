/** ExploreQuery: the query that the editor edits, the address contains and the server answers. */
import type { AnyQuery } from '../../api/calls/ask.ts'
import type { DateRangeValue } from '../../parts/fields/date-range.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import type { TimeInterval } from '../../parts/format.ts'

/** EXPLORE_KINDS: the kinds of queries, in the order of the tabs. */
export const EXPLORE_KINDS = [
  { kind: 'TrendsQuery', text: 'Trends' },
  { kind: 'FunnelsQuery', text: 'Funnel' },
  { kind: 'RetentionQuery', text: 'Retention' },
  { kind: 'PathsQuery', text: 'Paths' },
  { kind: 'LifecycleQuery', text: 'Lifecycle' },
  { kind: 'StickinessQuery', text: 'Stickiness' },
] as const

export type ExploreKind = (typeof EXPLORE_KINDS)[number]['kind']

/** One series: events of a name (null for any), or a saved action. */
export type SeriesNode = {
  readonly kind: 'EventsNode' | 'ActionsNode'
  readonly event?: string | null
  readonly id?: number
  readonly name?: string
  readonly custom_name?: string
  readonly math?: string
  readonly math_property?: string
  readonly math_hogql?: string
  readonly math_property_type?: string
  readonly math_group_type_index?: number
  readonly properties?: readonly PropertyCondition[]
}

export type BreakdownNode = {
  readonly property: string | number
  readonly type: string
  readonly group_type_index?: number | null
  readonly histogram_bin_count?: number | null
  readonly normalize_url?: boolean | null
}

type Settings = Readonly<Record<string, unknown>>

export type ExploreQuery = AnyQuery & {
  readonly kind: ExploreKind
  readonly series?: readonly SeriesNode[]
  readonly dateRange?: { readonly date_from?: string | null; readonly date_to?: string | null }
  readonly interval?: TimeInterval
  readonly properties?: readonly PropertyCondition[]
  readonly filterTestAccounts?: boolean
  readonly breakdownFilter?: Settings & { readonly breakdowns?: readonly BreakdownNode[] | null }
  readonly compareFilter?: { readonly compare?: boolean }
  readonly trendsFilter?: Settings & { readonly display?: string; readonly formula?: string }
  readonly funnelsFilter?: Settings
  readonly retentionFilter?: Settings
  readonly pathsFilter?: Settings
  readonly lifecycleFilter?: Settings
  readonly stickinessFilter?: Settings
}

const FALLBACK_RANGE: DateRangeValue = { date_from: '-30d', date_to: null }

/** The range of a query. */
export function rangeOf({ dateRange }: ExploreQuery): DateRangeValue {
  const { date_from, date_to } = dateRange ?? {}
  return { date_from: date_from ?? FALLBACK_RANGE.date_from, date_to: date_to ?? null }
}

const PAGEVIEW: SeriesNode = { kind: 'EventsNode', event: '$pageview' }

/** The first query of a kind, with the series and filters of the one before it. */
export function queryOf(kind: ExploreKind, before: ExploreQuery | null): ExploreQuery {
  const series = before?.series ?? [PAGEVIEW]
  const shared = {
    kind,
    dateRange: before?.dateRange ?? FALLBACK_RANGE,
    ...(before?.properties && { properties: before.properties }),
    ...(before?.filterTestAccounts && { filterTestAccounts: true }),
  }
  switch (kind) {
    case 'TrendsQuery':
      return { ...shared, series, interval: before?.interval ?? 'day' }
    case 'FunnelsQuery':
      return { ...shared, series: twoSteps(series.map(withoutMath)), funnelsFilter: {} }
    case 'RetentionQuery':
      return {
        ...shared,
        retentionFilter: {
          period: 'Week',
          totalIntervals: 8,
          retentionType: 'retention_first_time',
          targetEntity: entityOf(series[0] ?? PAGEVIEW),
          returningEntity: entityOf(series[0] ?? PAGEVIEW),
        },
      }
    case 'PathsQuery':
      return { ...shared, pathsFilter: { includeEventTypes: ['$pageview'], edgeLimit: 40 } }
    case 'LifecycleQuery':
      return {
        ...shared,
        series: series.slice(0, 1).map(withoutMath),
        interval: intervalOfDays(before),
      }
    case 'StickinessQuery':
      return { ...shared, series: series.map(withoutMath), interval: intervalOfDays(before) }
  }
}

/** A funnel needs two steps. */
function twoSteps(series: readonly SeriesNode[]): readonly SeriesNode[] {
  const [first = PAGEVIEW] = series
  return series.length < 2 ? [first, first] : series
}

/** The interval of the query before; a day in place of hours and minutes. */
function intervalOfDays(before: ExploreQuery | null): TimeInterval {
  const interval = before?.interval ?? 'day'
  return interval === 'hour' || interval === 'minute' ? 'day' : interval
}

function withoutMath({ kind, event, id, name, custom_name, properties }: SeriesNode): SeriesNode {
  return {
    kind,
    ...(event !== undefined && { event }),
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    ...(custom_name !== undefined && { custom_name }),
    ...(properties && { properties }),
  }
}

/** A series in the form that retention takes. */
export function entityOf(node: SeriesNode): Settings {
  const filters = node.properties ? { properties: node.properties } : {}
  return node.kind === 'ActionsNode'
    ? { id: node.id, name: node.name, type: 'actions', ...filters }
    : { id: node.event ?? null, name: node.event ?? 'All events', type: 'events', ...filters }
}

/** The series of a retention's event. */
export function nodeOf(entity: unknown): SeriesNode {
  // The server's default.
  if (!isObject(entity)) return PAGEVIEW
  const { id, name, type, properties } = entity
  const filters = Array.isArray(properties) ? { properties: properties as PropertyCondition[] } : {}
  if (type === 'actions')
    return { kind: 'ActionsNode', id: Number(id), name: String(name ?? id), ...filters }
  return { kind: 'EventsNode', event: typeof id === 'string' ? id : null, ...filters }
}

/** The name of a series as people see it. */
export function seriesName({ kind, event, id, name, custom_name }: SeriesNode): string {
  if (custom_name !== undefined && custom_name !== '') return custom_name
  if (kind === 'ActionsNode') return name ?? `Action ${id}`
  return event ?? 'All events'
}

/**
 * Reads a query from an address or a saved insight, with or without its wrapper `InsightVizNode`; null for a query that
 * Explore cannot edit.
 */
export function readQuery(value: unknown): ExploreQuery | null {
  if (!isObject(value)) return null
  const inner =
    isObject(value['source']) && typeof value['kind'] === 'string' ? value['source'] : value
  const { kind, series, properties, ...rest } = inner
  const known = EXPLORE_KINDS.find((one) => one.kind === kind)
  if (known === undefined) return null
  if (series !== undefined && !(Array.isArray(series) && series.every(isSeries))) return null
  const filters = properties === undefined || properties === null ? [] : flatFilters(properties)
  if (filters === null) return null
  const breakdownFilter = isObject(rest['breakdownFilter'])
    ? oneBreakdownForm(rest['breakdownFilter'])
    : undefined
  return {
    ...rest,
    kind: known.kind,
    ...(series !== undefined && { series: series as SeriesNode[] }),
    ...(filters.length > 0 && { properties: filters }),
    ...(breakdownFilter && { breakdownFilter }),
  }
}

function isSeries(value: unknown): boolean {
  if (!isObject(value)) return false
  const { kind, properties, event } = value
  if (kind !== 'EventsNode' && kind !== 'ActionsNode') return false
  if (event !== undefined && event !== null && typeof event !== 'string') return false
  return properties === undefined || properties === null || isFilterList(properties)
}

const isFilterList = (value: unknown): value is PropertyCondition[] =>
  Array.isArray(value) && value.every((one) => isObject(one) && typeof one['type'] === 'string')

/** A list of filters, also when it is wrapped into groups of which all must hold; null for other groups. */
function flatFilters(value: unknown): readonly PropertyCondition[] | null {
  if (isFilterList(value)) return value
  if (!isObject(value) || value['type'] !== 'AND' || !Array.isArray(value['values'])) return null
  const parts = value['values'].map((one: unknown) =>
    isObject(one) && Array.isArray(one['values'])
      ? flatFilters(one)
      : isFilterList([one])
        ? [one as PropertyCondition]
        : null,
  )
  return parts.includes(null) ? null : parts.flatMap((part) => part ?? [])
}

/** `{breakdown, breakdown_type}` of older queries becomes the list of breakdowns. */
function oneBreakdownForm(filter: Settings): Settings {
  const { breakdown, breakdown_type, breakdown_group_type_index, ...rest } = filter
  if (breakdown === undefined || breakdown === null) return rest
  if (Array.isArray(breakdown)) return filter
  return {
    ...rest,
    breakdowns: [
      {
        property: breakdown,
        type: breakdown_type ?? 'event',
        ...(typeof breakdown_group_type_index === 'number' && {
          group_type_index: breakdown_group_type_index,
        }),
      },
    ],
  }
}

/**
 * The query as it is saved and linked: in the wrapper that other editors expect. The wrapper of a stored query keeps
 * their settings, as the look of a pie.
 */
export function wrapQuery(
  query: ExploreQuery,
  stored?: unknown,
): { readonly kind: string; readonly source: ExploreQuery } {
  const settings = isObject(stored) && isObject(stored['source']) ? stored : {}
  return { kind: 'InsightVizNode', ...settings, source: query }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
