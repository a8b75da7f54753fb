/** Histograms: numbers that a query is split by, in equal parts between the least and the most of its events. */
import type { Expr, JoinExpr } from '../hogql/ast.ts'
import { type BreakdownItem, binEdges, breakdownValue } from './breakdown.ts'
import type { RunTree } from './insight.ts'
import { expr, select } from './tree.ts'

/** One thing to split by; numbers in parts have the edges of those. */
export type SplitBy = { readonly item: BreakdownItem; readonly edges: readonly number[] | null }

/** The events whose numbers are cut into parts. */
export type BinnedBreakdown = { readonly events: JoinExpr; readonly condition: Expr }

/** What events are split by. Where nothing is cut into parts, nobody is asked. */
export async function queryBins(
  items: readonly BreakdownItem[],
  { events, condition }: BinnedBreakdown,
  ask: RunTree,
): Promise<readonly SplitBy[]> {
  if (items.every(({ bin_count }) => bin_count === null)) {
    return items.map((item) => ({ item, edges: null }))
  }
  const ends = items.flatMap((item) => {
    const number = expr`toFloat(${breakdownValue(item)})`
    return item.bin_count === null ? [] : [expr`min(${number})`, expr`max(${number})`]
  })
  const { rows } = await ask(select`select ${ends} from ${events} where ${condition}`)
  const match = [...(rows[0] ?? [])]
  return items.map((item) => {
    if (item.bin_count === null) return { item, edges: null }
    const [least, most] = match.splice(0, 2)
    const is_empty = typeof least !== 'number' || typeof most !== 'number'
    return { item, edges: is_empty ? [] : binEdges(least, most, item.bin_count) }
  })
}
