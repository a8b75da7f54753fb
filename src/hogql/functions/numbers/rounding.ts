/**
 * ROUNDING: rounding to digits after or before the point, in each number type's arithmetic, as in
 * ClickHouse.
 */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { bindInt, constantInt, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { FLOAT64, INT64, intType, type Type, UINT8 } from '../../types/types.ts'
import { asDeclared, type FunctionDef, type Lowering, sameAsFirst, scalar } from '../definition.ts'
import { onNumbers, sameNumber } from './arithmetic.ts'

/** One rounding mode: of a float to an integer, and of an integer to multiples of a power of ten. */
type Rounding = {
  readonly float: (value: ResolvedExpr) => ResolvedExpr
  readonly multiple: (value: ResolvedExpr, step: ResolvedExpr) => ResolvedExpr
}

/** Floats round half to even, integers and decimals half away from zero. */
const ROUND: Rounding = {
  float: (value) => sql`round_even((${value})::DOUBLE, 0)`(FLOAT64),
  multiple: (value, step) => sql`ch_round_multiple(${value}, ${step})`(INT64),
}
const ROUND_EVEN: Rounding = {
  float: ROUND.float,
  multiple: (value, step) => sql`ch_round_multiple_even(${value}, ${step})`(INT64),
}
const FLOOR: Rounding = {
  float: (value) => sql`floor((${value})::DOUBLE)`(FLOAT64),
  multiple: (value, step) => sql`ch_floor_multiple(${value}, ${step})`(INT64),
}
const CEIL: Rounding = {
  float: (value) => sql`ceil((${value})::DOUBLE)`(FLOAT64),
  multiple: (value, step) => sql`(-ch_floor_multiple(-(${value})::HUGEINT, ${step}))`(INT64),
}
const TRUNC: Rounding = {
  float: (value) => sql`trunc((${value})::DOUBLE)`(FLOAT64),
  multiple: (value, step) => sql`ch_trunc_multiple(${value}, ${step})`(INT64),
}

/** The maximum digits of the engine's integers; more digits change nothing. */
const DIGITS_MAX = 38

/** `f(x)` or `f(x, digits)`; negative digits round before the point. */
function lowerRounding(how: Rounding): Lowering {
  return (call) => {
    const [value = NULL_VALUE, digits = bindInt(0)] = call.args
    if (value.type.kind === 'decimal') return roundedDecimal(how, call)
    const known = constantInt(digits)
    const round = value.type.kind === 'int' ? roundedInt : roundedFloat
    if (known !== null) return { ...round(how, value, known), type: call.type }
    const after = round(how, value, digits)
    const before = round(how, value, sql`(-(${digits}))`(INT64), true)
    return sql`CASE WHEN ${digits} >= 0 THEN ${after} ELSE ${before} END`(call.type)
  }
}

/** Digits as a constant, or known per row only. */
type Digits = ResolvedExpr | bigint

const isKnown = (digits: Digits): digits is bigint => typeof digits === 'bigint'

function roundedFloat(
  how: Rounding,
  value: ResolvedExpr,
  digits: Digits,
  is_before = isKnown(digits) && digits < 0n,
): ResolvedExpr {
  if (digits === 0n) return how.float(value)
  const scale = sql`pow(10, ${isKnown(digits) ? bindInt(distance(digits), true) : digits})`(FLOAT64)
  if (is_before) return sql`(${how.float(sql`(${value}) / ${scale}`(FLOAT64))} * ${scale})`(FLOAT64)
  return sql`(${how.float(sql`(${value})::DOUBLE * ${scale}`(FLOAT64))} / ${scale})`(FLOAT64)
}

/** Rounding an integer to digits after the point changes nothing. */
function roundedInt(
  how: Rounding,
  value: ResolvedExpr,
  digits: Digits,
  is_before = isKnown(digits) && digits < 0n,
): ResolvedExpr {
  if (!is_before) return value
  const step = isKnown(digits)
    ? bindInt(10n ** distance(digits), true)
    : sql`least(${digits}, ${bindInt(DIGITS_MAX, true)})`(INT64)
  const power = isKnown(digits) ? step : sql`pow(10, ${step})`(FLOAT64)
  return sql`(${how.multiple(value, power)})::BIGINT`(INT64)
}

function distance(digits: bigint): bigint {
  const size = digits < 0n ? -digits : digits
  return size < DIGITS_MAX ? size : BigInt(DIGITS_MAX)
}

/** A decimal is rounded as an integer of its last digit; the digits must be constant, as in ClickHouse. */
function roundedDecimal(how: Rounding, call: Apply): ResolvedExpr {
  const [value = NULL_VALUE, digits = bindInt(0)] = call.args
  const { type } = value
  const known = constantInt(digits)
  if (type.kind !== 'decimal') return value
  const lost = known === null ? type.scale : type.scale - Number(known)
  if (lost <= 0) return value
  const whole = decimalUnits(value, type.scale)
  const step = bindInt(10n ** BigInt(Math.min(lost, DIGITS_MAX)), true)
  return decimalOf(how.multiple(whole, step), type)
}

/** A decimal as an integer count of its last digit. */
function decimalUnits(value: ResolvedExpr, scale: number): ResolvedExpr {
  return sql`(${value} * ${bindInt(10n ** BigInt(scale), true)})::HUGEINT`(INT64)
}

/** The engine requires a decimal's width and unit in the SQL text. */
function decimalOf(units: ResolvedExpr, type: Type & { kind: 'decimal' }): ResolvedExpr {
  const unit = type.scale === 0 ? '1' : `0.${'1'.padStart(type.scale, '0')}`
  const width = `DECIMAL(${type.precision}, ${type.scale})`
  return joinFragments(['((', '', `)::DECIMAL(19, 0) * ${unit})::${width}`], [units], type)
}

/** Rounding functions. Adding one means adding a line. */
export const ROUNDING: readonly FunctionDef[] = [
  scalar('~floor', '1-2', sameNumber, onNumbers(lowerRounding(FLOOR))),
  scalar('~ceil|ceiling', '1-2', sameNumber, onNumbers(lowerRounding(CEIL))),
  scalar('~trunc|truncate', '1-2', sameNumber, onNumbers(lowerRounding(TRUNC))),
  scalar('~round', '1-2', sameNumber, onNumbers(lowerRounding(ROUND))),
  scalar('roundBankers', '1-2', sameNumber, onNumbers(lowerRounding(ROUND_EVEN))),
  scalar('roundToExp2', '1', sameNumber, 'ch_round_to_exp2($1)'),
  scalar(
    'roundDuration',
    '1',
    asDeclared(intType(16, false)),
    'ch_round_down($1, [1,10,30,60,120,180,240,300,600,1200,1800,3600,7200,18000,36000])::BIGINT',
  ),
  scalar('roundAge', '1', asDeclared(UINT8), 'ch_round_age($1)'),
  scalar('roundDown', '2', sameAsFirst, 'ch_round_down($1, $2)'),
]
