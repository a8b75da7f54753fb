/** The second dialect of the compiler: the passes of a statement for ClickHouse, and its printer. */

import type { Dialect } from '../dialect.ts'
import { foldConstants } from '../passes/fold-constants.ts'
import { lowerComparisonsWith } from '../passes/lower/lower-comparisons.ts'
import { limitOutput } from '../passes/lower/lower-limits.ts'
import { lowerNullSafety } from '../passes/lower/lower-null-safety.ts'
import { inferTimeRanges } from '../passes/read-less/infer-time-ranges.ts'
import { propagateTimeRanges } from '../passes/read-less/propagate-time-ranges.ts'
import type { Pass } from '../passes/walk.ts'
import type { ResolvedExpr, Statement } from '../sql/ir.ts'
import type { PrintedQuery } from '../sql/print.ts'
import { applyFragment } from '../sql/sql-fragments.ts'
import { isText, type Type, withNull } from '../types/types.ts'
import { readAnswer } from './gathered-columns.ts'
import { printClickHouse } from './printer.ts'
import { setWeekStarts } from './set-week-starts.ts'
import { splitAtFolds } from './split-at-folds.ts'
import type { TableState } from './table-state.ts'

/** A conversion that the printer spells. */
const asType = (expr: ResolvedExpr, to: Type): ResolvedExpr =>
  applyFragment(
    'asType',
    [expr],
    withNull(to, to.nullable || expr.type.nullable || isText(expr.type)),
  )

/** The passes before printing: ClickHouse needs only passes that depend on no engine. */
const CLICKHOUSE_PASSES: readonly Pass[] = [
  foldConstants,
  lowerComparisonsWith(asType),
  inferTimeRanges,
  propagateTimeRanges,
  lowerNullSafety,
  setWeekStarts,
]

/** The dialect for a project whose tables are in this state. */
export function clickhouseDialect(state: TableState): Dialect {
  const print = (statement: Statement): PrintedQuery => printClickHouse(statement, state)
  return {
    passes: [...CLICKHOUSE_PASSES, limitOutput],
    print,
    federation: {
      splitAtFolds,
      readAnswer,
      gather_dialect: { passes: CLICKHOUSE_PASSES, print },
    },
  }
}
