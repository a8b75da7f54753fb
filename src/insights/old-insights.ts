/** Insights that were saved before there were kinds (`filters: {insight: 'FUNNELS', events: […]}`), as questions of today. */
import type { Series } from '../contract/insights/parts.ts'
import { Refusal } from '../errors.ts'
import {
  commonOf,
  countOf,
  entityOf,
  isMembers,
  jsonOf,
  listOf,
  type Parameters,
  seriesOf,
  textOf,
  truthOf,
} from './old-filters.ts'
import { oldFunnel } from './old-questions.ts'

/** How the filters of each insight are asked today. */
const INSIGHTS: Readonly<Record<string, (sent: Parameters) => object>> = {
  FUNNELS: funnels,
  LIFECYCLE: (sent) => ({
    kind: 'LifecycleQuery',
    series: namedSeries(sent).slice(0, 1),
    ...timed(sent),
  }),
  PATHS: paths,
  RETENTION: retention,
  STICKINESS: (sent) => ({
    kind: 'StickinessQuery',
    series: namedSeries(sent),
    ...timed(sent),
    compareFilter: comparison(sent),
  }),
  TRENDS: trends,
}

/** Insights by what some filters say instead of `insight`. */
const SHOWN_AS: ReadonlyMap<string, string> = new Map([
  ['Lifecycle', 'LIFECYCLE'],
  ['Stickiness', 'STICKINESS'],
])

/** The question that old filters ask. Refuses (naming the member) those that ask none; its shape is checked elsewhere. */
export function questionOfFilters(filters: Parameters): object {
  const name =
    SHOWN_AS.get(textOf(filters, 'shown_as') ?? '') ?? textOf(filters, 'insight') ?? 'TRENDS'
  const read = Object.hasOwn(INSIGHTS, name) ? INSIGHTS[name] : undefined
  if (read !== undefined) return read(filters)
  const detail = `${JSON.stringify(name.slice(0, 100))} is not a valid choice.`
  throw new Refusal('invalid_choice', detail, { attr: 'insight' })
}

function trends(sent: Parameters): object {
  return {
    kind: 'TrendsQuery',
    series: namedSeries(sent),
    ...timed(sent),
    trendsFilter: {
      display: textOf(sent, 'display'),
      formula: textOf(sent, 'formula'),
      smoothingIntervals: countOf(sent, 'smoothing_intervals'),
    },
    breakdownFilter: breakdown(sent),
    compareFilter: comparison(sent),
  }
}

function funnels(sent: Parameters): object {
  const question = oldFunnel(sent)
  const window = 'funnelsFilter' in question ? question.funnelsFilter : {}
  const bins = sent['bin_count']
  return {
    ...question,
    dateRange: dateRange(sent),
    interval: textOf(sent, 'interval'),
    breakdownFilter: breakdown(sent),
    funnelsFilter: {
      ...Object(window),
      funnelVizType: textOf(sent, 'funnel_viz_type'),
      funnelFromStep: countOf(sent, 'funnel_from_step'),
      funnelToStep: countOf(sent, 'funnel_to_step'),
      funnelAggregateByHogQL: textOf(sent, 'funnel_aggregate_by_hogql'),
      binCount: bins === 'auto' ? 'auto' : countOf(sent, 'bin_count') || null,
      breakdownAttributionType: textOf(sent, 'breakdown_attribution_type'),
      breakdownAttributionValue: countOf(sent, 'breakdown_attribution_value'),
      exclusions: listOf(sent, 'exclusions').map(exclusion),
    },
  }
}

function exclusion(entity: unknown): object {
  const members = isMembers(entity) ? entity : {}
  return {
    ...entityOf(entity, 'exclusions'),
    funnelFromStep: countOf(members, 'funnel_from_step') ?? 0,
    funnelToStep: countOf(members, 'funnel_to_step') ?? 1,
  }
}

function retention(sent: Parameters): object {
  return {
    kind: 'RetentionQuery',
    ...commonOf(sent),
    dateRange: dateRange(sent),
    breakdownFilter: breakdown(sent),
    retentionFilter: {
      period: textOf(sent, 'period'),
      totalIntervals: countOf(sent, 'total_intervals') || null,
      retentionType: textOf(sent, 'retention_type'),
      targetEntity: jsonOf(sent, 'target_entity'),
      returningEntity: jsonOf(sent, 'returning_entity'),
      cumulative: truthOf(sent, 'cumulative'),
    },
  }
}

function paths(sent: Parameters): object {
  const types = listOf(sent, 'include_event_types')
  const only = textOf(sent, 'path_type')
  return {
    kind: 'PathsQuery',
    ...commonOf(sent),
    dateRange: dateRange(sent),
    pathsFilter: {
      includeEventTypes: types.length === 0 && only !== null ? [only] : types,
      pathsHogQLExpression: textOf(sent, 'paths_hogql_expression'),
      startPoint: textOf(sent, 'start_point'),
      endPoint: textOf(sent, 'end_point'),
      pathGroupings: listOf(sent, 'path_groupings'),
      pathReplacements: truthOf(sent, 'path_replacements'),
      localPathCleaningFilters: listOf(sent, 'local_path_cleaning_filters'),
      excludeEvents: listOf(sent, 'exclude_events'),
      stepLimit: countOf(sent, 'step_limit'),
      edgeLimit: countOf(sent, 'edge_limit'),
      minEdgeWeight: countOf(sent, 'min_edge_weight'),
      maxEdgeWeight: countOf(sent, 'max_edge_weight'),
    },
    funnelPathsFilter: funnelPaths(sent),
  }
}

/** Paths of the people of a funnel, which has filters of its own. */
function funnelPaths(sent: Parameters): object | null {
  const [type, funnel] = [textOf(sent, 'funnel_paths'), jsonOf(sent, 'funnel_filter')]
  if (type === null || !isMembers(funnel)) return null
  const step = Number(funnel['funnel_step'] ?? sent['funnel_step'])
  return {
    funnelPathType: type,
    funnelSource: funnels(funnel),
    funnelStep: Number.isInteger(step) ? step : null,
  }
}

/** Series of a question that needs some. */
function namedSeries(sent: Parameters): readonly Series[] {
  const series = seriesOf(sent)
  if (series.length > 0) return series
  throw new Refusal('invalid_input', 'Name an event or an action.', { attr: 'events' })
}

const timed = (sent: Parameters) => ({
  ...commonOf(sent),
  dateRange: dateRange(sent),
  interval: textOf(sent, 'interval'),
})

function dateRange(sent: Parameters): object {
  return {
    date_from: textOf(sent, 'date_from'),
    date_to: textOf(sent, 'date_to'),
    explicitDate: truthOf(sent, 'explicit_date'),
  }
}

function comparison(sent: Parameters): object {
  return { compare: truthOf(sent, 'compare'), compare_to: textOf(sent, 'compare_to') }
}

/** Members of a breakdown, which have kept their names, and how each is read. */
const BREAKDOWNS: readonly (readonly [string, (sent: Parameters, name: string) => unknown])[] = [
  ['breakdown', splitter],
  ['breakdown_group_type_index', countOf],
  ['breakdown_hide_other_aggregation', truthOf],
  ['breakdown_histogram_bin_count', countOf],
  ['breakdown_limit', countOf],
  ['breakdown_normalize_url', truthOf],
  ['breakdown_type', textOf],
  ['breakdowns', jsonOf],
]

/** What is split by: a name, a number, or a list of them, which an address carries as JSON. */
function splitter(sent: Parameters, name: string): unknown {
  const value = sent[name]
  return typeof value === 'string' && value.startsWith('[') ? jsonOf(sent, name) : value
}

function breakdown(sent: Parameters): object | null {
  const named = BREAKDOWNS.flatMap(([name, read]) => {
    const value = sent[name] === undefined || sent[name] === null ? null : read(sent, name)
    return value === null ? [] : [[name, value] as const]
  })
  const is_split = named.some(([name]) => name === 'breakdown' || name === 'breakdowns')
  return is_split ? Object.fromEntries(named) : null
}
