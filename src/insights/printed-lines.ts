/** The printed HogQL of an answer that took several trees. */
import type { InsightContext } from './insight.ts'

/**
 * One text with the rows of all: the printed trees as a union, with their index as the column `line`.
 * One text alone stays as it is.
 */
export function unionOfLines(
  texts: readonly string[],
  { rows_max }: Pick<InsightContext, 'rows_max'>,
): string {
  const [only = ''] = texts
  if (texts.length < 2) return only
  const lines = texts.map((text, index) => `(SELECT ${index} AS line, * FROM (${text}))`)
  return `${lines.join(' UNION ALL ')} LIMIT ${rows_max}`
}
