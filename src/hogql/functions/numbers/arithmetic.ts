/** ARITHMETIC: the four operators over numbers, dates, intervals and tuples, and the functions of mathematics. */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { sql } from '../../sql/sql-fragments.ts'
import { asFloat } from '../../types/convert.ts'
import { widerInteger } from '../../types/type-unify.ts'
import {
  FLOAT64,
  INT64,
  type IntBits,
  intType,
  isBoolean,
  isNumeric,
  isText,
  TRUTH,
  type Type,
  UINT8,
  UINT64,
  withNull,
} from '../../types/types.ts'
import { addTypes, lowerSum } from '../aggregates/sums.ts'
import {
  asDeclared,
  type FunctionDef,
  isNullable,
  type Lowering,
  nonNull,
  printedAs,
  sameAsAll,
  scalar,
  type TypedCall,
  type TypeRule,
  typeOf,
} from '../definition.ts'

/** Booleans as 0 and 1, text as the number it contains. */
export function asNumber(expr: ResolvedExpr): ResolvedExpr {
  const { type } = expr
  if (isNumeric(type)) return expr
  if (isBoolean(type)) return sql`(${expr})::BIGINT`(withNull(UINT8, type.nullable))
  if (isText(type)) return asFloat(expr)
  return expr
}

/** Converts the arguments to numbers before lowering. */
export function onNumbers(lower: Lowering): Lowering {
  return (call, context) => lower({ ...call, args: call.args.map(asNumber) }, context)
}

const product: TypeRule = ({ args }) => {
  const [left, right] = [numberType(args[0]), numberType(args[1])]
  const nullable = args.some(isNullable)
  if (left.kind === 'int' && right.kind === 'int') {
    const widest = left.bits > right.bits ? left.bits : right.bits
    return withNull(widerInteger(widest, left.signed || right.signed), nullable)
  }
  if (left.kind === 'decimal' && right.kind === 'decimal') return withNull(left, nullable)
  return withNull(FLOAT64, nullable)
}

/** The numeric type of an operand. */
export function numberType(expr: ResolvedExpr | undefined): Type {
  const type = typeOf(expr)
  if (isBoolean(type)) return withNull(UINT8, type.nullable)
  if (isText(type)) return withNull(FLOAT64)
  return type
}

/** Whether a divisor is a nonzero constant; any other may be zero, and the result NULL. */
function divides(divisor: ResolvedExpr | undefined): boolean {
  return divisor?.kind === 'value' && divisor.value !== null && Number(divisor.value) !== 0
}

const quotient: TypeRule = ({ args }) => {
  const type = numberType(args[0])
  const nullable = args.some(isNullable) || !divides(args[1])
  if (type.kind !== 'int') return withNull(INT64, nullable)
  const divisor = numberType(args[1])
  const signed = type.signed || (divisor.kind === 'int' && divisor.signed)
  return withNull(intType(type.bits, signed), nullable)
}

const quotientOrZero: TypeRule = (call) => withNull(quotient(call), call.args.some(isNullable))

/** Division of integers, whose digits beyond 2^53 a DOUBLE would lose, and of other numbers. */
function divideWhole(integers: string, numbers: string): Lowering {
  const [ofIntegers, ofNumbers] = [printedAs(integers), printedAs(numbers)]
  return (call, context) =>
    call.args.every(({ type }) => type.kind === 'int')
      ? ofIntegers(call, context)
      : ofNumbers(call, context)
}

/** One size wider than the wider argument. */
const commonDivisor: TypeRule = (call) => {
  const types = call.args.map(numberType)
  const bits = Math.max(...types.map((type) => (type.kind === 'int' ? type.bits : 64)))
  const signed = types.some((type) => type.kind === 'int' && type.signed)
  return withNull(widerInteger(bits as IntBits, signed), call.args.some(isNullable))
}

const remainder: TypeRule = ({ args }) => {
  const [left, right] = [numberType(args[0]), numberType(args[1])]
  const nullable = args.some(isNullable) || !divides(args[1])
  if (left.kind !== 'int' || right.kind !== 'int') return withNull(FLOAT64, nullable)
  const type =
    left.signed && !right.signed ? widerInteger(right.bits, true) : intType(right.bits, left.signed)
  return withNull(type, nullable)
}

const positiveRemainder: TypeRule = (call) => {
  const type = remainder(call)
  const right = numberType(call.args[1])
  return type.kind === 'int' && right.kind === 'int'
    ? { ...intType(right.bits, false), nullable: type.nullable }
    : type
}

/** The type of the argument; for text, of its number. */
export const sameNumber: TypeRule = (call) =>
  withNull(numberType(call.args[0]), call.args.some(isNullable))

const unsignedType: TypeRule = (call) => {
  const type = sameNumber(call)
  return type.kind === 'int' ? { ...type, signed: false } : type
}

function float(call: TypedCall): Type {
  return withNull(FLOAT64, call.args.some(isNullable))
}

function floatFunction(names: string, arity: string, text: string): FunctionDef {
  return scalar(names, arity, float, onNumbers(printedAs(text)))
}

const negate: Lowering = (call, context) => {
  const [value] = call.args
  if (value?.type.kind === 'tuple') return lowerSum({ ...call, name: 'tupleNegate' }, context)
  return sql`(-${value ?? sql`0`(INT64)})`(call.type)
}

const negatedType: TypeRule = ({ args }) => {
  const type = numberType(args[0])
  if (type.kind !== 'int') return type
  return type.signed ? type : withNull(widerInteger(type.bits, true), type.nullable)
}

export const argument = (call: Apply, index: number): ResolvedExpr =>
  call.args[index] ?? sql`NULL`(call.type)

const extreme =
  (build: (left: ResolvedExpr, right: ResolvedExpr) => ResolvedExpr): Lowering =>
  (call) => {
    const [left, right] = [argument(call, 0), argument(call, 1)]
    if (!isNullable(left) && !isNullable(right)) return build(left, right)
    // ClickHouse returns NULL for any NULL; the engine's greatest and least skip it.
    return sql`CASE WHEN ${left} IS NULL OR ${right} IS NULL THEN NULL ELSE ${build(left, right)} END`(
      call.type,
    )
  }

/**
 * Numeric functions. Adding one means adding a line. The macros `ch_ln`, `ch_sqrt`, … give NaN or infinity outside of the
 * function's domain, where the engine fails.
 */
export const ARITHMETIC: readonly FunctionDef[] = [
  scalar('plus', '2', addTypes, lowerSum),
  scalar('minus', '2', addTypes, lowerSum),
  scalar('multiply', '2', product, onNumbers(lowerSum)),
  scalar('divide', '2', float, onNumbers(printedAs('ch_divide($1, $2)'))),
  scalar(
    'intDiv',
    '2',
    quotient,
    onNumbers(divideWhole('trunc($1 // nullif($2, 0))', 'ch_intdiv($1, $2)')),
  ),
  scalar(
    'intDivOrZero',
    '2',
    quotientOrZero,
    divideWhole('CASE WHEN $2 = 0 THEN 0 ELSE trunc($1 // $2) END', 'ch_intdivorzero($1, $2)'),
  ),
  scalar('modulo|mod', '2', remainder, onNumbers(printedAs('($1 % $2)'))),
  scalar(
    'moduloOrZero',
    '2',
    (call) => withNull(remainder(call), call.args.some(isNullable)),
    'coalesce(($1 % nullif($2, 0)), 0)',
  ),
  scalar('positiveModulo|pmod', '2', positiveRemainder, '((($1 % $2) + abs($2)) % abs($2))'),
  scalar('negate', '1', negatedType, onNumbers(negate)),
  scalar('~abs', '1', unsignedType, onNumbers(printedAs('abs($1)'))),
  scalar('gcd', '2', commonDivisor, 'gcd($1, $2)::BIGINT'),
  scalar('lcm', '2', commonDivisor, 'lcm($1, $2)::BIGINT'),
  scalar(
    '~max2',
    '2',
    asDeclared(FLOAT64),
    onNumbers(extreme((a, b) => sql`greatest((${a})::DOUBLE, (${b})::DOUBLE)`(FLOAT64))),
  ),
  scalar(
    '~min2',
    '2',
    asDeclared(FLOAT64),
    onNumbers(extreme((a, b) => sql`least((${a})::DOUBLE, (${b})::DOUBLE)`(FLOAT64))),
  ),
  scalar('factorial', '1', asDeclared(UINT64), 'ch_factorial($1)'),
  scalar('isFinite', '1', asDeclared(TRUTH), 'isfinite(($1)::DOUBLE)'),
  scalar('isInfinite', '1', asDeclared(TRUTH), 'isinf(($1)::DOUBLE)'),
  scalar('isNaN', '1', asDeclared(TRUTH), 'isnan(($1)::DOUBLE)'),
  scalar('ifNotFinite', '2', sameAsAll, 'CASE WHEN isfinite(($1)::DOUBLE) THEN $1 ELSE $2 END'),
  scalar('e', '0', nonNull(FLOAT64), 'exp(1.0::DOUBLE)'),
  scalar('~pi', '0', nonNull(FLOAT64), 'pi()'),
  floatFunction('~exp', '1', 'exp(($1)::DOUBLE)'),
  floatFunction('~log', '1', 'ch_ln(($1)::DOUBLE)'),
  floatFunction('~ln', '1', 'ch_ln(($1)::DOUBLE)'),
  floatFunction('~exp2', '1', 'pow(2, $1)'),
  floatFunction('~log2', '1', 'ch_log2(($1)::DOUBLE)'),
  floatFunction('~exp10', '1', 'pow(10, $1)'),
  floatFunction('~log10', '1', 'ch_log10(($1)::DOUBLE)'),
  floatFunction('~sqrt', '1', 'ch_sqrt(($1)::DOUBLE)'),
  floatFunction('~cbrt', '1', 'ch_cbrt($1)'),
  floatFunction('lgamma', '1', 'ch_lgamma(($1)::DOUBLE)'),
  floatFunction('tgamma', '1', 'ch_gamma(($1)::DOUBLE)'),
  floatFunction('~sin', '1', 'sin(ch_angle(($1)::DOUBLE))'),
  floatFunction('~cos', '1', 'cos(ch_angle(($1)::DOUBLE))'),
  floatFunction('~tan', '1', 'tan(ch_angle(($1)::DOUBLE))'),
  floatFunction('~asin', '1', 'ch_asin(($1)::DOUBLE)'),
  floatFunction('~acos', '1', 'ch_acos(($1)::DOUBLE)'),
  floatFunction('~atan', '1', 'atan($1)'),
  floatFunction('~pow|power', '2', 'pow(($1)::DOUBLE, $2)'),
  scalar('intExp2', '1', asDeclared(UINT64), 'ch_int_exp2($1)'),
  scalar('intExp10', '1', asDeclared(UINT64), 'ch_int_exp10($1)'),
  floatFunction('cosh', '1', 'cosh($1)'),
  floatFunction('acosh', '1', 'ch_acosh(($1)::DOUBLE)'),
  floatFunction('sinh', '1', 'sinh($1)'),
  floatFunction('asinh', '1', 'asinh($1)'),
  floatFunction('atanh', '1', 'ch_atanh(($1)::DOUBLE)'),
  floatFunction('atan2', '2', 'atan2($1, $2)'),
  floatFunction('hypot', '2', 'ch_hypot(($1)::DOUBLE, ($2)::DOUBLE)'),
  floatFunction('log1p', '1', 'ch_log1p(($1)::DOUBLE)'),
  scalar('~sign', '1', asDeclared(intType(8, true)), onNumbers(printedAs('sign($1)::BIGINT'))),
  floatFunction('~degrees', '1', 'degrees($1)'),
  floatFunction('~radians', '1', 'radians($1)'),
  scalar(
    'width_bucket|widthBucket',
    '4',
    asDeclared(intType(16, false)),
    'ch_width_bucket($1, $2, $3, $4)',
  ),
]
