/** Arguments that ClickHouse takes as constants alone, where HogQL also computes them for each row here. */

import { someExpr } from '../passes/walk.ts'
import type { ResolvedExpr } from '../sql/ir.ts'
import { refuseInClickHouse } from './refuse-in-clickhouse.ts'

/** Names by HogQL's positions of such arguments. Adding a name refuses its columns before anything is asked. */
const CONSTANT_ARGUMENTS: readonly (readonly [positions: readonly number[], names: string])[] = [
  [[0], 'concatWithSeparator concatWithSeparatorAssumeInjective concat_ws dateName timezone'],
  [[0, 2], 'date_bin splitByChar splitByRegexp splitByString'],
  [
    [1],
    'JSON_VALUE LpNorm LpNormalize appendTrailingCharIfAbsent btrim countMatches countMatchesCaseInsensitive cutURLParameter extract extractAll extractURLParameter hasAllTokens hasAnyTokens hasToken hasTokenCaseInsensitive hasTokenCaseInsensitiveOrNull hasTokenOrNull ltrim ngrams port roundDown rtrim split_part throwIf toTimeZone trim trimBoth trimLeft trimRight',
  ],
  [
    [1, 2],
    'convertCharset cutIPv6 hop hopEnd hopStart regexpExtract toDateTime64 toDayOfWeek toLastDayOfWeek toStartOfInterval toStartOfWeek toWeek toYearWeek transform translate translateUTF8 tumble tumbleEnd tumbleStart',
  ],
  [[2], 'LpDistance leftPad leftPadUTF8 lpad rightPad rightPadUTF8 rpad'],
  [[3], 'bar'],
  [[2, 3, 4, 5], 'pointInEllipses'],
]

const POSITIONS: ReadonlyMap<string, readonly number[]> = new Map(
  CONSTANT_ARGUMENTS.flatMap(([positions, names]) =>
    names.split(' ').map((name) => [name, positions] as const),
  ),
)

/** Refuses a call with a column where ClickHouse takes a constant. */
export function requireConstants(name: string, args: readonly ResolvedExpr[]): void {
  for (const position of POSITIONS.get(name) ?? []) {
    const arg = args[position]
    if (arg !== undefined && someExpr(arg, readsRow))
      refuseInClickHouse(`A column as argument ${position + 1} of ${name}`)
  }
}

const readsRow = (expr: ResolvedExpr): boolean =>
  expr.kind === 'column' ||
  expr.kind === 'local' ||
  expr.kind === 'property' ||
  (expr.kind === 'apply' && expr.aggregate !== null)

/** Whether the server can compute an expression before it reads a row. */
export const isConstant = (expr: ResolvedExpr): boolean => !someExpr(expr, dependsOnRow)

/** The parameter of a lambda is no row: its list may be constant. */
const dependsOnRow = (expr: ResolvedExpr): boolean =>
  expr.kind === 'window' || (expr.kind !== 'local' && readsRow(expr))
