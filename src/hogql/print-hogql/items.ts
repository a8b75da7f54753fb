/** How expressions stand beside others in canonical HogQL: in lists, next to operators, before words. */

import type { Expr, Lambda, Select } from '../ast.ts'
import { printName } from './names.ts'

/** The two halves of the printer, which call each other; `print-hogql.ts` ties the knot. */
export type HogQLPrinter = {
  readonly expr: (expr: Expr) => string
  /** Without brackets around it. */
  readonly select: (select: Select) => string
}

/** Written with operators, so that they need brackets beside another one. */
const LOOSE: ReadonlySet<Expr['kind']> = new Set<Expr['kind']>([
  'Alias',
  'BetweenExpr',
  'IsDistinctFrom',
  'Lambda',
  'NamedArgument',
])

/** Of these, what follows behind AS or an arrow would be read as a part. */
const OPEN_ENDED: ReadonlySet<Expr['kind']> = new Set<Expr['kind']>([
  'Alias',
  'Lambda',
  'NamedArgument',
])

/** A list; a lambda behind another item shows its brackets, or it would take that item for an argument. */
export function printItems(exprs: readonly Expr[], printer: HogQLPrinter): string {
  const items = exprs.map((expr, index) => {
    if (expr.kind === 'Lambda' && index > 0) return printLambda(expr, printer, true)
    return expr.kind === 'Alias' ? `(${printer.expr(expr)})` : printer.expr(expr)
  })
  return items.join(', ')
}

/** An expression before AS and other words: in brackets when it would take them for its own. */
export function closed(expr: Expr, printer: HogQLPrinter): string {
  const text = printer.expr(expr)
  return OPEN_ENDED.has(expr.kind) ? `(${text})` : text
}

/** An expression beside an operator that is written as a word. */
export function joinOperands(expr: Expr, printer: HogQLPrinter): string {
  const text = printer.expr(expr)
  const cohort = expr.kind === 'CompareOperation' && expr.op.endsWith('cohort')
  return LOOSE.has(expr.kind) || cohort ? `(${text})` : text
}

/** An expression before `[`, `(` or `.`, where a number would take the dot for its own. */
export function operand(expr: Expr, printer: HogQLPrinter): string {
  const number = expr.kind === 'Constant' && /number|bigint/.test(typeof expr.value)
  const text = joinOperands(expr, printer)
  return number || expr.kind === 'PositionalRef' ? `(${text})` : text
}

/** A lambda; one argument needs brackets only where something before it could be taken for another one. */
export function printLambda(
  { args, expr }: Lambda,
  printer: HogQLPrinter,
  bracketed: boolean,
): string {
  const names = args.map(printName).join(', ')
  const body = expr.kind === 'Alias' ? `(${printer.expr(expr)})` : printer.expr(expr)
  return `${bracketed ? `(${names})` : names} -> ${body}`
}
