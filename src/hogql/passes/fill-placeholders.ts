/**
 * Rewrite of the syntax tree: placeholders become the caller's values; without filters `{filters}`
 * is true.
 *
 *   event = {name} AND {filters}
 *   → event = 'signup' AND true
 */

import { Refusal } from '../../errors.ts'
import { BudgetExceeded, FULL_BUDGET } from '../budget.ts'
import type { CompileContext, PlaceholderValue } from '../context.ts'
import { suggestName } from '../resolve/refusals.ts'
import type { Constant, Expr, Placeholder, Select, SourceSpan } from '../syntax/ast.ts'
import { mapExpr } from '../syntax/walk.ts'

/**
 * Replaces every placeholder by a constant. Refuses names without a value, and more values than the
 * budget allows.
 */
export function fillPlaceholders(select: Select, context: CompileContext): Select {
  let values_left = (context.budget ?? FULL_BUDGET).work_max
  return mapExpr(select, (expr) => {
    if (expr.kind !== 'Placeholder') return expr
    const value = valueFor(expr, context)
    // One list may be the value of thousands of placeholders.
    values_left -= value.kind === 'Array' ? value.exprs.length : 1
    if (values_left < 0) throw new BudgetExceeded({ span: { start: expr.start, end: expr.end } })
    return value
  })
}

function valueFor(placeholder: Placeholder, context: CompileContext): Expr {
  const { expr } = placeholder
  const name = expr.kind === 'Field' ? expr.chain.join('.') : null
  const value = name === null ? undefined : context.values?.get(name)
  if (value !== undefined) return valueNode(value, placeholder)
  if (name === 'filters') return valueNode(true, placeholder)
  const span = { start: placeholder.start, end: placeholder.end }
  const hint = suggestName(name ?? '', context.values?.keys() ?? [])
  const detail = `Unresolved placeholder: {${name ?? '…'}}${hint}`
  throw new Refusal('invalid_input', detail, { attr: 'query', span })
}

function valueNode(value: PlaceholderValue, { start, end }: SourceSpan): Expr {
  if (isList(value)) {
    const exprs = value.map((item) => valueNode(item, { start, end }))
    return { kind: 'Array', exprs, start, end }
  }
  const constant: Constant = { kind: 'Constant', value: wholeNumber(value), start, end }
  return constant
}

function isList(value: PlaceholderValue): value is readonly PlaceholderValue[] {
  return Array.isArray(value)
}

/** JSON has one kind of number: integers become bigint. */
function wholeNumber(
  value: Exclude<PlaceholderValue, readonly PlaceholderValue[]>,
): Constant['value'] {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
}
