/** Legacy insights (`filters: {insight: 'FUNNELS', events: […]}`), converted to current queries. */

import type { Series } from '../../contract/insights/parts.ts'
import { Refusal, refuseMember } from '../../errors.ts'
import { isObject } from '../../json.ts'
import {
  commonOf,
  countOf,
  entityOf,
  type LegacyParameters,
  legacyBoolean,
  legacyJson,
  legacyText,
  listOf,
  seriesOf,
} from './legacy-filters.ts'
import { legacyFunnel } from './legacy-queries.ts'

/** The conversion of each legacy insight. */
const INSIGHTS: Readonly<Record<string, (input: LegacyParameters) => object>> = {
  FUNNELS: funnels,
  LIFECYCLE: (input) => ({
    kind: 'LifecycleQuery',
    series: namedSeries(input).slice(0, 1),
    ...seriesMembers(input),
  }),
  PATHS: paths,
  RETENTION: retention,
  STICKINESS: (input) => ({
    kind: 'StickinessQuery',
    series: namedSeries(input),
    ...seriesMembers(input),
    compareFilter: comparison(input),
  }),
  TRENDS: trends,
}

/** Insights by `shown_as`, which some filters have instead of `insight`. */
const SHOWN_AS: ReadonlyMap<string, string> = new Map([
  ['Lifecycle', 'LIFECYCLE'],
  ['Stickiness', 'STICKINESS'],
])

/**
 * Converts legacy filters to a query. Refuses (naming the member) filters without one; the schema
 * is checked by the caller.
 */
export function legacyInsightQuery(filters: LegacyParameters): object {
  const name =
    SHOWN_AS.get(legacyText(filters, 'shown_as') ?? '') ??
    legacyText(filters, 'insight') ??
    'TRENDS'
  const read = Object.hasOwn(INSIGHTS, name) ? INSIGHTS[name] : undefined
  if (read !== undefined) return read(filters)
  const detail = `${JSON.stringify(name.slice(0, 100))} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr: 'insight' })
}

function trends(input: LegacyParameters): object {
  return {
    kind: 'TrendsQuery',
    series: namedSeries(input),
    ...seriesMembers(input),
    trendsFilter: {
      display: legacyText(input, 'display'),
      formula: legacyText(input, 'formula'),
      smoothingIntervals: countOf(input, 'smoothing_intervals'),
    },
    breakdownFilter: breakdown(input),
    compareFilter: comparison(input),
  }
}

function funnels(input: LegacyParameters): object {
  const query = legacyFunnel(input)
  const window = 'funnelsFilter' in query ? query.funnelsFilter : {}
  const bins = input['bin_count']
  return {
    ...query,
    dateRange: dateRange(input),
    interval: legacyText(input, 'interval'),
    breakdownFilter: breakdown(input),
    funnelsFilter: {
      ...Object(window),
      funnelVizType: legacyText(input, 'funnel_viz_type') ?? oldVizType(input),
      funnelFromStep: countOf(input, 'funnel_from_step'),
      funnelToStep: countOf(input, 'funnel_to_step'),
      funnelAggregateByHogQL: legacyText(input, 'funnel_aggregate_by_hogql'),
      binCount: bins === 'auto' ? 'auto' : countOf(input, 'bin_count') || null,
      breakdownAttributionType: legacyText(input, 'breakdown_attribution_type'),
      breakdownAttributionValue: countOf(input, 'breakdown_attribution_value'),
      exclusions: listOf(input, 'exclusions').map(exclusion),
    },
  }
}

/** The view of filters older than `funnel_viz_type`, which had a line graph as their display instead of `trends`. */
function oldVizType(input: LegacyParameters): string | null {
  return legacyText(input, 'display') === 'ActionsLineGraph' ? 'trends' : null
}

function exclusion(entity: unknown): object {
  const members = isObject(entity) ? entity : {}
  return {
    ...entityOf(entity, 'exclusions'),
    funnelFromStep: countOf(members, 'funnel_from_step') ?? 0,
    funnelToStep: countOf(members, 'funnel_to_step') ?? 1,
  }
}

function retention(input: LegacyParameters): object {
  return {
    kind: 'RetentionQuery',
    ...commonOf(input),
    dateRange: dateRange(input),
    breakdownFilter: breakdown(input),
    retentionFilter: {
      period: legacyText(input, 'period'),
      totalIntervals: countOf(input, 'total_intervals') || null,
      retentionType: legacyText(input, 'retention_type'),
      targetEntity: legacyJson(input, 'target_entity'),
      returningEntity: legacyJson(input, 'returning_entity'),
      cumulative: legacyBoolean(input, 'cumulative'),
    },
  }
}

function paths(input: LegacyParameters): object {
  const types = listOf(input, 'include_event_types')
  const only = legacyText(input, 'path_type')
  return {
    kind: 'PathsQuery',
    ...commonOf(input),
    dateRange: dateRange(input),
    pathsFilter: {
      includeEventTypes: types.length === 0 && only !== null ? [only] : types,
      pathsHogQLExpression: legacyText(input, 'paths_hogql_expression'),
      startPoint: legacyText(input, 'start_point'),
      endPoint: legacyText(input, 'end_point'),
      pathGroupings: listOf(input, 'path_groupings'),
      pathReplacements: legacyBoolean(input, 'path_replacements'),
      localPathCleaningFilters: listOf(input, 'local_path_cleaning_filters'),
      excludeEvents: listOf(input, 'exclude_events'),
      stepLimit: countOf(input, 'step_limit'),
      edgeLimit: countOf(input, 'edge_limit'),
      minEdgeWeight: countOf(input, 'min_edge_weight'),
      maxEdgeWeight: countOf(input, 'max_edge_weight'),
    },
    funnelPathsFilter: funnelPaths(input),
  }
}

/** Paths of a funnel's actors; the funnel has its own filters. */
function funnelPaths(input: LegacyParameters): object | null {
  const [type, funnel] = [legacyText(input, 'funnel_paths'), legacyJson(input, 'funnel_filter')]
  if (type === null || !isObject(funnel)) return null
  const step = legacyText(funnel, 'funnel_step') ?? legacyText(input, 'funnel_step')
  return {
    funnelPathType: type,
    funnelSource: funnels(funnel),
    funnelStep: step !== null && Number.isInteger(Number(step)) ? Number(step) : null,
  }
}

/** The series of a query that needs at least one. */
function namedSeries(input: LegacyParameters): readonly Series[] {
  const series = seriesOf(input)
  if (series.length > 0) return series
  throw refuseMember('Name an event or an action.', 'events')
}

const seriesMembers = (input: LegacyParameters) => ({
  ...commonOf(input),
  dateRange: dateRange(input),
  interval: legacyText(input, 'interval'),
})

function dateRange(input: LegacyParameters): object {
  return {
    date_from: legacyText(input, 'date_from'),
    date_to: legacyText(input, 'date_to'),
    explicitDate: legacyBoolean(input, 'explicit_date'),
  }
}

function comparison(input: LegacyParameters): object {
  return { compare: legacyBoolean(input, 'compare'), compare_to: legacyText(input, 'compare_to') }
}

/** Breakdown members, whose names have not changed, and their parsers. */
const BREAKDOWNS: readonly (readonly [
  string,
  (input: LegacyParameters, name: string) => unknown,
])[] = [
  ['breakdown', splitter],
  ['breakdown_group_type_index', countOf],
  ['breakdown_hide_other_aggregation', legacyBoolean],
  ['breakdown_histogram_bin_count', countOf],
  ['breakdown_limit', countOf],
  ['breakdown_normalize_url', legacyBoolean],
  ['breakdown_type', legacyText],
  ['breakdowns', legacyJson],
]

/** The breakdown: a name, a number, or a list of them, which a URL has as JSON. */
function splitter(input: LegacyParameters, name: string): unknown {
  const value = input[name]
  return typeof value === 'string' && value.startsWith('[') ? legacyJson(input, name) : value
}

function breakdown(input: LegacyParameters): object | null {
  const members = BREAKDOWNS.flatMap(([name, read]) => {
    const value = input[name] === undefined || input[name] === null ? null : read(input, name)
    return value === null ? [] : [[name, value] as const]
  })
  const is_split = members.some(([name]) => name === 'breakdown' || name === 'breakdowns')
  return is_split ? Object.fromEntries(members) : null
}
