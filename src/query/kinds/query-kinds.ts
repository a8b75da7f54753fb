/** Every kind of query there is, and how each is read; those about behaviour are listed in `INSIGHTS`. */
import { Refusal } from '../../errors.ts'
import { type InsightName, isInsight } from '../../insights/kinds.ts'
import { type HogQLQueryNode, prepareHogQL } from './hogql.ts'
import { type InsightQueryNode, prepareInsight } from './insight.ts'
import type { Overrides, PreparedQuery, QueryContext } from './prepared-query.ts'

/** A query of any kind, its shape already checked. */
export type QueryNode = HogQLQueryNode | InsightQueryNode

export type QueryKind = 'HogQLQuery' | InsightName

/** Nodes that only say how an answer is shown: their `source` is the query. */
const WRAPPERS: ReadonlySet<unknown> = new Set([
  'DataTableNode',
  'DataVisualizationNode',
  'InsightVizNode',
])

/** A wrapper in a wrapper is as deep as clients go. */
const WRAPPERS_MAX = 3

/** A query as it was sent, and in how many nodes it was wrapped. */
export type UnwrappedQuery = {
  readonly kind: QueryKind
  readonly query: object
  readonly depth: number
}

/** Finds the query inside its wrappers. Refuses kinds there are not, and wrappers around nothing. */
export function unwrapQuery(input: object, depth = 0): UnwrappedQuery {
  const kind: unknown = 'kind' in input ? input.kind : undefined
  const attr = `query__${'source__'.repeat(depth)}`
  if (WRAPPERS.has(kind)) {
    const source: unknown = 'source' in input ? input.source : undefined
    if (typeof source === 'object' && source !== null && depth < WRAPPERS_MAX) {
      return unwrapQuery(source, depth + 1)
    }
    const detail = `${String(kind)} needs a query as its source.`
    throw new Refusal('invalid_input', detail, { attr: `${attr}source` })
  }
  if (isKind(kind)) return { kind, query: input, depth }
  const name = typeof kind === 'string' ? kind : 'none'
  const detail = `Unsupported query kind: ${name.slice(0, 100)}`
  throw new Refusal('invalid_input', detail, { attr: `${attr}kind` })
}

function isKind(kind: unknown): kind is QueryKind {
  return typeof kind === 'string' && (kind === 'HogQLQuery' || isInsight(kind))
}

/** Reads a query of any kind. Refuses what its kind refuses. */
export function prepareQuery(
  query: QueryNode,
  overrides: Overrides,
  context: QueryContext,
): PreparedQuery {
  return query.kind === 'HogQLQuery'
    ? prepareHogQL(query, overrides, context)
    : prepareInsight(query, context)
}
