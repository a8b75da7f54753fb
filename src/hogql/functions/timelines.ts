/**
 * TIMELINES: internal functions of insights: one actor's events packed into a sorted list, and the
 * folds over it.
 */

import { asCondition } from '../convert.ts'
import type { Apply, ResolvedExpr } from '../ir.ts'
import {
  aggregateFragment,
  bindInt,
  constantInt,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../sql-fragments.ts'
import {
  arrayType,
  FLOAT64,
  INT64,
  intType,
  STRING,
  TRUTH,
  type Type,
  tupleType,
  UNKNOWN,
} from '../types.ts'
import { filterAggregate } from './aggregate-helpers.ts'
import { aggregateLine } from './aggregate-line.ts'
import { type FunctionDef, type Lowering, nonNull, scalar, type TypeRule } from './definition.ts'

const NUMBERS = arrayType(FLOAT64)
const WIDE = intType(128, true)
/** Bits below the time for a path's item and marks: the bits of an exact double. */
const CODE_BITS = 53
/** Bits of an item's hash; two remain for its marks. */
const ITEM_BITS = 51

/**
 * `actor_timeline(origin_us, is_wide)(at, bit 0, bit 1, …)`: microseconds after the origin, with
 * the bits below.
 */
const timeline: Lowering = (call) => {
  const [at = NULL_VALUE, ...conditions] = call.args
  const { packed, is_wide } = packedEvent(call, at, conditions)
  const sorted = sql`list_sort(coalesce(${gathered(call, packed)}, []))`(UNKNOWN)
  return is_wide ? sql`(${sorted})::HUGEINT[]`(call.type) : sql`(${sorted})::DOUBLE[]`(call.type)
}

/**
 * `actor_values(origin_us, is_wide)(at, value, has value, bit 0, …)`: the texts of the events that
 * have one, in the same order.
 */
const timelineValues: Lowering = (call) => {
  const [at = NULL_VALUE, value = NULL_VALUE, has_value = NULL_VALUE, ...conditions] = call.args
  const { packed } = packedEvent(call, at, conditions)
  const pair = sql`{'1': ${packed}, '2': ${value}}`(UNKNOWN)
  const remaining = filterAggregate(call, sql`coalesce(${asCondition(has_value)}, false)`(TRUTH))
  const sorted = sql`list_sort(coalesce(${gathered(remaining, pair)}, []))`(UNKNOWN)
  return sql`list_transform(${sorted}, lambda e: (e."2")::VARCHAR)`(call.type)
}

const gathered = (call: Apply, item: ResolvedExpr): ResolvedExpr =>
  aggregateFragment('list', [item], UNKNOWN, call.aggregate ?? {})

function packedEvent(call: Apply, at: ResolvedExpr, conditions: readonly ResolvedExpr[]) {
  const bits = conditions.map((one, index) =>
    sql`(CASE WHEN ${asCondition(one)} THEN ${bindInt(2n ** BigInt(index), true)} ELSE 0 END)`(
      INT64,
    ),
  )
  const marks = joinFragments(['(', ' + ', ')'], bits, INT64)
  const { after_us, is_wide } = timeOf(call, at)
  const scale = bindInt(2n ** BigInt(conditions.length), true)
  return { packed: sql`(${after_us} * ${scale} + ${marks})`(INT64), is_wide }
}

function timeOf(call: Apply, at: ResolvedExpr) {
  const [origin = NULL_VALUE, width] = call.params
  const is_wide = constantInt(width) === 1n
  const after = sql`(epoch_us(${at}) - ${bindInt(constantInt(origin) ?? 0n, true)})`(INT64)
  return { after_us: is_wide ? sql`(${after})::HUGEINT`(WIDE) : after, is_wide }
}

/** `path_timeline(origin_us, 1)(at, code)`. */
const pathTimeline: Lowering = (call) => {
  const [at = NULL_VALUE, code = NULL_VALUE] = call.args
  const { after_us } = timeOf(call, at)
  const packed = sql`(${after_us} * ${bindInt(2n ** BigInt(CODE_BITS), true)} + ${code})`(WIDE)
  return sql`list_sort(coalesce(${gathered(call, packed)}, []))`(call.type)
}

const pathSteps: Lowering = (call) => {
  const [packed = NULL_VALUE, spec = NULL_VALUE] = call.args
  const mask = bindInt(2n ** BigInt(CODE_BITS) - 1n, true)
  const at =
    sql`list_transform(${packed}, lambda e: (e >> ${bindInt(CODE_BITS)}::INTEGER)::DOUBLE)`(NUMBERS)
  const codes = sql`list_transform(${packed}, lambda e: (e & ${mask}::HUGEINT)::DOUBLE)`(NUMBERS)
  return sql`js_path_steps(${spec}, ${at}, ${codes})`(call.type)
}

/** A 51-bit hash of a text, never 0. Among a million texts the probability of any collision is 1 in 4,000. */
const itemNumber: Lowering = (call) => {
  const [text = NULL_VALUE] = call.args
  const bits = bindInt(BigInt(64 - ITEM_BITS))
  return sql`greatest((hash(${text}) >> ${bits}::UBIGINT)::BIGINT, 1)`(call.type)
}

/** A list of numbers in groups of three. */
const triples: Lowering = (call) => {
  const [list = NULL_VALUE] = call.args
  return sql`list_transform(range(1, len(${list}), 3), lambda i: {'1': (${list})[i], '2': (${list})[i + 1], '3': (${list})[i + 2]})`(
    call.type,
  )
}

const isWide = (type: Type): boolean => type.kind === 'array' && type.of.kind === 'int'

/** The registered scalars of the folds, one per list size. */
const FOLDS = {
  steps: (list: ResolvedExpr, spec: ResolvedExpr) =>
    isWide(list.type)
      ? sql`js_funnel_steps_wide(${spec}, ${list})`
      : sql`js_funnel_steps(${spec}, ${list})`,
  entrances: (list: ResolvedExpr, spec: ResolvedExpr) =>
    isWide(list.type)
      ? sql`js_funnel_entrances_wide(${spec}, ${list})`
      : sql`js_funnel_entrances(${spec}, ${list})`,
} as const

function folded(fold: keyof typeof FOLDS): Lowering {
  return (call) => {
    const [list = NULL_VALUE, spec = NULL_VALUE] = call.args
    return FOLDS[fold](list, spec)(call.type)
  }
}

/** The same with values of events, per value. */
const VALUE_FOLDS = {
  steps: (list: ResolvedExpr, values: ResolvedExpr, spec: ResolvedExpr) =>
    isWide(list.type)
      ? sql`js_funnel_steps_by_value_wide(${spec}, ${list}, ${values})`
      : sql`js_funnel_steps_by_value(${spec}, ${list}, ${values})`,
  entrances: (list: ResolvedExpr, values: ResolvedExpr, spec: ResolvedExpr) =>
    isWide(list.type)
      ? sql`js_funnel_entrances_by_value_wide(${spec}, ${list}, ${values})`
      : sql`js_funnel_entrances_by_value(${spec}, ${list}, ${values})`,
} as const

function foldedByValue(fold: keyof typeof VALUE_FOLDS): Lowering {
  return (call) => {
    const [list = NULL_VALUE, values = NULL_VALUE, spec = NULL_VALUE] = call.args
    return VALUE_FOLDS[fold](list, values, spec)(call.type)
  }
}

/** Wide lists are 128-bit integers: `is_wide` is the second parameter. */
const timelineType: TypeRule = ({ params }) =>
  arrayType(constantInt(params[1]) === 1n ? WIDE : FLOAT64)

const BY_VALUE = arrayType(tupleType([STRING, NUMBERS]))
const TRIPLES = arrayType(tupleType([FLOAT64, FLOAT64, FLOAT64]))
const PARAMS = { params: '2' }

const LINES: readonly FunctionDef[] = [
  aggregateLine(['actor_timeline', '2-62'], timelineType, timeline, PARAMS),
  aggregateLine(['actor_values', '4-64'], nonNull(arrayType(STRING)), timelineValues, PARAMS),
  aggregateLine(['path_timeline', '2'], nonNull(arrayType(WIDE)), pathTimeline, PARAMS),
  scalar('funnel_steps', '2', nonNull(NUMBERS), folded('steps')),
  scalar('funnel_entrances', '2', nonNull(NUMBERS), folded('entrances')),
  scalar('funnel_steps_by_value', '3', nonNull(BY_VALUE), foldedByValue('steps')),
  scalar('funnel_entrances_by_value', '3', nonNull(BY_VALUE), foldedByValue('entrances')),
  scalar('path_steps', '2', nonNull(NUMBERS), pathSteps),
  scalar('triples_of', '1', nonNull(TRIPLES), triples),
  scalar('path_item', '1', nonNull(INT64), itemNumber),
]

/** Not callable from texts: their arguments are made by trees of this program. */
export const TIMELINES: readonly FunctionDef[] = LINES.map((line) => ({
  ...line,
  is_internal: true,
}))
