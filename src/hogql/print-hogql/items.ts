/** Canonical HogQL of expressions inside lists, next to operators, and before keywords. */

import type { Expr, Lambda, Select } from '../syntax/ast.ts'
import { printName } from './names.ts'

/** The two mutually recursive halves of the printer; `print-hogql.ts` connects them. */
export type HogQLPrinter = {
  readonly expr: (expr: Expr) => string
  /** Without brackets around it. */
  readonly select: (select: Select) => string
}

/** Printed with operators: in brackets next to another operator. */
const LOOSE: ReadonlySet<Expr['kind']> = new Set<Expr['kind']>([
  'Alias',
  'BetweenExpr',
  'IsDistinctFrom',
  'Lambda',
  'NamedArgument',
])

/** Kinds whose end would absorb a following AS or arrow. */
const OPEN_ENDED: ReadonlySet<Expr['kind']> = new Set<Expr['kind']>([
  'Alias',
  'Lambda',
  'NamedArgument',
])

/**
 * A list. A lambda after another item prints its brackets, since it would absorb that item as a
 * parameter.
 */
export function printItems(exprs: readonly Expr[], printer: HogQLPrinter): string {
  const items = exprs.map((expr, index) => {
    if (expr.kind === 'Lambda' && index > 0) return printLambda(expr, printer, true)
    return expr.kind === 'Alias' ? `(${printer.expr(expr)})` : printer.expr(expr)
  })
  return items.join(', ')
}

/** An expression before AS and other keywords: in brackets when it would absorb them. */
export function printClosed(expr: Expr, printer: HogQLPrinter): string {
  const text = printer.expr(expr)
  return OPEN_ENDED.has(expr.kind) ? `(${text})` : text
}

/** An operand of an operator that is a keyword. */
export function joinOperands(expr: Expr, printer: HogQLPrinter): string {
  const text = printer.expr(expr)
  const is_operator = expr.kind === 'CompareOperation' && /cohort|~/.test(expr.op)
  return LOOSE.has(expr.kind) || is_operator ? `(${text})` : text
}

/** An expression before `[`, `(` or `.`; a number would absorb the dot. */
export function operand(expr: Expr, printer: HogQLPrinter): string {
  const number = expr.kind === 'Constant' && /number|bigint/.test(typeof expr.value)
  const text = joinOperands(expr, printer)
  return number || expr.kind === 'PositionalRef' ? `(${text})` : text
}

/** A lambda; one parameter needs brackets only where an item before it could be read as another one. */
export function printLambda(
  { args, expr }: Lambda,
  printer: HogQLPrinter,
  bracketed: boolean,
): string {
  const names = args.map(printName).join(', ')
  const body = expr.kind === 'Alias' ? `(${printer.expr(expr)})` : printer.expr(expr)
  return `${bracketed ? `(${names})` : names} -> ${body}`
}
