/** Prints GROUP BY, which both engines spell alike. */
import type { GroupBy, ResolvedExpr } from './ir.ts'

/** `printList` prints the keys of one set, with commas. */
export function printGroupBy(
  { mode, sets }: GroupBy,
  printList: (keys: readonly ResolvedExpr[]) => string,
): string {
  const lists = sets.map(printList)
  switch (mode) {
    case 'all':
      return 'ALL'
    case 'plain':
      return lists.join(', ')
    case 'rollup':
      return `ROLLUP (${lists.join(', ')})`
    case 'cube':
      return `CUBE (${lists.join(', ')})`
    case 'grouping_sets':
      return `GROUPING SETS (${lists.map((list) => `(${list})`).join(', ')})`
  }
}
