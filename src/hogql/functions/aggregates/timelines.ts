/**
 * TIMELINES: the functions that the printed HogQL of funnels and paths calls: one actor's events
 * packed into a sorted list, and the folds over it. A text may call them too, so every argument is
 * checked: types and constants here, the parameters and numbers of a fold by the fold itself.
 */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import {
  aggregateFragment,
  bindInt,
  constantInt,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { asCondition } from '../../types/convert.ts'
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
} from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import { type FunctionDef, type Lowering, nonNull, scalar, type TypeRule } from '../definition.ts'
import { filterAggregate } from './aggregate-helpers.ts'
import { aggregateLine } from './aggregate-line.ts'

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
  const sorted = sql`list_sort(coalesce(${gatherEvents(call, packed)}, []))`(UNKNOWN)
  return is_wide ? sql`(${sorted})::HUGEINT[]`(call.type) : sql`(${sorted})::DOUBLE[]`(call.type)
}

/**
 * `actor_values(origin_us, is_wide)(at, value, has value, bit 0, …)`: the texts of the events that
 * have one, in the same order.
 */
const timelineValues: Lowering = (call) => {
  const [at = NULL_VALUE, value = NULL_VALUE, has_value = NULL_VALUE, ...conditions] = call.args
  const { packed } = packedEvent(call, at, conditions)
  const text = sql`coalesce((${value})::VARCHAR, '')`(STRING)
  const pair = sql`{'1': ${packed}, '2': ${text}}`(UNKNOWN)
  const remaining = filterAggregate(call, sql`coalesce(${asCondition(has_value)}, false)`(TRUTH))
  const sorted = sql`list_sort(coalesce(${gatherEvents(remaining, pair)}, []))`(UNKNOWN)
  return sql`list_transform(${sorted}, lambda e: e."2")`(call.type)
}

/** The packed events of the rows that have a time. */
function gatherEvents(call: Apply, item: ResolvedExpr): ResolvedExpr {
  const [at = NULL_VALUE] = call.args
  const timed = at.type.nullable ? filterAggregate(call, sql`(${at} IS NOT NULL)`(TRUTH)) : call
  return aggregateFragment('list', [item], UNKNOWN, timed.aggregate ?? {})
}

function packedEvent(call: Apply, at: ResolvedExpr, conditions: readonly ResolvedExpr[]) {
  const bits = conditions.map((one, index) =>
    sql`(CASE WHEN ${asCondition(one)} THEN ${bindInt(2n ** BigInt(index), true)} ELSE 0 END)`(
      INT64,
    ),
  )
  const marks = joinFragments(['(', ' + ', ')'], bits, INT64)
  const { is_wide } = timelineParams(call.name, call.params)
  const after_us = timeAfterOrigin(call, at, is_wide)
  const scale = bindInt(2n ** BigInt(conditions.length), true)
  return { packed: sql`(${after_us} * ${scale} + ${marks})`(INT64), is_wide }
}

/** An origin beyond this is no time that an event can have. */
const ORIGIN_MAX_US = 2n ** 62n

/** The parameters of a timeline: constants, because the type of the list depends on them. */
function timelineParams(name: string, params: readonly ResolvedExpr[]) {
  const [origin_us, width] = params.map(constantInt)
  if (origin_us === undefined || origin_us === null || origin_us < 0n || origin_us > ORIGIN_MAX_US)
    return refuseArguments(`'${name}' takes its origin in microseconds as a constant`)
  if (width !== undefined && width !== 0n && width !== 1n)
    return refuseArguments(`The second parameter of '${name}' is 0, or 1 for numbers of 128 bits`)
  return { origin_us, is_wide: width === 1n }
}

function timeAfterOrigin(call: Apply, at: ResolvedExpr, is_wide: boolean): ResolvedExpr {
  const { origin_us } = timelineParams(call.name, call.params)
  const after = sql`(epoch_us(${at}) - ${bindInt(origin_us, true)})`(INT64)
  return is_wide ? sql`(${after})::HUGEINT`(WIDE) : after
}

/** `path_timeline(origin_us)(at, code)`. */
const pathTimeline: Lowering = (call) => {
  const [at = NULL_VALUE, code = NULL_VALUE] = call.args
  const after_us = timeAfterOrigin(call, at, true)
  const packed = sql`(${after_us} * ${bindInt(2n ** BigInt(CODE_BITS), true)} + ${code})`(WIDE)
  return sql`list_sort(coalesce(${gatherEvents(call, packed)}, []))`(call.type)
}

const pathSteps: Lowering = (call) => {
  const [packed = NULL_VALUE] = call.args
  const spec = foldParameters(call)
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

/** The last argument of a fold: one constant, since it is parsed once for all rows. */
function foldParameters(call: Apply): ResolvedExpr {
  const spec = call.args.at(-1)
  if (spec !== undefined && constantText(spec) !== null) return spec
  return refuseArguments(`The last argument of '${call.name}' must be a constant text`)
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

function lowerFold(fold: keyof typeof FOLDS): Lowering {
  return (call) => {
    const [list = NULL_VALUE] = call.args
    return FOLDS[fold](list, foldParameters(call))(call.type)
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
    const [list = NULL_VALUE, values = NULL_VALUE] = call.args
    return VALUE_FOLDS[fold](list, values, foldParameters(call))(call.type)
  }
}

/** Wide lists are 128-bit integers: `is_wide` is the second parameter. */
const timelineType: TypeRule = (call) => {
  requireTime(call)
  return arrayType(timelineParams(call.name, call.params).is_wide ? WIDE : FLOAT64)
}

const valuesType: TypeRule = (call) => {
  requireTime(call)
  timelineParams(call.name, call.params)
  return arrayType(STRING)
}

const pathTimelineType: TypeRule = (call) => {
  requireTime(call)
  timelineParams(call.name, call.params)
  const [, code] = call.args
  if (code?.type.kind !== 'int')
    return refuseArguments(`'${call.name}' takes a time and a whole number`)
  return arrayType(WIDE)
}

function requireTime({ name, args }: Parameters<TypeRule>[0]): void {
  if (args[0]?.type.kind === 'datetime') return
  refuseArguments(`The first argument of '${name}' must be a time`)
}

type ListCheck = (of: Type) => boolean
const isExact: ListCheck = (of) => of.kind === 'float' || isLong(of)
const isLong: ListCheck = (of) => of.kind === 'int' && of.bits === 128
const isFloat: ListCheck = (of) => of.kind === 'float'
const isString: ListCheck = (of) => of.kind === 'string'

/** The type of a call whose first arguments are lists, as the functions above make them. */
function overLists(type: Type, checks: readonly ListCheck[]): TypeRule {
  return ({ name, args }) => {
    const is_right = checks.every((check, index) => {
      const given = args[index]?.type
      return given?.kind === 'array' && check(given.of)
    })
    return is_right ? type : refuseArguments(`'${name}' takes ${SOURCES[name] ?? 'lists'}`)
  }
}

/** The source of each function's lists, as refusals name it. */
const SOURCES: Readonly<Record<string, string>> = {
  funnel_steps: 'a list made by actor_timeline',
  funnel_entrances: 'a list made by actor_timeline',
  funnel_steps_by_value: 'lists made by actor_timeline and actor_values',
  funnel_entrances_by_value: 'lists made by actor_timeline and actor_values',
  path_steps: 'a list made by path_timeline',
  triples_of: 'a list of numbers',
}

const BY_VALUE = arrayType(tupleType([STRING, NUMBERS]))
const TRIPLES = arrayType(tupleType([FLOAT64, FLOAT64, FLOAT64]))
const TWO = { params: '2' }
const WITH_VALUES = [isExact, isString]

/** Adding a function means adding a line. */
export const TIMELINES: readonly FunctionDef[] = [
  aggregateLine(['actor_timeline', '2-62'], timelineType, timeline, TWO),
  aggregateLine(['actor_values', '4-64'], valuesType, timelineValues, TWO),
  aggregateLine(['path_timeline', '2'], pathTimelineType, pathTimeline, { params: '1' }),
  scalar('funnel_steps', '2', overLists(NUMBERS, [isExact]), lowerFold('steps')),
  scalar('funnel_entrances', '2', overLists(NUMBERS, [isExact]), lowerFold('entrances')),
  scalar('funnel_steps_by_value', '3', overLists(BY_VALUE, WITH_VALUES), foldedByValue('steps')),
  scalar(
    'funnel_entrances_by_value',
    '3',
    overLists(BY_VALUE, WITH_VALUES),
    foldedByValue('entrances'),
  ),
  scalar('path_steps', '2', overLists(NUMBERS, [isLong]), pathSteps),
  scalar('triples_of', '1', overLists(TRIPLES, [isFloat]), triples),
  scalar('path_item', '1', nonNull(INT64), itemNumber),
]
