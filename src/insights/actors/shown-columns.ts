/** Columns of a list as callers name them: HogQL expressions, and words for whole objects. */

import { Refusal } from '../../errors.ts'
import { findFunction } from '../../hogql/functions/registry.ts'
import { parseExpr, parseOrderExpr } from '../../hogql/parser/parser.ts'
import type { Expr, OrderExpr } from '../../hogql/syntax/ast.ts'
import { order } from '../../hogql/syntax/nodes.ts'
import { childrenOf } from '../../hogql/syntax/walk.ts'

/** A column word: the expression it selects, and how a value of it is shown. */
type ObjectColumn = {
  readonly expr: Expr
  readonly read: (value: unknown) => unknown
}

/** One column of a list. */
export type OutputColumn = ObjectColumn & {
  /** The text in the request. */
  readonly name: string
  /** Whether it contains an aggregation. */
  readonly has_aggregate: boolean
}

/** The column words of one kind of list. */
export type ColumnWords = Readonly<Record<string, ObjectColumn>>

/** Parses columns. Refuses (`invalid_input`, naming the member) texts that are not expressions. */
export function outputColumns(texts: readonly string[], words: ColumnWords): OutputColumn[] {
  return texts.map((name) => {
    const word = wordOf(name, words)
    if (word !== null) return { name, has_aggregate: false, ...word }
    const expr = naming('query__select', () => parseExpr(name))
    return { name, expr, has_aggregate: hasAggregate(expr), read: asItIs }
  })
}

/** Parses orders; a word orders by its expression. Refuses as columns do. */
export function outputOrders(texts: readonly string[], words: ColumnWords): readonly OrderExpr[] {
  return texts.map((text) => {
    const titled = wordOf(text, words)
    // HogQL would read the title, and the direction behind it, as a comment.
    if (titled !== null) {
      const is_descending = text.trimEnd().toLowerCase().endsWith(' desc')
      return order(titled.expr, is_descending ? 'DESC' : 'ASC')
    }
    const parsed = naming('query__orderBy', () => parseOrderExpr(text))
    const name = parsed.expr.kind === 'Field' ? parsed.expr.chain.join('.') : ''
    return { ...parsed, expr: wordOf(name, words)?.expr ?? parsed.expr }
  })
}

/** Parses conditions. Refuses as columns do. */
export function outputConditions(texts: readonly string[]): OutputConditions {
  const all = texts.map((text) => naming('query__where', () => parseExpr(text)))
  return { where: all.filter((one) => !hasAggregate(one)), having: all.filter(hasAggregate) }
}

/** Conditions on single rows, and those on aggregates: `count() > 1`. */
type OutputConditions = {
  readonly where: readonly Expr[]
  readonly having: readonly Expr[]
}

/** Rows with every value as its column shows it. */
export function outputRows(
  rows: readonly (readonly unknown[])[],
  columns: readonly OutputColumn[],
): readonly (readonly unknown[])[] {
  return rows.map((row) => columns.map(({ read }, index) => read(row[index])))
}

/** With an aggregation among the columns, the others are the GROUP BY keys. */
export function groupedBy(columns: readonly OutputColumn[]): readonly Expr[] {
  const has_aggregates = columns.some((column) => column.has_aggregate)
  return has_aggregates
    ? columns.filter((column) => !column.has_aggregate).map(({ expr }) => expr)
    : []
}

/** Whether rows can be returned unchanged, because no column is a word. */
export function arePlain(columns: readonly OutputColumn[]): boolean {
  return columns.every(({ read }) => read === asItIs)
}

const asItIs = (value: unknown): unknown => value

/** Editors append a title to a column: `person -- Person`. */
function wordOf(name: string, words: ColumnWords): ObjectColumn | null {
  const word = name.split('--', 1)[0]?.trim() ?? ''
  return Object.hasOwn(words, word) ? (words[word] ?? null) : null
}

/** Whether an expression contains an aggregation outside of sub-selects. */
export function hasAggregate(expr: Expr): boolean {
  const waiting = [...childrenOf({ kind: 'Tuple', start: 0, end: 0, exprs: [expr] })]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'Call' && findFunction(node.name)?.role === 'aggregate') return true
    if (node.kind !== 'SelectQuery' && node.kind !== 'SelectSetQuery') {
      waiting.push(...childrenOf(node))
    }
  }
  return false
}

/** Adds the member's name to a refusal. */
function naming<Parsed>(attr: string, parse: () => Parsed): Parsed {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal(error.code, error.detail, { attr })
  }
}
