/** Many small queries asked as the columns of few: a statement costs more than the values it computes. */

import type { Json } from '@duckdb/node-api'
import type { Select } from '../../src/hogql/syntax/ast.ts'

/** Queries of one column that can be asked as the columns of one select. */
export type Batch<Item> = {
  readonly items: readonly Item[]
  readonly queryOf: (items: readonly Item[]) => Select
}

export type Rows = readonly (readonly Json[])[]

/** Asks one select: its rows. Throws what refuses it. */
export type AskSelect = (query: Select) => Promise<Rows>

/** The columns of one statement; more of them cost DuckDB more than they save. */
const ITEMS_MAX = 64

/** The rows of every item, or why it was refused: halves are asked when a whole is refused, down to single ones. */
export async function askBatch<Item>(
  { items, queryOf }: Batch<Item>,
  ask: AskSelect,
): Promise<ReadonlyMap<Item, Error | Rows>> {
  const answers = new Map<Item, Error | Rows>()
  const askPart = async (part: readonly Item[]): Promise<void> => {
    const rows = await ask(queryOf(part)).catch(asError)
    if (!(rows instanceof Error)) {
      for (const [index, item] of part.entries())
        answers.set(item, part.length === 1 ? rows : rows.map((row) => [row[index] ?? null]))
      return
    }
    const middle = Math.ceil(part.length / 2)
    for (const half of part.length === 1 ? [] : [part.slice(0, middle), part.slice(middle)])
      await askPart(half)
    for (const item of part.length === 1 ? part : []) answers.set(item, rows)
  }
  for (let start = 0; start < items.length; start += ITEMS_MAX)
    await askPart(items.slice(start, start + ITEMS_MAX))
  return answers
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))
