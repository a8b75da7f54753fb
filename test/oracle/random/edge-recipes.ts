/** Ways to make expressions out of values at the edges of types, with ClickHouse's text where HogQL's own rules must be written out. */

import type { Edge } from './edge-pools.ts'
import { type Both, both, type Chance, joined } from './random-text.ts'

type Maker = {
  readonly make: (kind: Edge) => Both
  readonly chance: Chance
  /** A constant text. */
  readonly word: () => Both
}
export type EdgeRecipe = (maker: Maker) => Both

/** A template: `{int}` is any expression of that kind, `{k}` a small number, `{word}` a constant text. */
const t =
  (hogql: string, clickhouse = hogql): EdgeRecipe =>
  ({ make, chance, word }) => {
    const pieces = hogql.split(/\{(\w+)\}/)
    const theirs = clickhouse.split(/\{\w+\}/)
    const parts = pieces.map((piece, at) => {
      if (at % 2 === 0) return { hogql: piece, clickhouse: theirs[at / 2] ?? '' }
      if (piece === 'k') return both`${String(1 + chance.below(4))}`
      return piece === 'word' ? word() : make(piece as Edge)
    })
    return joined(parts, '')
  }

const many = (texts: readonly string[]): readonly EdgeRecipe[] => texts.map((text) => t(text))

const KINDS: readonly Edge[] = ['int', 'float', 'text', 'num', 'date', 'time']

type Comparison = readonly [
  operator: string,
  on_null: 'both' | 'neither' | 'one',
  kinds: readonly Edge[],
]

const TEXTUAL: readonly Edge[] = ['text', 'num']

/** Operators that HogQL answers where ClickHouse's outcome is NULL. */
const COMPARISONS: readonly Comparison[] = [
  ['=', 'both', KINDS],
  ['!=', 'one', KINDS],
  ['<', 'neither', KINDS],
  ['<=', 'neither', KINDS],
  ['>', 'neither', KINDS],
  ['>=', 'neither', KINDS],
  ['like', 'both', TEXTUAL],
  ['not like', 'one', TEXTUAL],
  ['ilike', 'both', TEXTUAL],
  ['not ilike', 'one', TEXTUAL],
]

/** A comparison of two expressions, of an expression with a constant word, or with NULL. */
function compared({ make, chance, word }: Maker): Both {
  const [operator, on_null, kinds] = chance.one(COMPARISONS)
  const kind = chance.one(kinds)
  const left = make(kind)
  const right = TEXTUAL.includes(kind) && chance.below(2) === 0 ? patternOf(word()) : make(kind)
  const [a, b] = [left.clickhouse, right.clickhouse]
  const outcomes = {
    both: `((${a}) is null and (${b}) is null)`,
    neither: '0',
    one: `((${a}) is not null or (${b}) is not null)`,
  }
  return {
    hogql: `((${left.hogql}) ${operator} (${right.hogql}))`,
    clickhouse: `ifNull((${a}) ${operator} (${b}), ${outcomes[on_null]})`,
  }
}

/** Pattern operators of HogQL, which are null-safe too. */
function matched({ make, word, chance }: Maker): Both {
  const [left, right] = [make('text'), word()]
  const [operator, call, on_null] = chance.one([
    ['=~', `match(LEFT, ${right.clickhouse})`, '0'],
    ['!~', `not(match(LEFT, ${right.clickhouse}))`, '1'],
    ['=~*', `match(LEFT, concat('(?i)', ${right.clickhouse}))`, '0'],
    ['!~*', `not(match(LEFT, concat('(?i)', ${right.clickhouse})))`, '1'],
  ] as const)
  return {
    hogql: `((${left.hogql}) ${operator} ${right.hogql})`,
    clickhouse: `ifNull(${call.replace('LEFT', () => left.clickhouse)}, ${on_null})`,
  }
}

function patternOf(word: Both): Both {
  return both`concat('%', ${word}, '%')`
}

/** NULL is neither between nor not between. */
function between({ make, chance }: Maker): Both {
  const kind = chance.one(KINDS)
  const [value, low, high] = [make(kind), make(kind), make(kind)]
  const not = chance.one(['', 'not '])
  const text = both`((${value}) ${not}between (${low}) and (${high}))`
  return { hogql: text.hogql, clickhouse: `ifNull(${text.clickhouse}, 0)` }
}

/** concat of HogQL makes text of everything, and '' of NULL. */
function concatenated({ make, chance }: Maker): Both {
  const parts = [make('text'), make(chance.one(['int', 'num', 'date', 'text'] as const))]
  return {
    hogql: `concat(${parts.map((part) => part.hogql).join(', ')})`,
    clickhouse: `concat(${parts.map((part) => `ifNull(toString(${part.clickhouse}), '')`).join(', ')})`,
  }
}

const EITHER = [
  'if({cond}, {A}, {A})',
  'multiIf({cond}, {A}, {cond}, {A}, {A})',
  'coalesce({A}, {A})',
  'ifNull({A}, {A})',
  '(case when {cond} then {A} else {A} end)',
]

/** Choices between values of a kind. */
const choices = (kind: Edge): readonly EdgeRecipe[] =>
  many(EITHER.map((text) => text.replaceAll('{A}', `{${kind}}`)))

/** Every way, by the kind it gives. */
export const RECIPES: Readonly<Record<Edge, readonly EdgeRecipe[]>> = {
  cond: [
    compared,
    compared,
    compared,
    matched,
    between,
    ...many([
      '({cond} and {cond})',
      '({cond} or {cond})',
      '(not {cond})',
      'xor({cond}, {cond})',
      '(({text}) is null)',
      '(({date}) is not null)',
      '(({int}) in (1, NULL, {k}))',
      '(({int}) not in (1, {k}))',
      '(({num}) in (NULL, {word}))',
      '(({text}) not in ({word}, NULL))',
      '(({int}) is distinct from ({int}))',
      '(({text}) is not distinct from ({num}))',
      'has({ints}, {int})',
      "has({texts}, ifNull({text}, ''))",
      'hasAny(arrayMap(x -> ifNull(x, {k}), {ints}), [1, 7])',
      "hasAll(arrayFilter(x -> x is not null, {texts}), ['a'])",
      'match({text}, {word})',
      'startsWith({text}, {word})',
      'endsWith({text}, {word})',
      'empty({text})',
      'notEmpty({num})',
      'isNaN({float})',
      'isFinite({float})',
      'arrayExists(x -> x is null, {ints})',
      'arrayAll(x -> x is not null, {texts})',
      'multiSearchAny(ifNull({text}, {word}), [{word}, {word}])',
      '(({int}, {text}) in ((1, {text}), ({int}, {word})))',
    ]),
  ],
  date: [
    ...choices('date'),
    ...many([
      'toDate({time})',
      'toStartOfMonth({date})',
      'toStartOfQuarter({date})',
      'toStartOfYear({date})',
      'toStartOfISOYear({date})',
      'toMonday({date})',
      'toStartOfWeek({date}, {k})',
      "toLastDayOfMonth(least({date}, toDate('2149-05-31')))",
      'toStartOfMonth({time})',
      'toMonday({time})',
      'toStartOfWeek({time})',
      'toStartOfYear({time})',
      "addDays(least({date}, toDate('2148-01-01')), {k})",
      "addMonths(least({date}, toDate('2148-01-01')), {k})",
      "subtractDays(greatest({date}, toDate('1971-01-31')), {k})",
      "subtractMonths(greatest({date}, toDate('1971-01-31')), {k})",
      "addYears(least({date}, toDate('2120-02-29')), {k})",
      "addWeeks(least({date}, toDate('2148-01-01')), {k})",
      'least({date}, {date})',
      'greatest({date}, {date})',
      "dateTrunc('month', {date})",
      "dateTrunc('week', {date})",
      'toDate(toString({date}))',
      'arrayElement([{date}, {date}], 2)',
    ]),
  ],
  float: [
    ...choices('float'),
    ...many([
      'toFloat({num})',
      "toFloatOrZero(ifNull({num}, 'x'))",
      'toFloat64OrZero({num})',
      '({int} / {int})',
      '({float} + {int})',
      '({float} * {float})',
      '({float} - {float})',
      '(-{float})',
      'round({float})',
      'round({float}, {k})',
      'round({float}, -{k})',
      'floor({float}, {k})',
      'ceil({float}, {k})',
      'trunc({float}, {k})',
      'roundBankers({float}, {k})',
      'abs({float})',
      'sqrt({float})',
      'least({float}, {float})',
      'arrayAvg(arrayFilter(x -> x is not null, {ints}))',
      "JSONExtractFloat(concat('{\"a\":', ifNull(toString({int}), 'null'), '}'), 'a')",
      "JSONExtractFloat(concat('{\"a\":\"', ifNull({num}, ''), '\"}'), 'a')",
    ]),
    t('toFloat(toDecimal({num}, {k}))', 'toFloat64(toDecimal64OrNull({num}, {k}))'),
  ],
  int: [
    ...choices('int'),
    ...many([
      'toInt({num})',
      'toInt64OrNull({num})',
      "toIntOrZero(ifNull({num}, 'x'))",
      'toInt64OrZero({num})',
      'length({text})',
      'lengthUTF8({text})',
      'position({num}, {word})',
      'positionUTF8({text}, {word})',
      'positionCaseInsensitiveUTF8({text}, {word})',
      'countSubstrings({text}, {word})',
      'length({texts})',
      'indexOf({ints}, {int})',
      "indexOf({texts}, ifNull({text}, ''))",
      'countEqual({ints}, {int})',
      'arrayUniq({texts})',
      'arrayElement({ints}, {k})',
      '{ints}[{k}]',
      'arrayFirst(x -> x > {k}, {ints})',
      'arrayCount(x -> x is null, {ints})',
      '({int} + {k})',
      '({int} - {k})',
      '({int} % 7)',
      'intDiv({int}, {k})',
      'abs(intDiv({int}, 2))',
      'nullIf({int}, {k})',
      'least({int}, {int})',
      'greatest({int}, {int})',
      'toYear({date})',
      'toMonth({date})',
      'toDayOfWeek({date})',
      'toDayOfYear({date})',
      'toISOWeek({date})',
      'toISOYear({date})',
      'toWeek({date}, 3)',
      'toWeek({date})',
      'toQuarter({date})',
      'toYYYYMM({date})',
      'toYYYYMMDD({date})',
      'toHour({time})',
      'toMinute({time})',
      'toYear({time})',
      'toDayOfWeek({time})',
      'toISOWeek({time})',
      'toUnixTimestamp({time})',
      'toUnixTimestamp(toDateTime({date}))',
      "dateDiff('day', {date}, {date})",
      "dateDiff('week', {date}, {date})",
      "dateDiff('month', {date}, {time})",
      "dateDiff('hour', {time}, {time})",
      "dateDiff('year', {time}, {date})",
      '({date} - {date})',
      'bitAnd({int}, 255)',
      "JSONExtractInt(concat('{\"a\":', ifNull(toString({int}), 'null'), '}'), 'a')",
      "JSONExtractInt(concat('{\"a\":\"', ifNull({num}, ''), '\"}'), 'a')",
    ]),
  ],
  ints: [
    t('arrayFilter(x -> x != 2, {ints})', 'arrayFilter(x -> ifNull(x != 2, 1), {ints})'),
    ...many([
      'arraySort({ints})',
      'arrayReverseSort({ints})',
      'arrayDistinct({ints})',
      'arrayConcat({ints}, {ints})',
      'arrayMap(x -> x + {k}, {ints})',
      'arrayFilter(x -> x > {k}, {ints})',
      'arrayReverse({ints})',
      'arraySlice({ints}, 2)',
      'arrayPushBack({ints}, {int})',
      'arrayPushBack({ints}, NULL)',
      'arrayCompact({ints})',
      'arrayEnumerateUniq({ints})',
      'arrayMap(x -> ifNull(x, -1), {ints})',
      'arrayMap(x -> x is null, {texts})',
      'arrayMap(x -> length(x), {texts})',
      'arrayMap((x, y) -> x, {ints}, {ints})',
      'arrayResize({ints}, {k})',
      'arrayPopFront({ints})',
      '[{int}, {int}]',
      'if({cond}, {ints}, {ints})',
    ]),
  ],
  num: [
    ...choices('num'),
    ...many([
      'toString({int})',
      'toString({float})',
      'toString(toFloat({num}))',
      'toString(toInt({num}))',
      'trim({num})',
      "replaceAll({num}, '1', '')",
      'substringUTF8({num}, {k})',
      "concat({word}, '1')",
      'lower({num})',
      'nullIf({num}, {word})',
      "JSONExtractString(concat('{\"a\":\"', ifNull({num}, ''), '\"}'), 'a')",
    ]),
  ],
  text: [
    concatenated,
    concatenated,
    ...choices('text'),
    ...many([
      'upper({text})',
      'lower({text})',
      'upperUTF8({text})',
      'lowerUTF8({text})',
      'reverseUTF8({text})',
      'substringUTF8({text}, {k})',
      'substringUTF8({text}, {k}, {k})',
      'substringUTF8({text}, -{k})',
      'leftUTF8({text}, {k})',
      'rightUTF8({text}, {k})',
      "leftPadUTF8({text}, 6, '*ö')",
      "rightPadUTF8({text}, 6, 'ß')",
      'replaceAll({text}, {word}, {word})',
      'replaceOne({text}, {word}, {word})',
      "replaceRegexpAll({text}, {word}, '<\\\\0>')",
      "replaceRegexpOne({text}, '(?i)' || {word}, '-')",
      'trim({text})',
      'trimLeft({text})',
      'repeat({text}, {k})',
      "extract({text}, '[a-zö]+')",
      'initcapUTF8(substringUTF8({num}, {k}))',
      'initcap({num})',
      'arrayStringConcat({texts}, {word})',
      "arrayStringConcat(splitByString({word}, {text}), '+')",
      "arrayStringConcat(splitByChar(',', {text}), '+')",
      "arrayStringConcat(extractAll({text}, '.'), '|')",
      'toString({texts})',
      'toString({date})',
      'toString({time})',
      'toString({ints})',
      'hex({text})',
      'base64Encode({text})',
      'encodeURLComponent({text})',
      'decodeURLComponent(encodeURLComponent({text}))',
      'nullIf({text}, {word})',
      'least({text}, {text})',
      'greatest({text}, {num})',
      'arrayElement({texts}, {k})',
      'arrayFirst(x -> x is not null, {texts})',
      "formatDateTime({date}, '%Y %G %V %j %u %m')",
      "formatDateTime({time}, '%F %T')",
      "dateName('weekday', {date})",
      "JSONExtractString(concat('{\"a\":\"', ifNull({text}, ''), '\"}'), 'a')",
      'toValidUTF8({text})',
      "map({word}, {text}, 'zz', {text})[{word}]",
    ]),
  ],
  texts: [
    t(
      'arrayFilter(x -> x != {word}, {texts})',
      'arrayFilter(x -> ifNull(x != {word}, 1), {texts})',
    ),
    ...many([
      'arraySort({texts})',
      'arrayReverseSort({texts})',
      'arrayDistinct({texts})',
      'arrayConcat({texts}, {texts})',
      'arrayMap(x -> upperUTF8(x), {texts})',
      'arrayFilter(x -> x is not null, {texts})',
      'arrayReverse({texts})',
      'arrayPushFront({texts}, {text})',
      'splitByString({word}, assumeNotNull(ifNull({text}, {word})))',
      "extractAll(ifNull({text}, ''), '[^a]')",
      '[{text}, {num}]',
      'if({cond}, {texts}, {texts})',
      'arrayMap(x -> toString(x), {ints})',
      "alphaTokens(ifNull({text}, ''))",
    ]),
  ],
  time: [
    ...choices('time'),
    ...many([
      'toStartOfDay({time})',
      'toStartOfHour({time})',
      'toStartOfMinute({time})',
      'toStartOfFifteenMinutes({time})',
      'toStartOfInterval({time}, toIntervalHour(6))',
      'toStartOfInterval({time}, toIntervalDay({k}))',
      "dateTrunc('hour', {time})",
      "dateTrunc('day', {time})",
      'addHours({time}, {k})',
      '(least({time}, {time}) + toIntervalMinute({k}))',
      'addMinutes({time}, {k})',
      'subtractSeconds({time}, {k})',
      'least({time}, {time})',
      'greatest({time}, {time})',
      'arrayElement([{time}, {time}], 1)',
      'nullIf({time}, {time})',
    ]),
  ],
}
