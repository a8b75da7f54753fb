/** Keeps what the engines agreed on, so that `check` can hold us to it without ClickHouse. */

import { writeFileSync } from 'node:fs'
import type { Finding } from './agreement.ts'

const VECTORS_OF_ONE = 8
const ROWS_LENGTH_MAX = 3000
/** How many of whole questions are kept, where their rows are few. */
const KEPT: ReadonlyMap<string, number> = new Map([
  ['questions', Number.POSITIVE_INFINITY],
  ['random', 60],
])

/** Writes agreed vectors, some of each function, and all agreed questions to test/hogql/cases/oracle.tsv. */
export function storeAgreement(findings: readonly Finding[]): void {
  const lines = [...Map.groupBy(findings, (finding) => finding.name)].flatMap(([name, all]) => {
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
    '# function, zone, question, types, rows: what ClickHouse 26.7 and we agreed on; written by `bun run oracle --write`'
  const path = new URL('../hogql/cases/oracle.tsv', import.meta.url)
  writeFileSync(path, `${[head, ...lines].join('\n')}\n`)
}
