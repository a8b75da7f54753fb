/** The values WITH FILL looks for: from where, to where, in which steps. */

import type * as ast from '../ast.ts'
import type { OrderExpr } from '../ast-parts.ts'
import { call, constant, tuple } from '../nodes.ts'
import { isNumeric, isText, type Type } from '../types.ts'
import { refuse } from './refuse.ts'

/** How the missing values of a key are found, in HogQL over the values there are. */
export type Grid = {
  readonly descending: boolean
  /** The bounds as they are written, read as values of the key. */
  readonly from: ast.Expr | null
  readonly to: ast.Expr | null
  /** The first value there should be. */
  readonly first: (key: ast.Expr) => ast.Expr
  /** Where they end; no value itself. */
  readonly end: (key: ast.Expr) => ast.Expr
  /** A row for each step between two bounds, perhaps some beyond the end; the end itself only where it is asked for. */
  readonly values: (first: ast.Expr, end: ast.Expr, is_closed?: boolean) => ast.Expr
}

type Step = { readonly unit: string | null; readonly size: bigint | number }

/** Reads `WITH FILL FROM … TO … STEP …` of a key of some type. Refuses keys and steps that nothing can be counted by. */
export function gridOf(order: OrderExpr, type: Type): Grid {
  const { with_fill } = order
  const descending = order.order === 'DESC'
  const read = readerOf(type, order)
  const step = stepOf(order, type)
  if (step.size < 0 !== descending || Number(step.size) === 0) {
    throw refuse(`STEP must be ${descending ? 'negative' : 'positive'} here`, order)
  }
  const [least, most] = descending ? ['max', 'min'] : ['min', 'max']
  const written = (given: ast.Expr | null | undefined): ast.Expr | null =>
    given ? read(given) : null
  const from = written(with_fill?.from_value)
  const to = written(with_fill?.to_value)
  return {
    descending,
    from,
    to,
    first: (key) => from ?? call(least, [key]),
    end: (key) => to ?? call(most, [key]),
    values: (first, end, is_closed = false) => {
      const index: ast.Field = { kind: 'Field', chain: ['i'], start: 0, end: 0 }
      const offset = call('multiply', [index, constant(step.size)])
      const shift = step.unit === null ? offset : call(`toInterval${step.unit}`, [offset])
      const at: ast.Lambda = {
        kind: 'Lambda',
        args: ['i'],
        expr: call('plus', [first, shift]),
        start: 0,
        end: 0,
      }
      const steps = stepsBetween(first, end, step)
      const wanted = is_closed ? call('plus', [steps, constant(1n)]) : steps
      const count = call('greatest', [wanted, constant(0n)])
      return call('arrayJoin', [call('arrayMap', [at, call('range', [call('toInt64', [count])])])])
    },
  }
}

function stepsBetween(first: ast.Expr, end: ast.Expr, { unit, size }: Step): ast.Expr {
  const distance =
    unit === null
      ? call('minus', [end, first])
      : call('dateDiff', [constant(unit.toLowerCase()), first, end])
  const steps = call('ceil', [call('divide', [distance, constant(size)])])
  // A month that has begun counts as none.
  return unit === null ? steps : call('plus', [steps, constant(1n)])
}

const INTERVAL = /^toInterval(Second|Minute|Hour|Day|Week|Month|Quarter|Year)$/

function stepOf(order: OrderExpr, type: Type): Step {
  const written = order.with_fill?.step_value ?? null
  const numeric = type.kind === 'date' ? 'Day' : type.kind === 'datetime' ? 'Second' : null
  if (written === null) return { unit: numeric, size: order.order === 'DESC' ? -1n : 1n }
  const unit = written.kind === 'Call' ? INTERVAL.exec(written.name)?.[1] : undefined
  const size = sizeOf(unit !== undefined && written.kind === 'Call' ? written.args[0] : written)
  if (size === null || (unit !== undefined && (numeric === null || typeof size !== 'bigint'))) {
    throw refuse('STEP needs a number or an interval as a constant', written)
  }
  return { unit: unit ?? numeric, size }
}

function sizeOf(node: ast.Expr | undefined): bigint | number | null {
  const value = node?.kind === 'Constant' ? node.value : null
  return typeof value === 'bigint' || typeof value === 'number' ? value : null
}

function readerOf(type: Type, order: OrderExpr): (given: ast.Expr) => ast.Expr {
  if (type.kind === 'date') return (given) => call('toDate', [given])
  if (type.kind === 'datetime') return (given) => call('toDateTime', [given])
  if (isNumeric(type)) return (given) => given
  throw refuse('WITH FILL needs numbers, dates or times', order)
}

/** What a column of a row that was not there shows. */
export function defaultOf(type: Type): ast.Expr {
  if (type.nullable) return constant(null)
  if (isNumeric(type) || type.kind === 'truth') return constant(0n)
  if (isText(type)) return constant('')
  if (type.kind === 'bool') return constant(false)
  if (type.kind === 'date') return call('toDate', [constant('1970-01-01')])
  if (type.kind === 'datetime') return call('toDateTime', [constant(0n)])
  if (type.kind === 'array') return { kind: 'Array', exprs: [], start: 0, end: 0 }
  if (type.kind === 'tuple') return tuple(type.items.map(defaultOf))
  if (type.kind === 'map') return call('map', [])
  return constant(null)
}
