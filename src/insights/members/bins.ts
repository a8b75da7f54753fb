/**
 * Histogram breakdowns: numeric values in equal bins between the minimum and maximum of the query's
 * events.
 */
import type { Expr, JoinExpr } from '../../hogql/syntax/ast.ts'
import { expr, select } from '../../hogql/template.ts'
import type { RunTree } from '../insight.ts'
import { type BreakdownItem, binEdges, breakdownValue } from './breakdown.ts'

/** One breakdown; `edges` of its bins when it is a histogram. */
export type SplitBy = { readonly item: BreakdownItem; readonly edges: readonly number[] | null }

/** The events among which to find the minimum and maximum of a binned breakdown. */
type BinnedBreakdown = { readonly events: JoinExpr; readonly condition: Expr }

/** The breakdowns with bin edges. Runs a query only when one is a histogram. */
export async function queryBins(
  items: readonly BreakdownItem[],
  { events, condition }: BinnedBreakdown,
  run: RunTree,
): Promise<readonly SplitBy[]> {
  if (items.every(({ bin_count }) => bin_count === null)) {
    return items.map((item) => ({ item, edges: null }))
  }
  const ends = items.flatMap((item) => {
    const number = expr`toFloat(${breakdownValue(item)})`
    // `Infinity` and `nan`, as texts, are numbers too, and no bin has such an edge.
    const is_finite = expr`isFinite(${number})`
    return item.bin_count === null
      ? []
      : [expr`minIf(${number}, ${is_finite})`, expr`maxIf(${number}, ${is_finite})`]
  })
  const { rows } = await run(select`select ${ends} from ${events} where ${condition}`)
  const bounds = [...(rows[0] ?? [])]
  return items.map((item) => {
    if (item.bin_count === null) return { item, edges: null }
    const [least, most] = bounds.splice(0, 2)
    const is_empty = typeof least !== 'number' || typeof most !== 'number'
    return { item, edges: is_empty ? [] : binEdges(least, most, item.bin_count) }
  })
}
