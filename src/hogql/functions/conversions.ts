/** Conversions between types, by ClickHouse's rules: NULL or a default where a text does not hold the value. */

import type { CompileContext } from '../context.ts'
import type { Apply, ResolvedExpr } from '../sql/ir.ts'
import {
  bind,
  bindInt,
  bindText,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../sql/sql-fragments.ts'
import {
  asBool,
  asDate,
  asFloat,
  asInstant,
  asText,
  constantInstant,
  convert,
  defaultOf,
  fitNumber,
  truncateDigits,
} from '../types/convert.ts'
import { findType } from '../types/type-names.ts'
import {
  BOOL,
  clickhouseName,
  DATE,
  dateTimeType,
  FLOAT64,
  INT64,
  intType,
  isBoolean,
  isText,
  STRING,
  type Type,
  UINT64,
  UUID,
  withNull,
} from '../types/types.ts'
import { refuseArguments, requireConstant } from './argument-errors.ts'
import { zoneNamed } from './dates/date-parts.ts'
import {
  asDeclared,
  type FunctionDef,
  isNullable,
  type Lowering,
  nonNull,
  nullable,
  scalar,
  type TypeRule,
  typeOf,
} from './definition.ts'

const firstArgument = (args: readonly ResolvedExpr[]): ResolvedExpr => args[0] ?? NULL_VALUE

/** Conversions of text can fail; others are NULL only for NULL. */
function conversionRule(type: Type): TypeRule {
  return ({ args }) => withNull(type, isText(typeOf(args[0])) || args.some(isNullable))
}

function orElse(
  build: (value: ResolvedExpr, context: CompileContext) => ResolvedExpr,
  fallback: (call: Apply, context: CompileContext) => ResolvedExpr,
): Lowering {
  return (call, context) =>
    sql`coalesce(${build(firstArgument(call.args), context)}, ${fallback(call, context)})`(
      call.type,
    )
}

/** Only exact integers: 1.5 is NULL. */
const toInt: Lowering = (call, context) => {
  const value = firstArgument(call.args)
  if (value.type.kind === 'float') return sql`ch_exact_int(${value})`(call.type)
  return convert(value, INT64, context)
}
const toFloat: Lowering = (call) => asFloat(firstArgument(call.args))
/** toFloatOrDefault accepts a partial number, where the others require the whole text. */
const halfFloat = (value: ResolvedExpr): ResolvedExpr =>
  isText(value.type)
    ? sql`coalesce(${asFloat(value)}, ch_half_float(${value}))`(withNull(FLOAT64))
    : asFloat(value)
const zero = ({ type }: Apply): ResolvedExpr => defaultOf(withNull(type, false))
const givenDefault = (call: Apply): ResolvedExpr => call.args[1] ?? zero(call)

/** Integers of a width: out of range ClickHouse wraps around; the result here is NULL. */
function toWidth(bits: 8 | 16 | 32 | 64 | 128, signed: boolean): Lowering {
  return (call, context) => {
    const value = convert(firstArgument(call.args), intType(bits, signed), context)
    return fitNumber(value, call.type)
  }
}

/** Only text that is not a constant can fail to be a time. */
function instantIn(args: readonly ResolvedExpr[], type: Type, context: CompileContext): Type {
  const folded = constantInstant(firstArgument(args), context.timezone, context) !== null
  return withNull(type, (isText(typeOf(args[0])) && !folded) || args.some(isNullable))
}

const instantType: TypeRule = ({ args, context }) =>
  instantIn(args, dateTimeType(zoneNamed(args[1], context)), context)

const dateType: TypeRule = ({ args, context }) => instantIn(args, DATE, context)

/** Digits after the second of DateTime64. */
const PRECISION_MAX = 9

const instantType64: TypeRule = ({ args, context }) => {
  requireConstant(args[1], 'The precision of a time')
  const precision =
    args[1]?.kind === 'value' && typeof args[1].value === 'bigint' ? Number(args[1].value) : 6
  if (precision < 0 || precision > PRECISION_MAX) {
    refuseArguments(`The precision of a time is between 0 and ${PRECISION_MAX} digits`)
  }
  return instantIn(args, dateTimeType(zoneNamed(args[2], context), precision), context)
}

/** An instant only changes its zone; any other value is parsed in the zone. */
function toInstant(
  call: { readonly args: readonly ResolvedExpr[]; readonly type: Type },
  context: CompileContext,
): ResolvedExpr {
  const value = firstArgument(call.args)
  if (call.type.kind !== 'datetime') return value
  const { timezone } = call.type
  if (value.type.kind === 'datetime') return { ...sql`${value}`(call.type) }
  return { ...asInstant(value, timezone, context), type: call.type }
}

const toTimeZone: TypeRule = ({ args, context }) => {
  const value = typeOf(args[0])
  const timezone = zoneNamed(args[1], context)
  return value.kind === 'datetime' ? { ...value, timezone } : withNull(dateTimeType(timezone))
}

const toDecimalType: TypeRule = ({ args }) => {
  requireConstant(args[1], 'The scale of a decimal')
  const scale =
    args[1]?.kind === 'value' && typeof args[1].value === 'bigint' ? Number(args[1].value) : 0
  return withNull({
    kind: 'decimal',
    precision: 18,
    scale: Math.min(Math.max(scale, 0), 18),
    nullable: false,
  })
}

/** Digits beyond the scale are truncated. */
const toDecimal: Lowering = (call) => {
  const [value = NULL_VALUE, scale = bindInt(0)] = call.args
  const { type } = call
  if (type.kind !== 'decimal') return value
  const { kind } = value.type
  if (kind === 'int' || isBoolean(value.type))
    return asDecimal(sql`(${value})::BIGINT`(INT64), type)
  if (kind === 'float') return asDecimal(sql`ch_cut(${value}, ${scale})`(withNull(FLOAT64)), type)
  const text = kind === 'decimal' ? sql`(${value})::VARCHAR`(withNull(STRING)) : value
  return asDecimal(sql`ch_decimal_text(${text}, ${scale})`(withNull(STRING)), type)
}

/** The engine requires a decimal's scale in the type's text. */
function asDecimal(value: ResolvedExpr, type: Type & { kind: 'decimal' }): ResolvedExpr {
  return joinFragments(['try_cast(', '', ` AS DECIMAL(18, ${type.scale}))`], [value], type)
}

const typeName: Lowering = (call) => bindText(clickhouseName(firstArgument(call.args).type))

const throwIf: Lowering = (call) =>
  sql`ch_throw_if(${firstArgument(call.args)}, ${call.args[1] ?? bindText('Value passed to throwIf is non-zero')})`(
    call.type,
  )

/** `cast(x, 'Type')`: NULL for values that cannot be converted. */
const castType: TypeRule = ({ args, context }) => {
  const name = constantText(args[1])?.toLowerCase().replaceAll(' ', '') ?? ''
  const type = findType(name, context) ?? refuseArguments(`Unknown type: ${name}`)
  return withNull(type, type.nullable || args.some(isNullable) || isText(typeOf(args[0])))
}

const castTo: Lowering = (call, context) =>
  fitNumber(convert(firstArgument(call.args), call.type, context), call.type)

/** The default of a type that is named by a constant text. */
const namedType: TypeRule = ({ args, context }) => {
  const name = constantText(args[0])?.toLowerCase().replaceAll(' ', '') ?? ''
  return findType(name, context) ?? refuseArguments(`Unknown type: ${name}`)
}

/** Conversion functions. Adding one means adding a line. */
export const CONVERSIONS: readonly FunctionDef[] = [
  scalar('toInt|toInt64OrNull|toIntOrNull', '1', nullable(INT64), toInt),
  scalar(
    'toIntOrZero|toInt64OrZero',
    '1',
    nonNull(INT64),
    orElse((v, c) => convert(v, INT64, c), zero),
  ),
  scalar(
    'toIntOrDefault',
    '1-2',
    nonNull(INT64),
    orElse((v, c) => convert(v, INT64, c), givenDefault),
  ),
  scalar('toInt8|_toInt8', '1', conversionRule(intType(8, true)), toWidth(8, true)),
  scalar('toInt16|_toInt16', '1', conversionRule(intType(16, true)), toWidth(16, true)),
  scalar('toInt32|_toInt32', '1', conversionRule(intType(32, true)), toWidth(32, true)),
  scalar('toInt64|_toInt64', '1', conversionRule(INT64), toWidth(64, true)),
  scalar('toUInt8|_toUInt8', '1', conversionRule(intType(8, false)), toWidth(8, false)),
  scalar('toUInt16|_toUInt16', '1', conversionRule(intType(16, false)), toWidth(16, false)),
  scalar('toUInt32|_toUInt32', '1', conversionRule(intType(32, false)), toWidth(32, false)),
  scalar('toUInt64|_toUInt64', '1', conversionRule(UINT64), toWidth(64, false)),
  scalar('_toUInt128', '1', conversionRule(intType(128, false)), toWidth(128, false)),
  scalar('toFloat|toFloatOrNull|toFloat64OrNull', '1', nullable(FLOAT64), toFloat),
  scalar('toFloat64|toFloat32', '1', conversionRule(FLOAT64), toFloat),
  scalar(
    'toFloatOrZero|toFloat64OrZero',
    '1',
    nonNull(FLOAT64),
    orElse((v) => asFloat(v), zero),
  ),
  scalar(
    'toFloatOrDefault',
    '1-2',
    nonNull(FLOAT64),
    orElse(halfFloat, (call) => asFloat(givenDefault(call))),
  ),
  scalar('defaultValueOfTypeName', '1', namedType, ({ type }) =>
    type.nullable ? bind(null, type) : defaultOf(type),
  ),
  scalar('toDecimal', '2', toDecimalType, toDecimal),
  scalar('~toDate|to_date|_toDate|toDateOrNull', '1-2', dateType, (call, context) =>
    asDate(firstArgument(call.args), zoneNamed(call.args[1], context), context),
  ),
  scalar(
    '~toDateTime|parseDateTimeBestEffort|parseDateTimeBestEffortOrNull|parseDateTime64BestEffortOrNull',
    '1-2',
    instantType,
    toInstant,
  ),
  scalar('toDateTime64', '1-3', instantType64, (call, context) =>
    truncateDigits(toInstant(call, context)),
  ),
  scalar('toDateTimeUS', '1-2', instantType, (call, context) =>
    asInstant(
      sql`ch_month_first(${firstArgument(call.args)})`(withNull(STRING)),
      zoneNamed(call.args[1], context),
      context,
    ),
  ),
  scalar('toTimeZone', '1-2', toTimeZone, toInstant),
  scalar(
    '~timezone',
    '2',
    ({ args, context }) =>
      withNull(dateTimeType(zoneNamed(args[0], context)), typeOf(args[1]).nullable),
    (call, context) => toInstant({ args: [call.args[1] ?? NULL_VALUE], type: call.type }, context),
  ),
  scalar('toUUID|toUUIDOrNull', '1', nullable(UUID), (call) =>
    sql`try_cast(${firstArgument(call.args)} AS UUID)`(call.type),
  ),
  scalar(
    'toUUIDOrZero',
    '1',
    nonNull(UUID),
    orElse((v) => sql`try_cast(${v} AS UUID)`(withNull(UUID)), zero),
  ),
  scalar(
    'toUUIDOrDefault',
    '2',
    nonNull(UUID),
    orElse(
      (v) => sql`try_cast(${v} AS UUID)`(withNull(UUID)),
      ({ args }, context) => convert(args[1] ?? NULL_VALUE, UUID, context),
    ),
  ),
  scalar('~toString|toNullableString', '1-2', asDeclared(STRING), (call, context) =>
    asText(inZone(call.args, context), context),
  ),
  scalar('toBool', '1', conversionRule(BOOL), (call) => asBool(firstArgument(call.args))),
  scalar('toTypeName', '1', nonNull(STRING), typeName),
  scalar('toStringCutToZero|toFixedString', '1-2', asDeclared(STRING), (call, context) =>
    asText(firstArgument(call.args), context),
  ),
  scalar('~cast|accurateCast', '2', castType, castTo),
  scalar('accurateCastOrNull', '2', (call) => withNull(castType(call)), castTo),
  scalar('throwIf', '1-2', nonNull(intType(8, false)), throwIf),
  scalar(
    'UUIDv7ToDateTime',
    '1-2',
    ({ args, context }) =>
      withNull(dateTimeType(zoneNamed(args[1], context), 3), args.some(isNullable)),
    'ch_uuidv7_ts($1)',
  ),
  scalar('rand|rand32', '0', nonNull(intType(32, false)), ({ type }) => ({
    ...sql`(random() * 4294967295)::BIGINT`(type),
    is_random: true,
  })),
]

/** `toString(instant, zone)`: the local time in that zone. */
function inZone(args: readonly ResolvedExpr[], context: CompileContext): ResolvedExpr {
  const [value = NULL_VALUE] = args
  if (value.type.kind !== 'datetime' || args.length < 2) return value
  return sql`${value}`({ ...value.type, timezone: zoneNamed(args[1], context) })
}
