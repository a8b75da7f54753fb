/** Keeps what the engines agreed on, so that `check` can hold us to it without ClickHouse. */

import { readFileSync, writeFileSync } from 'node:fs'
import type { Finding } from './agreement.ts'

const PATH = new URL('../hogql/cases/oracle.tsv', import.meta.url)
const VECTORS_OF_ONE = 8
const ROWS_LENGTH_MAX = 3000
/** Functions that read numbers from texts. */
const NUMERAL_READERS = [
  'accurateCastOrNull',
  'toDecimal',
  'toFloat',
  'toFloat64OrNull',
  'toFloatOrDefault',
  'toFloatOrNull',
  'toFloatOrZero',
  'toInt',
  'toIntOrDefault',
  'toIntOrZero',
]
/** How many of whole queries are kept, where their rows are few. */
const KEPT: ReadonlyMap<string, number> = new Map<string, number>([
  ['queries', Number.POSITIVE_INFINITY],
  ['random', 60],
  ['edges', 120],
  // Each spelling of a number is a rule of its own.
  ...NUMERAL_READERS.map((name) => [name, Number.POSITIVE_INFINITY] as const),
])

/**
 * Writes agreed vectors, some of each function, and all agreed queries to test/hogql/cases/oracle.tsv. Lines of
 * functions that were not asked in this run stay.
 */
export function storeAgreement(findings: readonly Finding[]): void {
  const by_name = Map.groupBy(findings, (finding) => finding.name)
  const others = readFileSync(PATH, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .filter((line) => !by_name.has(line.slice(0, line.indexOf('\t'))))
  const lines = [...by_name].flatMap(([name, all]) => {
    const agreed = all.filter(
      ({ outcome, rows, types }) =>
        outcome === 'agree' &&
        !types.includes('Float32') &&
        !rows.startsWith('refused') &&
        rows.length <= ROWS_LENGTH_MAX,
    )
    const step = Math.max(1, agreed.length / (KEPT.get(name) ?? VECTORS_OF_ONE))
    const kept = agreed.filter(
      (_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step),
    )
    return kept.map(({ hogql, timezone, types, rows }) =>
      [name, timezone, hogql, types, rows].join('\t'),
    )
  })
  const head =
    '# function, zone, query, types, rows: what ClickHouse 26.7 and we agreed on; written by `bun run oracle --write`'
  writeFileSync(PATH, `${[head, ...lines, ...others].join('\n')}\n`)
}
