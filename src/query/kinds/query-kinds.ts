/** Dispatches a query to its kind: HogQLQuery here, the others in insights' INSIGHTS. */
import { refuseMember } from '../../errors.ts'
import { type InsightName, isInsight } from '../../insights/kinds.ts'
import { type HogQLQueryNode, prepareHogQL } from './hogql.ts'
import { type InsightQueryNode, prepareInsight } from './insight.ts'
import type { Overrides, PreparedQuery, QueryContext } from './prepared-query.ts'

/** A query of any kind, after validation. */
export type QueryNode = HogQLQueryNode | InsightQueryNode

export type QueryKind = 'HogQLQuery' | InsightName

/** Nodes that describe only the display of an answer: their `source` is the query. */
const WRAPPERS: ReadonlySet<unknown> = new Set([
  'DataTableNode',
  'DataVisualizationNode',
  'InsightVizNode',
])

/** Maximum nesting of wrappers; clients use two. */
const WRAPPERS_MAX = 3

/** The query inside its wrappers, and the number of wrappers. */
type UnwrappedQuery = {
  readonly kind: QueryKind
  readonly query: object
  readonly depth: number
}

/** Finds the query inside its wrappers. Refuses unknown kinds, and wrappers without a source. */
export function unwrapQuery(input: object, depth = 0): UnwrappedQuery {
  const kind: unknown = 'kind' in input ? input.kind : undefined
  const attr = `query__${'source__'.repeat(depth)}`
  if (WRAPPERS.has(kind)) {
    const source: unknown = 'source' in input ? input.source : undefined
    if (typeof source === 'object' && source !== null && depth < WRAPPERS_MAX) {
      return unwrapQuery(source, depth + 1)
    }
    const detail = `${String(kind)} needs a query as its source.`
    throw refuseMember(detail, `${attr}source`)
  }
  if (isKind(kind)) return { kind, query: input, depth }
  const name = typeof kind === 'string' ? kind : 'none'
  const detail = `Unsupported query kind: ${name.slice(0, 100)}`
  throw refuseMember(detail, `${attr}kind`)
}

function isKind(kind: unknown): kind is QueryKind {
  return typeof kind === 'string' && (kind === 'HogQLQuery' || isInsight(kind))
}

/** Prepares a query of any kind. Refuses as its kind does. */
export function prepareQuery(
  query: QueryNode,
  overrides: Overrides,
  context: QueryContext,
): PreparedQuery {
  return query.kind === 'HogQLQuery'
    ? prepareHogQL(query, overrides, context)
    : prepareInsight(query, context)
}
