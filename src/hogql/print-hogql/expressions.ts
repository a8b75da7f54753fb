/** Canonical HogQL of expressions: operators as functions, one spelling for everything. */

import type {
  ArithmeticOperation,
  ArithmeticOperator,
  ArrayAccess,
  Call,
  ColumnsExpr,
  CompareOperation,
  CompareOperator,
  Expr,
  HogQLXTag,
  WindowFunction,
} from '../syntax/ast.ts'
import { spineOf } from '../syntax/walk.ts'
import {
  type HogQLPrinter,
  joinOperands,
  operand,
  printClosed,
  printItems,
  printLambda,
} from './items.ts'
import { printChain, printFunction, printName, printText, printValue } from './names.ts'
import { printOrders, printWindow } from './orders.ts'

const ARITHMETIC = {
  '+': 'plus',
  '-': 'minus',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
} as const satisfies Record<ArithmeticOperator, string>

/** Comparisons that are printed as calls; the others have no function of the same meaning. */
const COMPARISONS: ReadonlyMap<CompareOperator, string> = new Map([
  ['==', 'equals'],
  ['!=', 'notEquals'],
  ['<', 'less'],
  ['<=', 'lessOrEquals'],
  ['>', 'greater'],
  ['>=', 'greaterOrEquals'],
  ['like', 'like'],
  ['not like', 'notLike'],
  ['ilike', 'ilike'],
  ['not ilike', 'notILike'],
  ['in', 'in'],
  ['not in', 'notIn'],
])

type Printers = {
  readonly [Kind in Expr['kind']]: (
    node: Extract<Expr, { readonly kind: Kind }>,
    printer: HogQLPrinter,
  ) => string
}

/** The printer of each kind of expression. */
const PRINTERS: Printers = {
  Alias: ({ expr, alias }, printer) => `${printClosed(expr, printer)} AS ${printName(alias)}`,
  And: ({ exprs }, printer) => `and(${printItems(exprs, printer)})`,
  ArithmeticOperation: printArithmetic,
  Array: ({ exprs }, printer) => `[${printItems(exprs, printer)}]`,
  ArrayAccess: printArrayAccess,
  ArraySlice: ({ array, start_expr, end_expr }, printer) => {
    const bounds = [start_expr, end_expr].map((bound) => (bound ? printClosed(bound, printer) : ''))
    return `${operand(array, printer)}[${bounds.join(':')}]`
  },
  BetweenExpr: ({ expr, low, high, negated }, printer) => {
    const bounds = `${joinOperands(low, printer)} AND ${joinOperands(high, printer)}`
    return `${joinOperands(expr, printer)}${negated ? ' NOT' : ''} BETWEEN ${bounds}`
  },
  Call: printCall,
  ColumnsExpr: printColumns,
  CompareOperation: printComparison,
  Constant: ({ value }) => printValue(value),
  Dict: ({ items }, printer) => {
    const pairs = items.map(
      ([key, value]) => `${printClosed(key, printer)}: ${printClosed(value, printer)}`,
    )
    return `{${pairs.join(', ')}}`
  },
  ExprCall: ({ expr, args }, printer) => `${callee(expr, printer)}(${printItems(args, printer)})`,
  Field: ({ chain }) => printChain(chain),
  HogQLXTag: printTag,
  IsDistinctFrom: ({ left, right, negated }, printer) => {
    const operator = negated ? 'IS NOT DISTINCT FROM' : 'IS DISTINCT FROM'
    return `${joinOperands(left, printer)} ${operator} ${joinOperands(right, printer)}`
  },
  Lambda: (lambda, printer) => printLambda(lambda, printer, lambda.args.length !== 1),
  NamedArgument: ({ name, value }, printer) =>
    `${printName(name)} := ${printClosed(value, printer)}`,
  Not: ({ expr }, printer) => `not(${printItems([expr], printer)})`,
  Or: ({ exprs }, printer) => `or(${printItems(exprs, printer)})`,
  Placeholder: ({ expr }, printer) => `{${printer.expr(expr)}}`,
  PositionalRef: ({ index }) => `#${index}`,
  SelectQuery: (select, printer) => `(${printer.select(select)})`,
  SelectSetQuery: (select, printer) => `(${printer.select(select)})`,
  TryCast: ({ expr, type_name }, printer) =>
    `TRY_CAST(${printClosed(expr, printer)} AS ${type_name})`,
  Tuple: ({ exprs }, printer) => `tuple(${printItems(exprs, printer)})`,
  TupleAccess: ({ tuple, index, nullish }, printer) =>
    `${operand(tuple, printer)}${nullish ? '?.' : '.'}${index}`,
  TypeCast: ({ expr, type_name }, printer) => `CAST(${printClosed(expr, printer)} AS ${type_name})`,
  WindowFunction: printWindowFunction,
}

/** One expression. */
export function printExpression(expr: Expr, printer: HogQLPrinter): string {
  const print = PRINTERS[expr.kind] as (node: Expr, printer: HogQLPrinter) => string
  return print(expr, printer)
}

/** A callee in brackets must not print as a function name. */
function callee(expr: Expr, printer: HogQLPrinter): string {
  const text = operand(expr, printer)
  const member =
    (expr.kind === 'Field' && expr.chain.length > 1) ||
    ['ArrayAccess', 'TupleAccess', 'ExprCall'].includes(expr.kind)
  return member || text.startsWith('(') ? text : `(${text})`
}

function printArithmetic(outermost: ArithmeticOperation, printer: HogQLPrinter): string {
  const links = spineOf(outermost).toReversed()
  let text = printItems([links[0]?.left ?? outermost.left], printer)
  for (const { op, right } of links) {
    text = `${ARITHMETIC[op]}(${text}, ${secondItem(right, printer)})`
  }
  return text
}

function secondItem(expr: Expr, printer: HogQLPrinter): string {
  return expr.kind === 'Lambda' ? printLambda(expr, printer, true) : printItems([expr], printer)
}

function printArrayAccess(
  { array, property, nullish }: ArrayAccess,
  printer: HogQLPrinter,
): string {
  return `${operand(array, printer)}${nullish ? '?.' : ''}[${printItems([property], printer)}]`
}

function printComparison(comparison: CompareOperation, printer: HogQLPrinter): string {
  const { op, left, right } = comparison
  if (comparison.is_null_comparison_style) {
    return `${op === '==' ? 'isNull' : 'isNotNull'}(${printItems([left], printer)})`
  }
  const name = COMPARISONS.get(op)
  if (name !== undefined)
    return `${name}(${printItems([left], printer)}, ${secondItem(right, printer)})`
  const [first, second] = [joinOperands(left, printer), joinOperands(right, printer)]
  // The function match() is NULL for NULL, the operators are null-safe.
  if (op.includes('~')) return `${first} ${op} ${second}`
  const is_plain =
    /^[\d'{]/.test(second) && (right.kind === 'Constant' || right.kind === 'Placeholder')
  return `${first} ${op.toUpperCase()} ${is_plain ? second : `(${printer.expr(right)})`}`
}

function printCall(node: Call, printer: HogQLPrinter): string {
  const { name, params, args, distinct, order_by, within_group } = node
  const first = params === null ? '' : `(${printItems(params, printer)})`
  const order = order_by.length === 0 ? '' : ` ORDER BY ${printOrders(order_by, printer)}`
  const inner = `${distinct ? 'DISTINCT ' : ''}${printItems(args, printer)}${order}`.trim()
  const parameters_only = within_group.length > 0 && params !== null && inner === ''
  const second = parameters_only ? '' : `(${inner})`
  return [
    `${printFunction(name)}${first}${second}`,
    node.ignore_nulls ? ' IGNORE NULLS' : '',
    within_group.length > 0 ? ` WITHIN GROUP (ORDER BY ${printOrders(within_group, printer)})` : '',
    printFilter(node.filter_expr, printer),
  ].join('')
}

function printFilter(condition: Expr | null, printer: HogQLPrinter): string {
  return condition === null ? '' : ` FILTER (WHERE ${printer.expr(condition)})`
}

function printWindowFunction(node: WindowFunction, printer: HogQLPrinter): string {
  const { over_expr, over_identifier } = node
  const window = over_expr === null ? '' : `(${printWindow(over_expr, printer)})`
  return [
    `${printFunction(node.name)}(${printItems(node.exprs, printer)})`,
    node.args === null ? '' : `(${printItems(node.args, printer)})`,
    node.ignore_nulls ? ' IGNORE NULLS' : '',
    printFilter(node.filter_expr, printer),
    ` OVER ${over_identifier === null ? window : printName(over_identifier)}`,
  ].join('')
}

function printColumns(node: ColumnsExpr, printer: HogQLPrinter): string {
  if (node.regex !== null) return `COLUMNS(${printText(node.regex)})`
  if (node.columns !== null) return `COLUMNS(${printItems(node.columns, printer)})`
  const exclude = node.exclude.map((name) => printChain(name.split('.')))
  return `${printChain([...(node.table ?? []), '*'])} EXCLUDE (${exclude.join(', ')})`
}

/** Texts among the children are printed in braces, so that none of their characters is read as a tag. */
function printTag({ tag, attributes }: HogQLXTag, printer: HogQLPrinter): string {
  let head = `<${tag}`
  let children = ''
  for (const { name, value } of attributes) {
    if ('kind' in value) head += ` ${name}=${printAttribute(value, printer)}`
    else children += value.map((child) => `{${printer.expr(child)}}`).join('')
  }
  return children === '' ? `${head} />` : `${head}>${children}</${tag}>`
}

function printAttribute(value: Expr, printer: HogQLPrinter): string {
  const text = value.kind === 'Constant' && typeof value.value === 'string'
  return text ? printer.expr(value) : `{${printer.expr(value)}}`
}
