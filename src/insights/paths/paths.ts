/** PathsQuery: the paths of actors through a product, as weighted edges, and the actors behind an edge. */
import type { PathsQuery } from '../../contract/insights/paths.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { constant } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { firstEvent, freshnessOf, readRange, resolvedRange } from '../dates/date-range.ts'
import type { InsightContext, InsightKind } from '../insight.ts'
import { allOf, scaleSample } from '../members/conditions.ts'
import { pathEdges, pathSteps } from './trees.ts'

const EDGES_DEFAULT = 50

/** One edge of the answer. */
type PathEdge = {
  readonly source: string
  readonly target: string
  readonly value: number
  /** Milliseconds. */
  readonly average_conversion_time: number
}

/**
 * Edges, the heaviest first. The `hogql` of the answer calls functions made for it
 * (`path_timeline`, `path_steps`), which a text may call too.
 */
export const PATHS: InsightKind<PathsQuery> = {
  rangeOf: (query, dates) => freshnessOf(readRange(query, dates)),
  answer: async (query, context, run) => {
    const range = readRange(query, context, { earliest_us: await firstEvent(query, run) })
    const limit = query.pathsFilter.edgeLimit ?? EDGES_DEFAULT
    const { rows, hogql } = await run(pathEdges({ query, context, range }, limit))
    const edges = rows.map(([source, target, value, took_ms]) => ({
      source: String(source),
      target: String(target),
      value: scaleSample(Number(value), query),
      average_conversion_time: Number(took_ms),
    }))
    return {
      results: reachable(edges),
      hogql,
      metadata: { resolved_date_range: resolvedRange(range) },
    }
  },
}

/** Edges reachable from a first step, since lighter edges before them may have been cut off. */
export function reachable(edges: readonly PathEdge[]): readonly PathEdge[] {
  const edges_from = Map.groupBy(edges, ({ source }) => source)
  const reached = new Set<string>()
  const waiting = [...edges_from.keys()].filter((source) => source.startsWith('1_'))
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (reached.has(node)) continue
    reached.add(node)
    for (const { target } of edges_from.get(node) ?? []) waiting.push(target)
  }
  return edges.filter(({ source }) => reached.has(source))
}

/**
 * The actors behind an edge, or dropped off at a point: rows of `actor_id` and `event_count`.
 * Refuses invalid keys.
 */
export function pathActors(query: PathsQuery, context: InsightContext): SelectQuery {
  const { pathStartKey, pathEndKey, pathDropoffKey } = query.pathsFilter
  const range = readRange(query, context, { earliest_us: 0n })
  const condition = allOf(
    pathStartKey ? comesFrom(readKey(pathStartKey, 'pathStartKey')) : null,
    pathEndKey ? isAt(readKey(pathEndKey, 'pathEndKey')) : null,
    pathDropoffKey ? expr`is_last and ${isAt(readKey(pathDropoffKey, 'pathDropoffKey'))}` : null,
  )
  return select`select actor_id, count() as event_count from ${pathSteps({ query, context, range })}
    where ${condition} group by actor_id`
}

type PathKey = { readonly step: bigint; readonly item: string }

const isAt = ({ step, item }: PathKey): Expr =>
  expr`step = ${constant(step)} and item = ${constant(item)}`

const comesFrom = ({ step, item }: PathKey): Expr =>
  expr`step = ${constant(step + 1n)} and before = ${constant(item)}`

function readKey(key: string, member: string): PathKey {
  const [, step, item] = /^(\d{1,2})_(.*)$/s.exec(key) ?? []
  if (step !== undefined && item !== undefined) return { step: BigInt(step), item }
  const detail = 'A step of a path is written as its number and its item: 1_/home'
  throw refuseMember(detail, `query__pathsFilter__${member}`)
}
