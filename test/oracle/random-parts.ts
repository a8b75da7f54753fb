/** Random expressions of HogQL by type, with ClickHouse's text where HogQL's own rules must be written out. */

/** One text in both languages. */
export type Both = { readonly hogql: string; readonly clickhouse: string }
export type Kind = 'array' | 'cond' | 'date' | 'float' | 'int' | 'maybe' | 'str' | 'time'
/** What can be named at some place. */
export type Names = readonly { readonly name: string; readonly kind: Kind }[]

/** Numbers by chance, the same ones for the same seed. */
export type Chance = {
  readonly below: (count: number) => number
  readonly one: <Item>(items: readonly Item[]) => Item
}

export function chanceOf(seed: number): Chance {
  let state = (seed * 2654435761 + 97) >>> 0
  const below = (count: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0
    return ((mixed ^ (mixed >>> 16)) >>> 0) % count
  }
  return {
    below,
    one: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to choose from')
      return item
    },
  }
}

/** A text with texts in it, in both languages. */
export function both(pieces: TemplateStringsArray, ...parts: readonly (Both | string)[]): Both {
  const join = (of: keyof Both): string =>
    pieces.map((piece, at) => piece + (at < parts.length ? textOf(parts[at], of) : '')).join('')
  return { hogql: join('hogql'), clickhouse: join('clickhouse') }
}

function textOf(part: Both | string | undefined, of: keyof Both): string {
  if (part === undefined) return ''
  return typeof part === 'string' ? part : part[of]
}

export function joined(parts: readonly Both[], between: string): Both {
  return {
    hogql: parts.map((part) => part.hogql).join(between),
    clickhouse: parts.map((part) => part.clickhouse).join(between),
  }
}

/** A time with microseconds, as HogQL's toDateTime gives it. */
export function instant(text: string): Both {
  return { hogql: `toDateTime('${text}')`, clickhouse: `toDateTime64('${text}', 6)` }
}

type Make = (kind: Kind) => Both
type Recipe = (make: Make, chance: Chance, names: Names) => Both

/** A template: `{int}` is any expression of that kind, `{k}` a small number. */
const t =
  (text: string): Recipe =>
  (make, chance) => {
    const pieces = text.split(/\{(\w+)\}/)
    const parts = pieces.map((piece, at) => {
      if (at % 2 === 0) return both`${piece}`
      return piece === 'k' ? both`${String(1 + chance.below(5))}` : make(piece as Kind)
    })
    return joined(parts, '')
  }

const many = (texts: readonly string[]): readonly Recipe[] => texts.map(t)

const UNITS = ['minute', 'hour', 'day', 'week', 'month', 'quarter', 'year']

/** Ways to make an expression out of others. A null-safe comparison is written out for ClickHouse. */
const RECIPES: Readonly<Record<Kind, readonly Recipe[]>> = {
  int: [
    ...many([
      '{k}',
      '({int} + {int})',
      '({int} - {int})',
      '({int} * {k})',
      'intDiv({int}, {k})',
      '({int} % {k})',
      'positiveModulo({int}, {k})',
      'length({str})',
      'abs({int})',
      'toHour({time})',
      'toDayOfMonth({date})',
      'toDayOfWeek({time})',
      'toYYYYMM({time})',
      'toISOWeek({date})',
      'if({cond}, {int}, {int})',
      'multiIf({cond}, {int}, {cond}, {int}, {int})',
      'length({array})',
      'arraySum({array})',
      'indexOf({array}, {int})',
      'ifNull({maybe}, {int})',
      'coalesce({maybe}, {maybe}, {int})',
      'least({int}, {int})',
      'greatest({int}, {k})',
      "position({str}, 'a')",
      'sign({int})',
      'toUnixTimestamp({time})',
      'arrayCount(x -> x > {k}, {array})',
      "arrayReduce('max', {array})",
      '{array}[{k}]',
      'arrayElement({array}, -1)',
      'countEqual({array}, {k})',
      'toUInt8({cond})',
      'bitAnd({int}, 6)',
      'transform({int}, [1, 2, 3], [10, 20, 30], 0)',
      'toInt64({float})',
      'assumeNotNull(ifNull({maybe}, {k}))',
      '(CASE {k} WHEN 1 THEN {int} WHEN 2 THEN {int} ELSE {k} END)',
      'tupleElement(({int}, {str}), 1)',
      '({str}, {int}).2',
      'arrayFold((acc, x) -> acc + x * {k}, {array}, toInt64({k}))',
    ]),
    (make, chance) => both`dateDiff('${chance.one(UNITS)}', ${make('time')}, ${make('time')})`,
    (make, chance) => both`age('${chance.one(UNITS.slice(2))}', ${make('date')}, ${make('date')})`,
  ],
  float: many([
    '{float} + {k} / 4',
    '({float} * {float})',
    '({int} / {k})',
    'round({float}, 1)',
    'floor({float})',
    'ceil({float})',
    'sqrt(abs({float}))',
    'toFloat64({int})',
    'if({cond}, {float}, {float})',
    'arrayAvg({array})',
    '({int} / {int})',
    'round({int} / {k})',
    'ifNull({maybe} * 1.5, {float})',
    'trunc({float})',
    '-{float}',
  ]),
  maybe: many([
    'nullIf({int}, {k})',
    '{maybe} + {int}',
    'if({cond}, {maybe}, {int})',
    'if({cond}, {int}, NULL)',
    '{maybe} * {maybe}',
    'toInt64OrNull({str})',
    'nullIf({maybe}, {k})',
    'coalesce({maybe}, {maybe})',
    'abs({maybe})',
    'intDiv({maybe}, {k})',
  ]),
  str: many([
    "concat({str}, '-', {str})",
    'upper({str})',
    'toString({int})',
    'toString({date})',
    'toString({maybe} is null)',
    'substring({str}, {k}, {k})',
    'if({cond}, {str}, {str})',
    "arrayStringConcat(arrayMap(x -> toString(x + {k}), {array}), '+')",
    "replaceAll({str}, 'a', 'bb')",
    "formatDateTime({time}, '%Y-%m-%d %H:%i')",
    'left({str}, {k})',
    "splitByChar('a', {str})[{k}]",
    'reverse({str})',
    "ifNull(toString({maybe}), 'none')",
    "dateName('month', {date})",
    "multiIf({cond}, 'x', {cond}, {str}, 'y')",
    "leftPad({str}, 5, '0')",
    'trim({str})',
    "replaceRegexpAll({str}, '[0-9]+', '#')",
  ]),
  date: many([
    'toDate({time})',
    'toStartOfMonth({time})',
    'toMonday({date})',
    '{date} + {k}',
    '{date} - {k}',
    'addMonths({date}, {k})',
    'toLastDayOfMonth({date})',
    'toStartOfWeek({time}, 0)',
    'toStartOfWeek({date}, 3)',
    'toStartOfQuarter({date})',
    'if({cond}, {date}, {date})',
    'least({date}, {date})',
    'addWeeks({date}, {k})',
    '({date} + toIntervalMonth({k}))',
    'toStartOfYear({time})',
  ]),
  time: [
    ...many([
      '({time} + toIntervalHour({k}))',
      '({time} - toIntervalMinute({k}))',
      '({time} + toIntervalDay({k}))',
      'toStartOfHour({time})',
      'toStartOfDay({time})',
      'addDays({time}, {k})',
      'toStartOfInterval({time}, toIntervalHour(6))',
      'toStartOfInterval({time}, toIntervalMinute(15))',
      'addMonths({time}, {k})',
      'subtractWeeks({time}, {k})',
      'toStartOfFifteenMinutes({time})',
      'greatest({time}, {time})',
      'if({cond}, {time}, {time})',
    ]),
    (make, chance) => both`dateTrunc('${chance.one(['minute', 'hour', 'day'])}', ${make('time')})`,
  ],
  array: many([
    'arrayMap(x -> x * {k} + {int}, {array})',
    'arrayFilter(x -> x > {k}, {array})',
    'range(toUInt8({k}))',
    'arraySort({array})',
    'arraySort(x -> -x, arrayDistinct({array}))',
    'arrayConcat({array}, {array})',
    'arrayReverse({array})',
    'arrayDistinct({array})',
    'arraySlice({array}, {k}, 2)',
    '[{int}, {k}]',
    'arrayPushBack({array}, {int})',
    'if({cond}, {array}, {array})',
    'arrayCumSum({array})',
  ]),
  cond: [
    ...many([
      '({int} > {int})',
      '({int} = {k})',
      '({str} < {str})',
      '({str} != {str})',
      '({date} >= {date})',
      '({time} < {time})',
      '({int} in (1, {k}, 3))',
      '({int} between {k} and 4)',
      "({str} like '%a%')",
      '({cond} and {cond})',
      '({cond} or {cond})',
      '(not {cond})',
      '({maybe} is null)',
      '({maybe} is not null)',
      'has({array}, {int})',
      "startsWith({str}, 'a')",
      'empty({array})',
      'arrayExists(x -> x = {k}, {array})',
      '({float} > {k})',
      '(({int}, {str}) = ({int}, {str}))',
      'notEmpty({str})',
    ]),
    comparedMaybe,
  ],
}

const SAFE: readonly (readonly [operator: string, on_null: string])[] = [
  ['=', '0'],
  ['!=', '1'],
  ['<', '0'],
  ['>=', '0'],
]

/** HogQL answers what ClickHouse leaves NULL. */
function comparedMaybe(make: Make, chance: Chance): Both {
  const [operator, on_null] = chance.one(SAFE)
  const number = String(chance.below(5))
  const left = make('maybe')
  return {
    hogql: `(${left.hogql} ${operator} ${number})`,
    clickhouse: `ifNull(${left.clickhouse} ${operator} ${number}, ${on_null})`,
  }
}

const PLAIN: Readonly<Record<Kind, readonly string[]>> = {
  int: ['0', '1', '3', '-2', '7'],
  float: ['0.5', '1.25', '-2.5'],
  maybe: ['NULLIF(1, 1)'],
  str: ["''", "'a'", "'ab1'", "'zz'"],
  date: ["toDate('2024-03-31')", "toDate('2024-02-29')", "toDate('2023-12-31')"],
  time: [],
  array: ['[1, 2]', '[3]', '[2, 2, 1]'],
  cond: ['(1 = 1)', '(1 = 2)'],
}

/** Any expression of a kind over some names. */
export function expressionOf(kind: Kind, names: Names, chance: Chance, depth = 2): Both {
  const own = names.filter((known) => known.kind === kind)
  const is_leaf = depth <= 0 || chance.below(5) < 2
  if (is_leaf && (own.length > 0 || kind === 'time'))
    return own.length > 0 ? both`${chance.one(own).name}` : instant('2024-03-31 00:30:00')
  if (depth <= 0) return both`${chance.one(PLAIN[kind])}`
  const make: Make = (inner) => expressionOf(inner, names, chance, depth - 1)
  return chance.one(RECIPES[kind])(make, chance, names)
}
