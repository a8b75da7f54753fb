/**
 * CALLS: HogQL's functions in ClickHouse. Most are ClickHouse's own and printed as they are called; a line here is one that
 * is spelled otherwise there, or only HogQL has.
 */

import { END_INSTANT_US, FIRST_INSTANT_US } from '../../time.ts'
import { patternOf } from '../functions/aggregates/funnels.ts'
import { readUnit } from '../functions/dates/date-parts.ts'
import { findFunction } from '../functions/registry.ts'
import { COMPARISONS } from '../sql/comparisons.ts'
import type { Apply, ResolvedExpr } from '../sql/ir.ts'
import { constantInt, constantText, NULL_VALUE } from '../sql/sql-fragments.ts'
import { mayNotFit } from '../types/convert.ts'
import { clickhouseName, isNumeric, isText, STRING, type Type, UNKNOWN } from '../types/types.ts'
import { isConstant, requireConstants } from './constant-arguments.ts'
import { instantsAsTexts } from './instant-texts.ts'
import { refuseInClickHouse } from './refuse-in-clickhouse.ts'
import type { ClickHouseValues } from './values.ts'

/** The part of the printer that printing a call needs. */
export type ExprPrinter = {
  readonly values: ClickHouseValues
  expr(expr: ResolvedExpr): string
  /** Prints an instant as the table stores it, without its zone. */
  bare(expr: ResolvedExpr): string
  /** An aggregate or plain call with its parameters, DISTINCT and FILTER. */
  namedCall(name: string, args: readonly string[], call: Apply): string
}

type CallPrinting = (args: readonly string[], call: Apply, printer: ExprPrinter) => string

/** These only take moments of whole seconds there. */
const IN_SECONDS = /^(?:sequenceCount|sequenceMatch|windowFunnel)/

/** These compare two numbers, which have one type there. */
const TWO_NUMBERS = /^(?:deltaSumTimestamp|maxIntersections(?:Position)?)(?:If)?$/

/** These write values of any type into a text. */
const TEXTS: ReadonlySet<string> = new Set(['concat', 'format', 'toString'])

/** These only take windows of whole seconds there. */
const WINDOWS: ReadonlySet<string> = new Set([
  'hop',
  'hopEnd',
  'hopStart',
  'timeSlots',
  'tumble',
  'tumbleEnd',
  'tumbleStart',
])

/** These take numbers with a fraction alone. */
const OF_FLOATS: ReadonlySet<string> = new Set(['geohashEncode', 'pointInEllipses'])

/** A condition of type Bool would make these answer true and false, where HogQL has 1 and 0. */
const LOGIC: ReadonlySet<string> = new Set(['and', 'not', 'or', 'xor'])

/** These answer one of their arguments: a float and an integer of 64 bits have no common type there. */
const CHOICES: ReadonlySet<string> = new Set(['coalesce', 'if', 'ifNull', 'multiIf'])

/** Another name for the same function. */
const renamed =
  (name: string): CallPrinting =>
  (args, call, printer) =>
    printer.namedCall(name, args, call)

/** Makes the printing of a call that ClickHouse cannot compute: a refusal. */
const refused =
  (what: string): CallPrinting =>
  () =>
    refuseInClickHouse(what)

/** A conversion that gives NULL for values that do not fit. */
const castOrNull =
  (name: string): CallPrinting =>
  ([value]) =>
    `accurateCastOrNull(${value}, '${name}')`

/** A conversion that gives another value, zero where none is named, for values that do not fit. */
const orDefault =
  (name: string): CallPrinting =>
  ([value, otherwise = '0']) =>
    `ifNull(accurateCastOrNull(${value}, '${name}'), CAST(${otherwise}, '${name}'))`

/** A tuple of a tag and its named members. */
const tagged =
  (tag: string, keys: readonly string[]): CallPrinting =>
  (args) =>
    `tuple('__hx_tag', '${tag}', ${args.map((arg, index) => `'${keys[index] ?? ''}', ${arg}`).join(', ')})`

/** A division that gives NULL by zero; a constant divisor is known. */
const dividing =
  (name: string): CallPrinting =>
  (args, { args: [, by] }) => {
    const is_sure = by?.kind === 'value' && typeof by.value === 'bigint' && by.value !== 0n
    return `${name}${is_sure ? '' : 'OrNull'}(${args.join(', ')})`
  }

/** A time moved by an interval, or by a count of a unit: the server's grammar takes no bound unit. */
const shifted =
  (operator: 'minus' | 'plus'): CallPrinting =>
  ([first, second, time], { args: [unit] }) =>
    time === undefined
      ? `${operator}(${first}, ${second})`
      : `${operator}(${time}, toInterval${readUnit(unit) ?? 'Day'}(${second}))`

/** The date of a value in the zone of its type; a text that is none is NULL. */
const dateOf: CallPrinting = ([value = ''], { args: [from], type }, printer) =>
  isText(from?.type ?? UNKNOWN)
    ? `toDate(${instantOf(value, STRING, printer.values.text(zoneOf(type)))})`
    : `toDate(${value})`

/** The instant of a value in a zone; a text that is none is NULL. */
const timeOf: CallPrinting = ([value = '', zone], { args: [from], type }, printer) =>
  instantOf(value, from?.type ?? UNKNOWN, zone ?? printer.values.text(zoneOf(type)))

/** The milliseconds since 1970 of the first and the last instant that the server reads rightly. */
const FIRST_MS = FIRST_INSTANT_US / 1000n
const LAST_MS = (END_INSTANT_US - 1n) / 1000n

/** An instant of a year, month, day, hour, minute and second in a zone. */
const madeTime: CallPrinting = (args, { type }, printer) =>
  `makeDateTime64(${args.slice(0, 6).join(', ')}, 0, 6, ${printer.values.text(zoneOf(type))})`

/** By HogQL's name. Adding a line spells one function for ClickHouse. */
const CALLS: Readonly<Record<string, CallPrinting>> = {
  // made by the resolver
  asType: ([value = ''], { args: [from], type }, printer) =>
    from !== undefined && from.type.kind !== 'decimal' && mayNotFit(from, type)
      ? `accurateCastOrNull(${from.type.kind === 'float' ? `trunc(${value})` : value}, ${printer.values.text(clickhouseName({ ...type, nullable: false }))})`
      : convertTo(value, from?.type ?? UNKNOWN, type, printer),
  groupingOfKeys: renamed('grouping'),
  _caseWithExpression: renamed('caseWithExpression'),
  memberOf: ([of, key]) => `JSONExtract(${of}, toString(${key}), 'Nullable(String)')`,
  orEmpty: ([value]) => `ifNull(${value}, '')`,
  sampleBucket: ([value]) => `(cityHash64(${value}) % 1000000)`,
  sliceOf: ([of, from, to]) =>
    to === undefined
      ? `arraySlice(${of}, ${from})`
      : `arraySlice(${of}, ${from}, ${to} - ${from} + 1)`,
  // conditions
  // Shards would name its arguments otherwise than the server that asks them.
  indexHint: () => 'toUInt8(1)',
  in: ([left, ...rest], { args }) => `(${left} IN ${membersOf(rest, args)})`,
  notIn: ([left, ...rest], { args }) => `(${left} NOT IN ${membersOf(rest, args)})`,
  matches: renamed('match'),
  notMatch: (args) => `not(match(${args.join(', ')}))`,
  matchCaseInsensitive: ([text, pattern]) => `match(${text}, concat('(?i)', ${pattern}))`,
  notMatchCaseInsensitive: ([text, pattern]) => `not(match(${text}, concat('(?i)', ${pattern})))`,
  // texts
  concat: (args) => `concat(${args.map((arg) => `ifNull(toString(${arg}), '')`).join(', ')})`,
  _lower: renamed('lowerUTF8'),
  md5: (args) => `hex(MD5(${args.join(', ')}))`,
  sha1: (args) => `hex(SHA1(${args.join(', ')}))`,
  sha256: (args) => `hex(SHA256(${args.join(', ')}))`,
  split_part: ([text, by, at]) => `splitByString(${by}, ${text})[${at}]`,
  btrim: renamed('trimBoth'),
  extractIPv4Substrings: refused('extractIPv4Substrings'),
  languageCodeToName: refused('languageCodeToName'),
  sortableSemver: ([text]) =>
    `arrayMap(x -> toInt64OrZero(x), splitByChar('.', extract(ifNull(${text}, ''), '(\\\\d+(\\\\.\\\\d+)+)')))`,
  // lists
  // The server wants one type of the start and of every step.
  arrayFold: ([step, list, start], { args: [fold], type }, printer) => {
    const name = printer.values.text(clickhouseName(type))
    if (fold?.kind !== 'lambda') return `arrayFold(${step}, ${list}, ${start})`
    const locals = fold.locals.map((local) => printer.expr(local)).join(', ')
    const body = `CAST(${printer.expr(fold.body)}, ${name})`
    return `arrayFold((${locals}) -> ${body}, ${list}, CAST(${start}, ${name}))`
  },
  // numbers: calls that ClickHouse refuses for a width or divisor of zero are NULL
  _toInt8: castOrNull('Int8'),
  _toInt16: castOrNull('Int16'),
  _toInt32: castOrNull('Int32'),
  _toInt64: castOrNull('Int64'),
  _toUInt64: castOrNull('UInt64'),
  _toUInt128: castOrNull('UInt128'),
  intDiv: dividing('intDiv'),
  modulo: dividing('modulo'),
  positiveModulo: dividing('positiveModulo'),
  toFloatOrDefault: orDefault('Float64'),
  toIntOrDefault: orDefault('Int64'),
  toDecimal: ([value], { type }, printer) =>
    `accurateCastOrNull(${value}, ${printer.values.text(clickhouseName({ ...type, nullable: false }))})`,
  toUUIDOrDefault: ([text, otherwise]) =>
    otherwise === undefined
      ? `toUUIDOrZero(${text})`
      : `ifNull(toUUIDOrNull(${text}), ${otherwise})`,
  toUUID: ([value], { args: [from] }) =>
    `${isText(from?.type ?? UNKNOWN) ? 'toUUIDOrNull' : 'toUUID'}(${value})`,
  toBool: ([value], { args: [from], type }, printer) =>
    convertTo(String(value), from?.type ?? UNKNOWN, type, printer),
  toInt: ([value]) => `accurateCastOrNull(${value}, 'Int64')`,
  toFloat: ([value]) => `accurateCastOrNull(${value}, 'Float64')`,
  toIntOrZero: renamed('toInt64OrZero'),
  toFloatOrZero: renamed('toFloat64OrZero'),
  toFloatOrNull: renamed('toFloat64OrNull'),
  // times
  date_bin: ([step, value, origin]) => `toStartOfInterval(${value}, ${step}, ${origin})`,
  date_format: renamed('formatDateTime'),
  dateAdd: shifted('plus'),
  date_add: shifted('plus'),
  timeStampAdd: shifted('plus'),
  timestamp_add: shifted('plus'),
  dateSub: shifted('minus'),
  date_sub: shifted('minus'),
  date_subtract: shifted('minus'),
  timeStampSub: shifted('minus'),
  timestamp_sub: shifted('minus'),
  date_part: ([, value], { args: [part] }) => datePart(constantText(part), value ?? ''),
  make_date: renamed('makeDate'),
  make_timestamp: madeTime,
  makeDateTime: madeTime,
  make_timestamptz: madeTime,
  timezone: ([zone, value]) => `toTimeZone(${value}, ${zone})`,
  to_char: renamed('formatDateTime'),
  fromUnixTimestamp: (args, call, printer) => {
    const [seconds = NULL_VALUE] = call.args
    if (!isNumeric(seconds.type)) return printer.namedCall('fromUnixTimestamp', args, call)
    const precision = seconds.type.kind === 'int' ? 0 : 6
    return `toDateTime64(${args[0]}, ${precision}, ${printer.values.text(zoneOf(call.type))})`
  },
  to_timestamp: ([seconds], { type }, printer) =>
    `toDateTime64(${seconds}, 6, ${printer.values.text(zoneOf(type))})`,
  fromUnixTimestamp64Milli: ([value = '', zone], { args: [from = NULL_VALUE] }) => {
    const milliseconds =
      from.type.kind === 'int' ? `clamp(toInt64(${value}), ${FIRST_MS}, ${LAST_MS})` : value
    return `fromUnixTimestamp64Milli(${milliseconds}${zone === undefined ? '' : `, ${zone}`})`
  },
  toDate: dateOf,
  _toDate: dateOf,
  to_date: dateOf,
  parseDateTimeBestEffort: timeOf,
  toDateTime: timeOf,
  toDateTimeUS: ([value, zone], { type }, printer) =>
    `parseDateTime64BestEffortUSOrNull(${value}, 6, ${zone ?? printer.values.text(zoneOf(type))})`,
  // An instant of 1970-01-02, not of the type Time.
  toTime: ([value]) => `toTimeWithFixedDate(toDateTime(${value}))`,
  timeSlots: ([at, ...lengths]) =>
    `timeSlots(${[at, ...lengths.map((length) => `toUInt32(${length})`)].join(', ')})`,
  toTypeName: (_args, { args: [of] }, printer) =>
    printer.values.text(clickhouseName(of?.type ?? UNKNOWN)),
  // tuples that a table shows as a picture or a button
  sparkline: tagged('Sparkline', ['data']),
  recordingButton: tagged('RecordingButton', ['sessionId', 'recordingStatus']),
  recording_button: tagged('RecordingButton', ['sessionId', 'recordingStatus']),
  // aggregates
  json_agg: (args, call, printer) => `toJSONString(${printer.namedCall('groupArray', args, call)})`,
  sequenceCount: sequenceCall,
  sequenceCountIf: sequenceCallIf,
  sequenceMatch: sequenceCall,
  sequenceMatchIf: sequenceCallIf,
  // SQL's own window functions give NULL where there is no such row.
  lag: ([value, ...rest]) => `lag(${[`toNullable(${value})`, ...rest].join(', ')})`,
  lead: ([value, ...rest]) => `lead(${[`toNullable(${value})`, ...rest].join(', ')})`,
  // folds: what ClickHouse gathers for them
  actor_timeline: ([, ...bits], call, printer) =>
    gatherSorted(packedEvent(call, bits, printer), call, printer),
  actor_values: ([, value = '', has_value = '', ...bits], call, printer) => {
    const pair = `(${packedEvent(call, bits, printer)}, ifNull(toString(${value}), ''))`
    const pairs = printer.namedCall(
      'groupArrayIf',
      [pair, `ifNull(${has_value}, 0)`],
      unparametrized(call),
    )
    return `arrayMap(x -> x.2, arraySort(${pairs}))`
  },
  path_timeline: ([, code = ''], call, printer) => {
    const after = `toDecimal128(${timeAfterOrigin(call, printer)}, 0)`
    const packed = `${after} * toDecimal128('${PATH_CODES}', 0) + toDecimal128(${code}, 0)`
    return gatherSorted(packed, call, printer)
  },
  // `split-at-folds.ts` computes the same number here.
  path_item: ([text]) =>
    `greatest(toInt64(bitShiftRight(reinterpretAsUInt64(substring(MD5(ifNull(${text}, '')), 9, 8)), 13)), 1)`,
}

/** Prints a call. */
export function printCall(call: Apply, printer: ExprPrinter): string {
  const name = nameOf(call)
  requireConstants(name, call.args)
  const list = name === 'array' ? printer.values.list(call.args) : null
  if (list !== null) return list
  const args = call.args.map((arg, index) => argumentText(arg, index, { ...call, name }, printer))
  const own = Object.hasOwn(CALLS, name) ? CALLS[name] : undefined
  const text = own === undefined ? printer.namedCall(name, args, call) : own(args, call, printer)
  return call.type.kind === 'datetime' && isConstant(call)
    ? printer.values.saturated(text, call.type)
    : text
}

function argumentText(
  arg: ResolvedExpr,
  index: number,
  { name, type }: Apply,
  printer: ExprPrinter,
): string {
  // Instants are compared as they are stored: the server then reads only the part of the table that can match.
  if (arg.type.kind === 'datetime' && COMPARISONS.has(name)) return printer.bare(arg)
  const text = printer.expr(arg)
  const { kind } = arg.type
  if (TEXTS.has(name)) return kind === 'datetime' ? text : instantsAsTexts(text, arg.type)
  if (name === 'toJSONString') return instantsAsTexts(text, arg.type)
  if (kind === 'datetime') {
    return index === 0 && (IN_SECONDS.test(name) || WINDOWS.has(name))
      ? `toDateTime(${text})`
      : text
  }
  if (kind === 'int') {
    if (type.kind === 'float' && CHOICES.has(name)) return `toFloat64(${text})`
    if (TWO_NUMBERS.test(name) && index < 2) return `toInt64(${text})`
    return OF_FLOATS.has(name) && index !== 2 ? `toFloat64(${text})` : text
  }
  return kind === 'bool' && LOGIC.has(name) ? `toUInt8(${text})` : text
}

const FUNCTION_NAME = /^\w+$/

/** The name in its own spelling: SQL's standard functions are called in any case. */
function nameOf({ name }: Apply): string {
  const def = findFunction(name)
  if (def === null || !FUNCTION_NAME.test(name)) throw new Error(`the registry lost ${name}`)
  if (def.names.includes(name)) return name
  return def.names.find((known) => known.toLowerCase() === name.toLowerCase()) ?? name
}

/** The functions of `date_part`, by the name of the part. */
const PARTS: Readonly<Record<string, string>> = {
  year: 'toYear',
  quarter: 'toQuarter',
  month: 'toMonth',
  week: 'toISOWeek',
  day: 'toDayOfMonth',
  hour: 'toHour',
  minute: 'toMinute',
  second: 'toSecond',
  dow: 'toDayOfWeek',
  doy: 'toDayOfYear',
}

/** A part of a time; NULL for a name that is none. */
function datePart(name: string | null, value: string): string {
  const known = (name ?? '').toLowerCase().replace(/s$/, '')
  return Object.hasOwn(PARTS, known) ? `${PARTS[known]}(${value})` : 'NULL'
}

/** A text that is no time is NULL, not an error. */
function instantOf(value: string, from: Type, zone: string): string {
  const name = isText(from) ? 'parseDateTime64BestEffortOrNull' : 'toDateTime64'
  return `${name}(${value}, 6, ${zone})`
}

/** ClickHouse wants conditions for two events at least, also where the pattern names one. */
const withTwoEvents = (args: readonly string[]): readonly string[] =>
  args.length > 2 ? args : [...args, 'false']

const zoneOf = (type: Type): string => (type.kind === 'datetime' ? type.timezone : 'UTC')

/** A list is printed item by item, rows and arrays as they are. */
function membersOf(rest: readonly string[], args: readonly ResolvedExpr[]): string {
  const [, right] = args
  const [only] = rest
  const is_whole = rest.length === 1 && (right?.kind === 'subquery' || right?.type.kind === 'array')
  return is_whole ? (only ?? '') : `(${rest.join(', ')})`
}

/** Converts a value to another type; one that cannot be converted is NULL, as in DuckDB. */
function convertTo(value: string, from: Type, to: Type, printer: ExprPrinter): string {
  if (clickhouseName(from) === clickhouseName(to)) return value
  if (isText(from) && from.kind !== 'unknown') {
    if (to.kind === 'datetime')
      return `parseDateTime64BestEffortOrNull(${value}, 6, ${printer.values.text(to.timezone)})`
    if (to.kind === 'date') return `toDate(parseDateTime64BestEffortOrNull(${value}, 6))`
    if (to.kind === 'uuid') return `toUUIDOrNull(${value})`
    if (to.kind === 'bool' || to.kind === 'float' || to.kind === 'int')
      return `accurateCastOrNull(${value}, ${printer.values.text(clickhouseName({ ...to, nullable: false }))})`
  }
  if (isText(to))
    return `toString(${from.kind === 'datetime' ? value : instantsAsTexts(value, from)})`
  const target = from.nullable ? { ...to, nullable: true } : to
  return `CAST(${value}, ${printer.values.text(clickhouseName(target))})`
}

/** A path's item and its marks are below this, in the bits below the time (`timelines.ts`). */
const PATH_CODES = 2n ** 53n

/** ClickHouse calls an unreadable pattern an error of syntax, as if it were one of the statement. */
function sequenceCall(args: readonly string[], call: Apply, printer: ExprPrinter): string {
  patternOf(call)
  return printer.namedCall(call.name, withTwoEvents(args), call)
}

/** The last argument is the condition, no event of the pattern. */
function sequenceCallIf(args: readonly string[], call: Apply, printer: ExprPrinter): string {
  patternOf({ ...call, args: call.args.slice(0, -1) })
  const events = withTwoEvents(args.slice(0, -1))
  return printer.namedCall(call.name, [...events, ...args.slice(-1)], call)
}

const unparametrized = (call: Apply): Apply => ({ ...call, params: [] })

function gatherSorted(packed: string, call: Apply, printer: ExprPrinter): string {
  return `arraySort(${printer.namedCall('groupArray', [packed], unparametrized(call))})`
}

/** The time of an event with its conditions as bits below; in 128 bits as a decimal, which files have. */
function packedEvent(call: Apply, bits: readonly string[], printer: ExprPrinter): string {
  const after = timeAfterOrigin(call, printer)
  const marks = bits.map((bit, index) => `if(${bit}, toInt64(${2n ** BigInt(index)}), 0)`)
  const scale = 2n ** BigInt(bits.length)
  return constantInt(call.params[1]) === 1n
    ? `toDecimal128(${after}, 0) * toDecimal128('${scale}', 0) + toDecimal128(${marks.join(' + ')}, 0)`
    : `toFloat64(${after} * toInt64(${scale}) + ${marks.join(' + ')})`
}

/** Microseconds after the first parameter. */
function timeAfterOrigin({ args: [at], params: [origin] }: Apply, printer: ExprPrinter): string {
  const instant = at === undefined ? 'NULL' : printer.bare(at)
  return `(toUnixTimestamp64Micro(toDateTime64(${instant}, 6)) - toInt64(${constantInt(origin) ?? 0n}))`
}
