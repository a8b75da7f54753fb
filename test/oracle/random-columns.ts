/** Columns of random questions: aggregates over a source's rows and windows over a sub-select's. */

import {
  type Both,
  both,
  type Chance,
  expressionOf,
  joined,
  type Kind,
  type Names,
} from './random-parts.ts'

export type Shown = { readonly expr: Both; readonly kind: Kind }

/** The list of a select, its columns called c1, c2 … */
export function selectOf(columns: readonly Shown[]): {
  readonly list: Both
  readonly names: Names
} {
  const list = joined(
    columns.map(({ expr }, at) => both`${expr} as c${String(at + 1)}`),
    ', ',
  )
  return { list, names: columns.map(({ kind }, at) => ({ name: `c${at + 1}`, kind })) }
}

const AGGREGATES: readonly (readonly [Kind, string])[] = [
  ['int', 'count()'],
  ['int', 'sum({int})'],
  ['int', 'min({int})'],
  ['int', 'max({maybe})'],
  ['maybe', 'minOrNull({int})'],
  ['float', 'avg({int})'],
  ['float', 'avgOrDefault({int})'],
  ['int', 'uniq({str})'],
  ['int', 'uniqExact({int})'],
  ['int', 'countIf({cond})'],
  ['int', 'sumIf({int}, {cond})'],
  ['int', 'count({maybe})'],
  ['int', 'count(distinct {int})'],
  ['array', 'arraySort(groupArray({int}))'],
  ['array', 'arraySort(groupUniqArray({int}))'],
  ['array', 'arraySort(groupArrayIf({int}, {cond}))'],
  ['array', 'arraySort(groupArray({maybe}))'],
  ['str', 'max({str})'],
  ['str', 'minIf({str}, {cond})'],
  ['date', 'max({date})'],
  ['time', 'min({time})'],
  ['float', 'quantile(0.5)({int})'],
  ['float', 'median({float})'],
  ['float', 'round(stddevPop({int}), 6)'],
  ['int', 'groupBitXor(toUInt64(abs({int})))'],
  ['int', 'sumArray({array})'],
  ['int', 'maxArray({array})'],
  ['int', 'uniqArray({array})'],
  ['maybe', 'sumOrNull({maybe})'],
  ['maybe', 'maxOrNull({int})'],
  ['int', 'sumMap([{k}], [{int}]).2[1]'],
  ['int', 'argMax({int}, (z.id, {int}))'],
  ['int', 'countIf({maybe} is null)'],
  ['int', 'sum(distinct {int})'],
  ['int', 'medianExact({int})'],
  ['int', 'countDistinct({str})'],
]

/** An aggregate by chance. */
export function aggregateOf(names: Names, chance: Chance): Shown {
  const has_id = names.some(({ name }) => name === 'z.id')
  const [kind, text] = chance.one(AGGREGATES.filter(([, one]) => has_id || !one.includes('z.id')))
  const parts = text.split(/\{(\w+)\}/).map((piece, at) => {
    if (at % 2 === 0) return both`${piece}`
    return piece === 'k'
      ? both`${String(chance.below(5))}`
      : expressionOf(piece as Kind, names, chance, 1)
  })
  return { expr: joined(parts, ''), kind }
}

const WINDOWS: readonly (readonly [Kind, string])[] = [
  ['int', 'row_number() over ({p} order by {all})'],
  ['int', 'rank() over ({p} order by {int})'],
  ['int', 'dense_rank() over ({p} order by {str} desc)'],
  ['int', 'sum({int}) over ({p} order by {all} rows between {k} preceding and current row)'],
  ['int', 'sum({int}) over ({p} order by {int})'],
  ['int', 'count() over ({p})'],
  [
    'float',
    'avg({int}) over ({p} order by {all} rows between unbounded preceding and {k} following)',
  ],
  ['int', 'max({int}) over ({p} order by {int} range between {k} preceding and {k} following)'],
  ['int', 'min({int}) over ({p})'],
  ['int', 'lagInFrame({int}) over ({p} order by {all})'],
  [
    'int',
    'leadInFrame({int}, {k}, 0) over ({p} order by {all} rows between unbounded preceding and unbounded following)',
  ],
  ['int', 'first_value({int}) over ({p} order by {all})'],
  [
    'int',
    'last_value({int}) over ({p} order by {all} rows between unbounded preceding and unbounded following)',
  ],
  ['int', 'ntile(3) over ({p} order by {all})'],
  ['int', 'countIf({cond}) over ({p} order by {all})'],
  ['int', 'sum({maybe}) over ({p} order by {all})'],
  [
    'array',
    'arraySort(groupArray({int}) over ({p} order by {all} rows between 2 preceding and current row))',
  ],
  ['int', 'uniqExact({int}) over ({p})'],
  ['str', 'max({str}) over ({p} order by {date})'],
  ['int', 'sum({int}) over ({p} order by {all}) - row_number() over (order by {all})'],
]

/** A window function by chance over a sub-select called z. */
export function windowOf(names: Names, chance: Chance): Shown {
  const all = names.map(({ name }) => name).join(', ')
  const part = chance.one(names).name
  const [kind, text] = chance.one(WINDOWS)
  const parts = text.split(/\{(\w+)\}/).map((piece, at) => {
    if (at % 2 === 0) return both`${piece}`
    if (piece === 'p') return both`${chance.below(2) === 0 ? '' : `partition by ${part}`}`
    if (piece === 'all') return both`${all}`
    if (piece === 'k') return both`${String(1 + chance.below(3))}`
    return expressionOf(piece as Kind, names, chance, 1)
  })
  return { expr: joined(parts, ''), kind }
}
