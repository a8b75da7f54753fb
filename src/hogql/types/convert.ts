/** Converts expressions between types as ClickHouse does: text, numbers, booleans, dates and instants. */

import { Refusal } from '../../errors.ts'
import type { CompileContext } from '../context.ts'
import type { ResolvedExpr } from '../sql/ir.ts'
import {
  bind,
  bindBool,
  bindInt,
  bindText,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../sql/sql-fragments.ts'
import { dateOf, fromLocal, startOfDate, toLocal } from '../times/local-time.ts'
import { RelativeTime } from '../times/relative-time.ts'
import { parseDate, parseInstant } from '../times/time-text.ts'
import { instantOfLocal, lookUpZone } from '../times/zones.ts'
import {
  arrayType,
  BOOL,
  DATE,
  dateTimeType,
  duckdbName,
  FLOAT64,
  INT64,
  type IntervalUnit,
  intType,
  isBoolean,
  isNumeric,
  isText,
  STRING,
  TRUTH,
  type Type,
  UUID,
  withNull,
} from './types.ts'

/** ClickHouse's default of a type, returned where a value is missing: 0, '', 1970, an empty array. */
export function defaultOf(type: Type): ResolvedExpr {
  switch (type.kind) {
    case 'int':
    case 'decimal':
    case 'date':
    case 'datetime':
      return bind(0n, type)
    case 'float':
      return bind(0, type)
    case 'bool':
    case 'truth':
      return bindBool(false)
    case 'string':
    case 'json':
      return bindText('')
    case 'uuid':
      return bind('00000000-0000-0000-0000-000000000000', UUID)
    case 'array':
      return sql`[]`(type)
    case 'tuple':
      return tupleOf(type.items.map(defaultOf), type)
    case 'map':
      return sql`map([], [])`(type)
    case 'interval':
    case 'lambda':
    case 'state':
    case 'null':
    case 'unknown':
      return { ...NULL_VALUE, type }
  }
}

/** The type's default where the engine returns NULL and ClickHouse a default. */
export function orDefault(value: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.nullable || type.kind === 'unknown' || type.kind === 'null') return value
  return sql`coalesce(${value}, ${defaultOf(type)})`(type)
}

/** A tuple of expressions. */
export function tupleOf(items: readonly ResolvedExpr[], type: Type): ResolvedExpr {
  return { kind: 'tuple', items, type }
}

/** The item of a tuple at a 1-based position. */
export function tupleItem(of: ResolvedExpr, position: number, type: Type): ResolvedExpr {
  if (of.kind === 'tuple') return of.items[position - 1] ?? { ...NULL_VALUE, type }
  return { kind: 'item', of, position, type }
}

/** An expression as a condition: numbers are true unless zero. */
export function asCondition(expr: ResolvedExpr): ResolvedExpr {
  if (isBoolean(expr.type) || expr.type.kind === 'null') return expr
  const type = withNull(TRUTH, expr.type.nullable)
  if (isNumeric(expr.type)) return sql`(${expr} <> 0)`(type)
  return sql`try_cast(${expr} AS BOOLEAN)`(withNull(TRUTH))
}

/** An expression as a boolean: text by its word, numbers unless zero. */
export function asBool(expr: ResolvedExpr): ResolvedExpr {
  if (isText(expr.type)) return sql`ch_bool(${expr})`(withNull(BOOL))
  return { ...sql`${asCondition(expr)}`(withNull(BOOL, expr.type.nullable)) }
}

/** An expression as text, in ClickHouse's spelling. NULL remains NULL. */
export function asText(expr: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const text_type = withNull(STRING, expr.type.nullable)
  const { type } = expr
  if (type.kind === 'string' || type.kind === 'json') return expr
  if (type.kind === 'float') return sql`ch_float_text(${expr})`(text_type)
  if (type.kind === 'truth') return sql`(${expr})::UTINYINT::VARCHAR`(text_type)
  if (type.kind === 'array') return arrayText(expr, type.of, context)
  if (type.kind === 'tuple') return tupleText(expr, type.items, context)
  if (type.kind === 'map') return mapText(expr, type, context)
  if (type.kind === 'interval') return sql`(${unitsOf(expr, type.unit)})::VARCHAR`(text_type)
  if (type.kind !== 'datetime') return sql`(${expr})::VARCHAR`(text_type)
  const local = toLocal(expr, context)
  return type.precision === 0
    ? sql`strftime(${local}, '%Y-%m-%d %H:%M:%S')`(text_type)
    : sql`strftime(${local}, '%Y-%m-%d %H:%M:%S.%f')`(text_type)
}

/** The count of an interval's units, as ClickHouse shows it. */
export function unitsOf(interval: ResolvedExpr, unit: IntervalUnit): ResolvedExpr {
  const type = withNull(INT64, interval.type.nullable)
  if (unit in UNIT_SECONDS)
    return sql`(epoch(${interval}) / ${bindInt(UNIT_SECONDS[unit] ?? 1)})::BIGINT`(type)
  const months = bindInt(unit === 'Year' ? 12 : unit === 'Quarter' ? 3 : 1)
  return sql`((date_part('year', ${interval}) * 12 + date_part('month', ${interval})) // ${months})`(
    type,
  )
}

const UNIT_SECONDS: Partial<Record<IntervalUnit, number>> = {
  Second: 1,
  Minute: 60,
  Hour: 3600,
  Day: 86_400,
  Week: 604_800,
}

function arrayText(expr: ResolvedExpr, of: Type, context: CompileContext): ResolvedExpr {
  const item: ResolvedExpr = { kind: 'local', id: textLocal(of), type: of }
  const text = quotedText(item, context)
  return sql`('[' || array_to_string(list_transform(${expr}, lambda ${item}: ${text}), ',') || ']')`(
    withNull(STRING, expr.type.nullable),
  )
}

/** The items of a list as texts where the engine has others for them: `[2.0, NULL]` → `['2', NULL]`. */
export function itemsAsTexts(list: ResolvedExpr, context: CompileContext): ResolvedExpr {
  if (list.type.kind !== 'array' || !TEXT_UNLIKE_ENGINE.has(list.type.of.kind)) return list
  const { of } = list.type
  const item: ResolvedExpr = { kind: 'local', id: textLocal(of), type: of }
  return sql`list_transform(${list}, lambda ${item}: ${asText(item, context)})`(
    arrayType(withNull(STRING)),
  )
}

/** Types whose texts are not the engine's own. */
const TEXT_UNLIKE_ENGINE: ReadonlySet<Type['kind']> = new Set([
  'array',
  'datetime',
  'float',
  'interval',
  'map',
  'truth',
  'tuple',
])

/** Each level of nesting has a lambda parameter with a negative id, which no user lambda has. */
function textLocal(of: Type): number {
  return of.kind === 'array' ? textLocal(of.of) - 1 : -1
}

function tupleText(
  expr: ResolvedExpr,
  items: readonly Type[],
  context: CompileContext,
): ResolvedExpr {
  const texts = items.map((type, index) => quotedText(tupleItem(expr, index + 1, type), context))
  return sql`('(' || ${joinFragments(["concat_ws(',', ", ', ', ')'], texts, STRING)} || ')')`(
    STRING,
  )
}

function mapText(
  expr: ResolvedExpr,
  { key, value }: Extract<Type, { kind: 'map' }>,
  context: CompileContext,
): ResolvedExpr {
  const of_key: ResolvedExpr = { kind: 'local', id: -75, type: key }
  const of_value: ResolvedExpr = { kind: 'local', id: -76, type: value }
  const keys =
    sql`list_transform(map_keys(${expr}), lambda ${of_key}: ${quotedText(of_key, context)})`(STRING)
  const values =
    sql`list_transform(map_values(${expr}), lambda ${of_value}: ${quotedText(of_value, context)})`(
      STRING,
    )
  return sql`('{' || array_to_string(list_transform(list_zip(${keys}, ${values}), lambda z: z[1] || ':' || z[2]), ',') || '}')`(
    withNull(STRING, expr.type.nullable),
  )
}

function quotedText(item: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const text = asText(item, context)
  const bare =
    isNumeric(item.type) ||
    isBoolean(item.type) ||
    ['array', 'tuple', 'map'].includes(item.type.kind)
  const shown = bare ? text : sql`ch_quote(${text})`(STRING)
  return item.type.nullable ? sql`coalesce(${shown}, 'NULL')`(STRING) : shown
}

/** Text read as a float, NULL where it is none. */
export function asFloat(expr: ResolvedExpr): ResolvedExpr {
  const type = withNull(FLOAT64, expr.type.nullable)
  if (expr.type.kind === 'float') return expr
  if (expr.type.kind === 'datetime') return sql`epoch(${expr})`(type)
  if (expr.type.kind === 'date')
    return sql`date_diff('day', DATE '1970-01-01', ${expr})::DOUBLE`(type)
  if (isText(expr.type)) return sql`ch_float(${expr})`(withNull(FLOAT64))
  return sql`(${expr})::DOUBLE`(type)
}

/**
 * Any value as an instant in a zone: text is parsed, a date is its midnight, a number is seconds
 * since 1970.
 */
export function asInstant(
  expr: ResolvedExpr,
  timezone: string,
  context: CompileContext,
): ResolvedExpr {
  const { type } = expr
  if (type.kind === 'datetime') return expr
  if (type.kind === 'date') return startOfDate(expr, timezone, context)
  if (isNumeric(type)) {
    const shown = withNull(dateTimeType(timezone), type.nullable)
    return instantOfSeconds(expr, shown)
  }
  return constantInstant(expr, timezone, context) ?? textInstant(expr, timezone, context)
}

/** The instant of a number of seconds since 1970: the nearest one of the years 1 to 9999; NaN is an error. */
export const instantOfSeconds = (seconds: ResolvedExpr, type: Type): ResolvedExpr =>
  seconds.type.kind === 'float'
    ? sql`ch_float_instant(${seconds})`(type)
    : sql`ch_instant(${seconds})`(type)

/**
 * The instant of a constant text, in the zone's local time where it has no offset; null when it is
 * not constant or not a time.
 */
export function constantInstant(
  expr: ResolvedExpr,
  timezone: string,
  context: CompileContext,
): ResolvedExpr | null {
  const text = constantText(expr)
  const read = text === null ? null : parseInstant(text)
  if (read === null) return null
  const type = dateTimeType(timezone)
  if (read.kind === 'instant') return bind(read.us, type)
  return bind(instantOfLocal(lookUpZone(timezone, context), read.us), type)
}

/** The date of a constant text; null when it is not constant or not a date. */
export function constantDate(expr: ResolvedExpr): ResolvedExpr | null {
  const text = constantText(expr)
  const days = text === null ? null : parseDate(text)
  return days === null ? null : bind(days, DATE)
}

function textInstant(expr: ResolvedExpr, timezone: string, context: CompileContext): ResolvedExpr {
  const type = withNull(dateTimeType(timezone))
  // Text with an offset is an instant; text without is local time of the zone.
  const zoned = sql`ch_zoned_instant(${expr})`(type)
  const local = fromLocal(sql`ch_naive_instant(${expr})`(type), timezone, context)
  return sql`coalesce(${zoned}, ${local})`(type)
}

/**
 * Any value as a date: text is parsed, an instant gives its zone's local date, small numbers are
 * days and large ones seconds.
 */
export function asDate(
  expr: ResolvedExpr,
  timezone: string,
  context: CompileContext,
): ResolvedExpr {
  const { type } = expr
  if (type.kind === 'date') return expr
  if (type.kind === 'datetime') return dateOf(expr, context)
  if (isNumeric(type)) return numberDate(expr, timezone, context)
  return constantDate(expr) ?? dateOf(asInstant(expr, timezone, context), context)
}

/** Small numbers are days; large ones are seconds, whose date is the local one of the zone. */
function numberDate(expr: ResolvedExpr, timezone: string, context: CompileContext): ResolvedExpr {
  const type = withNull(DATE, expr.type.nullable)
  const dated = dateOf(asInstant(expr, timezone, context), context)
  return sql`CASE WHEN ${expr} < 65536 THEN DATE '1970-01-01' + (${expr})::INTEGER ELSE ${dated} END`(
    type,
  )
}

/** A whole number cast to a narrower type; NULL when it does not fit. */
export function fitNumber(expr: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.kind !== 'int' || type.bits >= 64) return expr
  return sql`ch_fit(${expr}, ${bindInt(type.bits)}, ${bindBool(type.signed)})`(type)
}

/** Whether a number may be beyond an integer type: by its type, or by its value where it is constant. */
export function mayNotFit(expr: ResolvedExpr, to: Type): boolean {
  if (to.kind !== 'int') return false
  const from = expr.type
  if (from.kind !== 'int') return from.kind === 'float' || from.kind === 'decimal'
  if (expr.kind === 'value' && typeof expr.value === 'bigint') {
    const { value } = expr
    return value !== (to.signed ? BigInt.asIntN(to.bits, value) : BigInt.asUintN(to.bits, value))
  }
  return from.signed === to.signed ? from.bits > to.bits : from.signed || from.bits >= to.bits
}

/** A number cut to a whole one; NULL when it does not fit the type. */
function fitInteger(expr: ResolvedExpr, type: Type & { readonly kind: 'int' }): ResolvedExpr {
  const whole =
    expr.type.kind === 'int'
      ? expr
      : sql`try_cast(trunc(${expr}) AS HUGEINT)`(withNull(intType(128, true)))
  const fitting = sql`ch_fit(${whole}, ${bindInt(type.bits)}, ${bindBool(type.signed)})`(type)
  return type.bits < 64 || type.signed ? sql`(${fitting})::BIGINT`(type) : fitting
}

/** `CAST(x AS T)`: an expression as another type; NULL for a number or a text that does not fit an integer. */
export function castTo(expr: ResolvedExpr, to: Type, context: CompileContext): ResolvedExpr {
  if (to.kind !== 'int') return convert(expr, to, context)
  if (mayNotFit(expr, to)) return fitInteger(expr, to)
  const converted = convert(expr, to, context)
  return isText(expr.type) && (to.bits < 64 || !to.signed) ? fitInteger(converted, to) : converted
}

/** An instant truncated to the sub-second digits of its type. */
export function truncateDigits(expr: ResolvedExpr): ResolvedExpr {
  const { type } = expr
  if (type.kind !== 'datetime' || type.precision >= 6) return expr
  const step = bindInt(10 ** (6 - type.precision), true)
  return sql`make_timestamp(epoch_us(${expr}) // ${step} * ${step})`(type)
}

/** An expression as another type: a value that cannot be converted is NULL. Refuses (`invalid_input`) intervals of anything else. */
export function convert(expr: ResolvedExpr, to: Type, context: CompileContext): ResolvedExpr {
  if (expr.type.kind === 'null') return sql`${expr}`(withNull(to))
  if (isText(to)) return asText(expr, context)
  if (to.kind === 'float') return asFloat(expr)
  if (to.kind === 'datetime') return asInstant(expr, to.timezone, context)
  if (to.kind === 'date') return asDate(expr, context.timezone, context)
  if (isBoolean(to)) return asBool(expr)
  return to.kind === 'int' ? asInteger(expr, to) : convertShape(expr, to, context)
}

function asInteger(expr: ResolvedExpr, to: Type): ResolvedExpr {
  const { type } = expr
  if (type.kind === 'int') return { ...expr, type: withNull(to, type.nullable) }
  if (type.kind === 'float' || type.kind === 'decimal') {
    return sql`trunc(${expr})::BIGINT`(withNull(to, type.nullable))
  }
  if (isBoolean(type)) return sql`(${expr})::BIGINT`(withNull(to, type.nullable))
  if (type.kind === 'datetime')
    return sql`floor(epoch(${expr}))::BIGINT`(withNull(to, type.nullable))
  if (type.kind === 'date')
    return sql`date_diff('day', DATE '1970-01-01', ${expr})`(withNull(to, type.nullable))
  return sql`ch_toint(${expr})`(withNull(INT64))
}

function convertShape(expr: ResolvedExpr, to: Type, context: CompileContext): ResolvedExpr {
  const from = expr.type
  if (expr.kind === 'value' && expr.value instanceof RelativeTime) return sql`${expr}`(to)
  if (duckdbName(from) === duckdbName(to)) return { ...expr, type: to }
  if (from.kind === 'array' && to.kind === 'array') {
    if (from.of.kind === 'null') return { ...expr, type: to }
    const item: ResolvedExpr = { kind: 'local', id: textLocal(from.of), type: from.of }
    const converted = convert(item, to.of, context)
    return sql`list_transform(${expr}, lambda ${item}: ${converted})`(to)
  }
  if (from.kind === 'tuple' && to.kind === 'tuple') {
    const items = to.items.map((type, index) =>
      convert(tupleItem(expr, index + 1, from.items[index] ?? type), type, context),
    )
    return tupleOf(items, to)
  }
  if (to.kind === 'uuid') return sql`try_cast(${expr} AS UUID)`(withNull(UUID))
  if (to.kind === 'interval' && from.kind !== 'interval') {
    const detail = 'An interval can only be compared or combined with another interval'
    throw new Refusal('invalid_input', detail, { attr: 'query' })
  }
  return { ...expr, type: to }
}
