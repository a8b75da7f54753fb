/**
 * arrayFold: the engine's fold requires accumulator and elements of one type, so each element is
 * wrapped in a struct that has both.
 */

import { mapExpr } from '../passes/walk.ts'
import type { LocalExpr, ResolvedExpr } from '../sql/ir.ts'
import { joinFragments, NULL_VALUE, sql } from '../sql/sql-fragments.ts'
import { convert, defaultOf } from '../types/convert.ts'
import { elementType, UNKNOWN, withNull } from '../types/types.ts'
import { refuseArguments } from './argument-errors.ts'
import type { Lowering, TypeRule } from './definition.ts'

/** `arrayFold((acc, x) -> …, xs, init)`: the type of `init`. */
export const foldType: TypeRule = ({ args }) => args.at(-1)?.type ?? UNKNOWN

export const fold: Lowering = (call, context) => {
  const [lambda, ...rest] = call.args
  const init = rest.at(-1) ?? NULL_VALUE
  const lists = rest.slice(0, -1)
  if (lambda?.kind !== 'lambda') return refuseArguments('arrayFold needs a lambda')
  const [accumulator] = lambda.locals
  const wrapped: LocalExpr = { kind: 'local', id: accumulator?.id ?? -96, type: UNKNOWN }
  const next: LocalExpr = { kind: 'local', id: lambda.locals[1]?.id ?? -95, type: UNKNOWN }
  const positions = new Map(lambda.locals.slice(1).map((local, index) => [local.id, index]))
  const body = mapExpr(lambda.body, {
    expr: (expr) => {
      if (expr.kind !== 'local') return expr
      if (expr.id === accumulator?.id)
        return { kind: 'item', of: wrapped, position: 1, type: call.type }
      const index = positions.get(expr.id)
      if (index === undefined) return expr
      return {
        kind: 'item',
        of: next,
        position: index + 2,
        type: elementType(lists[index]?.type ?? UNKNOWN),
      }
    },
  })
  const row: LocalExpr = { kind: 'local', id: -94, type: UNKNOWN }
  const zipped = joinFragments(
    ['list_zip(', ', ', ')'],
    [sql`range(len(${lists[0] ?? NULL_VALUE}))`(UNKNOWN), ...lists],
    UNKNOWN,
  )
  const start = convert(init, call.type, context)
  const items = lists.map(
    (list, index): ResolvedExpr => ({
      kind: 'item',
      of: row,
      position: index + 2,
      type: elementType(list.type),
    }),
  )
  const empty = lists.map(
    (list): ResolvedExpr => defaultOf(withNull(elementType(list.type), false)),
  )
  const rows = sql`list_transform(${zipped}, lambda ${row}: ${struct([start, ...items])})`(UNKNOWN)
  const kept_items = lists.map(
    (list, index): ResolvedExpr => ({
      kind: 'item',
      of: next,
      position: index + 2,
      type: elementType(list.type),
    }),
  )
  const step = struct([convert(body, call.type, context), ...kept_items])
  const whole =
    sql`list_reduce(list_prepend(${struct([start, ...empty])}, ${rows}), lambda ${wrapped}, ${next}: ${step})`(
      UNKNOWN,
    )
  return { kind: 'item', of: whole, position: 1, type: call.type }
}

function struct(items: readonly ResolvedExpr[]): ResolvedExpr {
  return { kind: 'tuple', items, type: UNKNOWN }
}
