/** TIME_WINDOWS: the time windows that contain an instant: tumble, hop, slots, bins. */

import type { CompileContext } from '../../context.ts'
import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { applyFragment, bindInt, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { asInstant, tupleOf } from '../../types/convert.ts'
import { arrayType, dateTimeType, type Type, tupleType } from '../../types/types.ts'
import { lowerSum } from '../aggregates/sums.ts'
import { type FunctionDef, type Lowering, scalar, type TypeRule } from '../definition.ts'
import { zoneOf } from './date-parts.ts'
import { instantLike, intervalType, startOfInterval } from './date-starts.ts'

/** The start of the window of a width. */
function startOf(call: Apply, width: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const [at = NULL_VALUE] = call.args
  return startOfInterval({ ...call, args: [at, width] }, context)
}

function shiftedTime(
  name: 'minus' | 'plus',
  at: ResolvedExpr,
  by: ResolvedExpr,
  context: CompileContext,
): ResolvedExpr {
  return lowerSum(applyFragment(name, [at, by], at.type), context)
}

const tumbleStart: Lowering = (call, context) => startOf(call, call.args[1] ?? NULL_VALUE, context)
const tumbleEnd: Lowering = (call, context) =>
  shiftedTime('plus', tumbleStart(call, context), call.args[1] ?? NULL_VALUE, context)

/** The first of the overlapping windows: it ends where the hop of the instant ends. */
const hopEnd: Lowering = (call, context) => {
  const [, step = NULL_VALUE] = call.args
  return shiftedTime('plus', startOf(call, step, context), step, context)
}
const hopStart: Lowering = (call, context) =>
  shiftedTime('minus', hopEnd(call, context), call.args[2] ?? NULL_VALUE, context)

const pair: TypeRule = (call) => tupleType([instantLike(call), instantLike(call)])

function startAndEnd(start: Lowering, end: Lowering): Lowering {
  return (call, context) => {
    const type: Type = call.type.kind === 'tuple' ? (call.type.items[0] ?? call.type) : call.type
    const one = { ...call, type }
    return tupleOf([start(one, context), end(one, context)], call.type)
  }
}

/** The starts of all slots that a duration overlaps. */
const slots: Lowering = (call, context) => {
  const [at = NULL_VALUE, duration = NULL_VALUE, size = bindInt(1800, true)] = call.args
  const moment = asInstant(at, context.timezone, context)
  return sql`ch_time_slots(${moment}, ${duration}, ${size})`(call.type)
}
const slotsType: TypeRule = ({ args, context }) =>
  arrayType(dateTimeType(zoneOf(args[0] ?? NULL_VALUE, context), 0))

/** `date_bin(width, at, origin)` is `toStartOfInterval` with its arguments in another order. */
const inOrder = ([width = NULL_VALUE, at = NULL_VALUE, origin = NULL_VALUE]: Apply['args']) =>
  [at, width, origin] as const
const bin: Lowering = (call, context) =>
  startOfInterval({ ...call, args: inOrder(call.args) }, context)
const binType: TypeRule = (call) => intervalType({ ...call, args: inOrder(call.args) })

/** Time window functions. Adding one means adding a line. */
export const TIME_WINDOWS: readonly FunctionDef[] = [
  scalar('tumbleStart', '2', instantLike, tumbleStart),
  scalar('tumbleEnd', '2', instantLike, tumbleEnd),
  scalar('tumble', '2', pair, startAndEnd(tumbleStart, tumbleEnd)),
  scalar('hopStart', '3', instantLike, hopStart),
  scalar('hopEnd', '3', instantLike, hopEnd),
  scalar('hop', '3', pair, startAndEnd(hopStart, hopEnd)),
  scalar('timeSlots', '2-3', slotsType, slots),
  scalar('date_bin', '3', binType, bin),
]
