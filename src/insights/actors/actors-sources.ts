/** The sources of an actor list: a number of an insight (a line per kind in `treeOf`), or a HogQL query. */
import type { ActorsInsight, ActorsSource } from '../../contract/insights/actors.ts'
import { refuseMember } from '../../errors.ts'
import { parseSelect } from '../../hogql/parser/parser.ts'
import type { Expr, JoinExpr, OrderExpr, Select } from '../../hogql/syntax/ast.ts'
import { field, order } from '../../hogql/syntax/nodes.ts'
import { lifecycleActors } from '../activity/lifecycle.ts'
import { countsValues, stickinessActors } from '../activity/stickiness.ts'
import { correlationActors } from '../correlation/correlation.ts'
import { sinceFirstEvent } from '../dates/date-range.ts'
import { funnelActors } from '../funnels/actors.ts'
import type { InsightContext, RunTree } from '../insight.ts'
import { eventsOf } from '../members/conditions.ts'
import { pathActors } from '../paths/paths.ts'
import { retentionActors } from '../retention/actors.ts'
import { trendsActors, trendsEvents } from '../trends/actors.ts'
import { groupTypeOf as groupTypeOfSeries } from '../trends/math.ts'
import { type ActorsPoint, FIRST_POINT } from './point.ts'

/** A query whose rows are actors. */
export type ActorsSourceTree = {
  readonly tree: Select
  /** The column with the person's id or the group's key. */
  readonly id: string
  /** Whether this program built the tree, so that ids have type UUID and not text. */
  readonly is_ours: boolean
  /** The group type; null for persons. */
  readonly group_type_index: number | null
  /** The default order. */
  readonly orders: readonly OrderExpr[]
}

type PointOf = Extract<ActorsSource, { source: ActorsInsight }>

/** Reads a source. Refuses numbers that its insight does not have, and queries without a column of ids. */
export async function sourceOf(
  source: ActorsSource,
  context: InsightContext,
  run: RunTree,
): Promise<ActorsSourceTree> {
  switch (source.kind) {
    case 'HogQLQuery':
      return sourceOfText(source.query)
    case 'FunnelCorrelationActorsQuery': {
      const people = source.source.source
      const funnel = await sinceFirstEvent(people.source, context, run)
      const correlation = { ...source.source, source: { ...people, source: funnel } }
      return {
        ...OURS,
        tree: correlationActors({ ...source, source: correlation }, context),
        group_type_index: funnel.aggregation_group_type_index ?? null,
      }
    }
    case 'FunnelsActorsQuery': {
      const funnel = await sinceFirstEvent(source.source, context, run)
      return {
        ...OURS,
        tree: await funnelActors({ ...source, source: funnel }, context, run),
        // With an actor expression ids have any type.
        is_ours: !funnel.funnelsFilter?.funnelAggregateByHogQL,
        group_type_index: funnel.aggregation_group_type_index ?? null,
      }
    }
    case 'InsightActorsQuery':
    case 'StickinessActorsQuery': {
      const point = pointOf(source)
      const insight = await sinceFirstEvent(source.source, context, run)
      return {
        ...OURS,
        tree: await treeOf(insight, point, context, run),
        is_ours: !isOfValues(insight, point),
        group_type_index: groupTypeOf(insight, point),
      }
    }
  }
}

const OURS = {
  id: 'actor_id',
  is_ours: true,
  orders: [order(field(['event_count']), 'DESC')],
} as const

/** The events that a number counts. Null where only its actors are known: of insights that follow them from event to event. */
export async function countedEvents(
  source: ActorsSource,
  context: InsightContext,
  run: RunTree,
): Promise<{ readonly events: JoinExpr; readonly condition: Expr } | null> {
  if (source.kind !== 'InsightActorsQuery' || source.source.kind !== 'TrendsQuery') return null
  const insight = await sinceFirstEvent(source.source, context, run)
  const condition = await trendsEvents(insight, pointOf(source), context, run)
  return { events: eventsOf(insight), condition }
}

/** The actors behind a number; a line per kind of insight. */
async function treeOf(
  insight: ActorsInsight,
  point: ActorsPoint,
  context: InsightContext,
  run: RunTree,
): Promise<Select> {
  switch (insight.kind) {
    case 'LifecycleQuery':
      return lifecycleActors(insight, point, context)
    case 'PathsQuery':
      return pathActors(insight, context)
    case 'RetentionQuery':
      return await retentionActors(insight, point, context, run)
    case 'StickinessQuery':
      return stickinessActors(insight, point, context)
    case 'TrendsQuery':
      return await trendsActors(insight, point, context, run)
  }
}

function pointOf(source: PointOf): ActorsPoint {
  const { day = null, interval = null, series, breakdown = null, compare, status = null } = source
  const is_stickiness = source.source.kind === 'StickinessQuery'
  return {
    ...FIRST_POINT,
    day: day === null || is_stickiness ? null : String(day),
    series: series ?? 0,
    breakdown,
    compare: compare ?? 'current',
    status,
    steps: is_stickiness && day !== null ? stepsOf(day) : interval,
    operator: source.operator ?? null,
  }
}

/** Whether the actors are values of an expression, which are texts. */
function isOfValues(insight: ActorsInsight, { series }: ActorsPoint): boolean {
  if (insight.kind !== 'StickinessQuery') return false
  const counted = insight.series[series]
  return counted !== undefined && countsValues(counted)
}

/** A number of steps; clients send it as text too. */
function stepsOf(day: number | string): number {
  const steps = Number(day)
  if (Number.isSafeInteger(steps) && steps >= 0) return steps
  const detail = `Not a number of intervals: ${JSON.stringify(String(day).slice(0, 100))}`
  throw refuseMember(detail, 'query__source__day')
}

/** A series may count groups of its own type; otherwise the insight's type applies. */
function groupTypeOf(insight: ActorsInsight, { series: index }: ActorsPoint): number | null {
  const series = 'series' in insight ? insight.series[index] : undefined
  if (series?.math === 'unique_group') return series.math_group_type_index ?? 0
  if (insight.kind === 'TrendsQuery' && series !== undefined) {
    return groupTypeOfSeries({ series, index })
  }
  return insight.aggregation_group_type_index ?? null
}

/** Columns of actor ids, by priority. */
const ID_COLUMNS = ['actor_id', 'person_id', 'group_key'] as const

function sourceOfText(text: string): ActorsSourceTree {
  const tree = parseSelect(text)
  const first = tree.kind === 'SelectSetQuery' ? tree.initial_select_query : tree
  const names = first.kind === 'SelectQuery' ? first.select.map(nameOf) : []
  const id = ID_COLUMNS.find((name) => names.includes(name))
  if (id === undefined) {
    const detail = `The source needs a column ${ID_COLUMNS.join(' or ')}.`
    throw refuseMember(detail, 'query__source__query')
  }
  return {
    tree,
    id,
    is_ours: false,
    group_type_index: id === 'group_key' ? 0 : null,
    orders: [],
  }
}

function nameOf(column: Expr): string | null {
  if (column.kind === 'Alias') return column.alias
  return column.kind === 'Field' ? (column.chain.at(-1) ?? null) : null
}
