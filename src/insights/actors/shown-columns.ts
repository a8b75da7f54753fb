/** Columns of a list as callers name them: HogQL expressions, and words that stand for whole objects. */

import { Refusal } from '../../errors.ts'
import type { Expr, OrderExpr } from '../../hogql/ast.ts'
import { findFunction } from '../../hogql/functions/registry.ts'
import { parseExpr, parseOrderExpr } from '../../hogql/parser.ts'
import { childrenOf } from '../../hogql/walk.ts'

/** A word that stands for an object: what is asked for it, and what is made of the answer. */
export type ObjectColumn = {
  readonly expr: Expr
  readonly read: (value: unknown) => unknown
}

/** One column of a list. */
export type OutputColumn = ObjectColumn & {
  /** As it was sent. */
  readonly name: string
  /** It gathers rows instead of showing each. */
  readonly gathers: boolean
}

/** The words of one kind of list. */
export type ColumnWords = Readonly<Record<string, ObjectColumn>>

/** Columns from the texts of a request. Refuses (`invalid_input`, naming the member) what is no expression. */
export function outputColumns(
  texts: readonly string[],
  words: ColumnWords,
  attr: string,
): OutputColumn[] {
  return texts.map((name) => {
    const word = wordOf(name, words)
    if (word !== null) return { name, gathers: false, ...word }
    const expr = naming(attr, () => parseExpr(name))
    return { name, expr, gathers: gathers(expr), read: asItIs }
  })
}

/** Orders from the texts of a request; a word orders by its object. Refuses as columns do. */
export function outputOrders(
  texts: readonly string[],
  words: ColumnWords,
  attr: string,
): readonly OrderExpr[] {
  return texts.map((text) => {
    const parsed = naming(attr, () => parseOrderExpr(text))
    const name = parsed.expr.kind === 'Field' ? parsed.expr.chain.join('.') : ''
    return { ...parsed, expr: wordOf(name, words)?.expr ?? parsed.expr }
  })
}

/** Conditions from the texts of a request. Refuses as columns do. */
export function outputConditions(texts: readonly string[], attr: string): readonly Expr[] {
  return texts.map((text) => naming(attr, () => parseExpr(text)))
}

/** Rows with every value made into what its column shows. */
export function outputRows(
  rows: readonly (readonly unknown[])[],
  columns: readonly OutputColumn[],
): readonly (readonly unknown[])[] {
  return rows.map((row) => columns.map(({ read }, index) => read(row[index])))
}

/** Beside what gathers, every other column is what is gathered by. */
export function groupedBy(columns: readonly OutputColumn[]): readonly Expr[] {
  const is_gathered = columns.some((column) => column.gathers)
  return is_gathered ? columns.filter((column) => !column.gathers).map(({ expr }) => expr) : []
}

/** Whether the engine's rows are what is shown: no column stands for an object. */
export function arePlain(columns: readonly OutputColumn[]): boolean {
  return columns.every(({ read }) => read === asItIs)
}

const asItIs = (value: unknown): unknown => value

/** Editors write what a column is called behind the word: `person -- Person`. */
function wordOf(name: string, words: ColumnWords): ObjectColumn | null {
  const word = name.split('--', 1)[0]?.trim() ?? ''
  return Object.hasOwn(words, word) ? (words[word] ?? null) : null
}

/** Whether an aggregation is in it; those of selects inside it are theirs. */
function gathers(expr: Expr): boolean {
  const waiting = [...childrenOf({ kind: 'Tuple', start: 0, end: 0, exprs: [expr] })]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'Call' && findFunction(node.name)?.role === 'aggregate') return true
    if (node.kind !== 'SelectQuery' && node.kind !== 'SelectSetQuery') {
      waiting.push(...childrenOf(node))
    }
  }
  return false
}

/** A fault in a part of the query is told with the part's name. */
function naming<Parsed>(attr: string, parse: () => Parsed): Parsed {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal(error.code, error.detail, { attr })
  }
}
