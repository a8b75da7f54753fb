/** Paths as trees: items as hashes, one sorted list per actor, folded to steps, aggregated to edges. */
import type { PathsQuery } from '../../contract/insights/paths.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, call, constant, field, integer, NOWHERE } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { type InsightDateRange, withinRange } from '../dates/date-range.ts'
import { PATH_STEP_BITS } from '../folds/path-scalars.ts'
import type { PathFold } from '../folds/paths.ts'
import type { InsightContext } from '../insight.ts'
import { actorOf, hasActor } from '../members/actor.ts'
import { allOf, eventsOf, queryCondition } from '../members/conditions.ts'
import { funnelPaths, pathGap } from './funnel-paths.ts'
import { isPathEvent, pathItem, pathPoint } from './items.ts'

/** A paths query with its context. */
type PathsRequest = {
  readonly query: PathsQuery
  readonly context: InsightContext
  readonly range: InsightDateRange
}

const STEPS_DEFAULT = 5
/** Beyond this many edges of equal weight, ties are not broken by name. */
const CANDIDATES_MIN = 10_000
const LEFT_OUT_NAME = '...'
const STEP_SIZE = constant(2n ** BigInt(PATH_STEP_BITS))

/**
 * Rows of `actor_id`, `step` (from 1), `item`, `before` (the previous item, null at the first
 * step), `took_us` (since then) and `is_last`: every step of every visit.
 */
export function pathSteps(request: PathsRequest): SelectQuery {
  const numbered = numberedSteps(request)
  const tree = select`select steps.actor_id as actor_id, steps.step as step,
      ifNull(items.item, ${constant(LEFT_OUT_NAME)}) as item,
      if(steps.before < 0, null, ifNull(earlier.item, ${constant(LEFT_OUT_NAME)})) as before,
      steps.took_us as took_us, steps.is_last as is_last
    from ${numbered} as steps
    left join items on items.number = steps.item
    left join items as earlier on earlier.number = steps.before`
  return withItems(tree, request)
}

/**
 * Rows of `source`, `target`, `value` and `average_conversion_time` (milliseconds): the heaviest
 * edges, ties by name. Names are looked up only for edges that may be among them, because there may
 * be millions of names.
 */
export function pathEdges(request: PathsRequest, limit: number): SelectQuery {
  const tree = select`select
      concat(toString(edges.step - 1), '_', ifNull(named.item, ${constant(LEFT_OUT_NAME)})) as source,
      concat(toString(edges.step), '_', ifNull(reached.item, ${constant(LEFT_OUT_NAME)})) as target,
      edges.value as value, edges.took_ms as average_conversion_time
    from edges
    left join named on named.number = edges.before
    left join named as reached on reached.number = edges.item
    order by value desc, source asc, target asc`
  const candidates = Math.max(CANDIDATES_MIN, 2 * limit)
  const edges = { ...heaviestEdges(request), limit: integer(candidates) }
  const item_names = select`select number, any(item) as item from ${numberedItems(request)}
    where number in (select item from edges union all select before from edges) group by number`
  return {
    ...tree,
    limit: integer(limit),
    ctes: [cteOf('edges', edges), cteOf('named', item_names)],
  }
}

/** Rows of `step`, `before` and `item` (numbers), `value` and `took_ms`, the heaviest first. */
function heaviestEdges(request: PathsRequest): SelectQuery {
  const { minEdgeWeight, maxEdgeWeight } = request.query.pathsFilter
  const weights = allOf(
    minEdgeWeight ? expr`value >= ${integer(minEdgeWeight)}` : null,
    maxEdgeWeight ? expr`value <= ${integer(maxEdgeWeight)}` : null,
  )
  return select`select step, before, item, count() as value, avg(took_us) / 1000 as took_ms
    from ${numberedSteps(request)} where before >= 0 group by step, before, item having ${weights}
    order by value desc, step asc, before asc, item asc`
}

const withItems = (tree: SelectQuery, request: PathsRequest): SelectQuery => ({
  ...tree,
  ctes: [cteOf('items', itemsTree(request))],
})

/** Every item and its number, above 0. */
const itemsTree = (request: PathsRequest): SelectQuery =>
  select`select number, any(item) as item from ${numberedItems(request)} group by number`

/** The same per event. */
const numberedItems = (request: PathsRequest): SelectQuery =>
  select`select item, ${NUMBER} as number from ${itemEvents(request)}`

/** A number is a hash of the item, so that none has to be looked up: there may be millions of items. */
const NUMBER = call('path_item', [field(['item'])])

const cteOf = (name: string, tree: SelectQuery) => ({
  kind: 'CTE' as const,
  ...NOWHERE,
  name,
  expr: tree,
  cte_type: 'subquery' as const,
  recursive: false,
  materialized: null,
  columns: null,
  using_key: null,
})

/** The same steps with items' numbers; `before` is -1 at the first step. */
function numberedSteps(request: PathsRequest): SelectQuery {
  const triples = call('arrayJoin', [call('triples_of', [field(['steps'])])])
  return select`select actor_id, intDiv(toInt(numbers.1) % ${STEP_SIZE}, 2) as step,
      toInt(numbers.1) % 2 = 1 as is_last, intDiv(toInt(numbers.1), ${STEP_SIZE}) as took_us,
      toInt(numbers.3) as item, toInt(numbers.2) as before
    from (select actor_id, ${alias(triples, 'numbers')} from ${foldedSteps(request)})`
}

/** Rows of `actor_id` and `steps`: three numbers each, see `js_path_steps`. */
function foldedSteps(request: PathsRequest): SelectQuery {
  const { pathsFilter } = request.query
  const [start, end] = [pathPoint(pathsFilter.startPoint), pathPoint(pathsFilter.endPoint)]
  const fold: PathFold = {
    gap_us: pathGap(request.query),
    step_limit: pathsFilter.stepLimit ?? STEPS_DEFAULT,
    has_start: start !== null,
    has_end: end !== null,
  }
  const code = expr`${NUMBER} * 4 + ${mark(start, 1n)} + ${mark(end, 2n)}`
  const timeline: Expr = {
    ...call('path_timeline', [field(['at']), field(['code'])]),
    params: [constant(request.range.from_us < 0n ? 0n : request.range.from_us)],
  }
  const steps = call('path_steps', [field(['timeline']), constant(JSON.stringify(fold))])
  const numbered = select`select actor_id, at, ${alias(code, 'code')} from ${itemsOfActors(request)}`
  return select`select actor_id, ${alias(steps, 'steps')}
    from (select actor_id, ${alias(timeline, 'timeline')} from ${numbered} group by actor_id)`
}

const mark = (point: string | null, weight: bigint): Expr =>
  point === null ? constant(0n) : expr`if(item = ${constant(point)}, ${constant(weight)}, 0)`

/** Items of all actors, or of a funnel's actors in the chosen part. */
function itemsOfActors(request: PathsRequest): SelectQuery {
  const { funnelPathsFilter } = request.query
  if (!funnelPathsFilter) return itemEvents(request)
  return funnelPaths(itemEvents(request), funnelPathsFilter, request.context)
}

/** Rows of `actor_id`, `at` and `item`. */
function itemEvents({ query, context, range }: PathsRequest): SelectQuery {
  const { aggregation_group_type_index: group_type, pathsFilter } = query
  const left_out = (pathsFilter.excludeEvents ?? []).map((name) => constant(name))
  const condition = allOf(
    withinRange(range),
    queryCondition(query, context),
    hasActor(group_type),
    isPathEvent(query),
  )
  const item_rows = select`select ${alias(actorOf(group_type), 'actor_id')}, timestamp as at,
    ${alias(pathItem(query, context), 'item')} from ${eventsOf(query)} where ${condition}`
  if (left_out.length === 0) return item_rows
  return select`select actor_id, at, item from ${item_rows}
    where not has(${call('array', left_out)}, item)`
}
