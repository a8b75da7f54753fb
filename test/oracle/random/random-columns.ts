/** Columns of random queries: aggregates over a source's rows and windows over a sub-select's. */

import { expressionOf } from './random-parts.ts'
import { type Both, both, type Chance, joined, type Kind, type Names } from './random-text.ts'

/** A column, and what it may be used as further out. */
export type Shown = { readonly expr: Both; readonly kind: Kind | 'other' }

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

const AGGREGATES: readonly (readonly [Shown['kind'], string])[] = [
  ['int', 'count()'],
  ['int', 'sum({int})'],
  ['int', 'min({int})'],
  ['maybe', 'max({maybe})'],
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
  ['int', 'sum({int}) filter (where {cond})'],
  ['other', 'sumForEach({array})'],
  ['int', 'sumArrayIf({array}, {cond})'],
  ['array', 'arraySort(groupUniqArrayArray({array}))'],
  ['float', 'avgIf({int}, {cond})'],
  ['other', 'avgOrNull({maybe})'],
  ['int', 'argMinIf({int}, ({int}, {all}), {cond})'],
  ['str', 'argMax({str}, ({str}, {all}))'],
  ['float', 'quantileIf(0.25)({int}, {cond})'],
  ['other', 'quantiles(0.1, 0.5, 0.9)({int})'],
  ['int', 'uniqIf({str}, {cond})'],
  ['int', 'uniq({int}, {str})'],
  ['int', 'count(distinct {int}, {str})'],
  ['int', 'groupBitOr(toUInt64(abs({int} % 1000)))'],
  ['maybe', 'sumOrDefault({maybe})'],
  ['mstr', 'max({mstr})'],
  ['mstr', 'minOrNull({str})'],
  ['int', 'count({mstr})'],
  ['array', 'arrayMap(x -> length(x), arraySort(groupArray({mstr})))'],
  ['int', 'sum({int} * {k}) - sum({int})'],
  ['int', 'if(count() > {k}, max({int}), min({int}))'],
  ['int', 'length(groupUniqArray({mstr}))'],
  ['other', 'arraySort(groupArray(({int}, {str})))'],
  ['other', "sumMap(map(concat('k', {str}), {int}))"],
  ['other', 'maxMap([{k}, 7], [{int}, {int}])'],
  ['other', 'max(({int}, {str}))'],
  ['other', 'retention({cond}, {cond}, {cond})'],
  ['float', 'round(covarPop({int} % 100, {int} % 100), 4)'],
  ['int', 'countIf(distinct {int}, {cond})'],
  ['int', 'maxIf({int}, {maybe} > {k})'],
  ['array', 'arraySlice(arraySort(groupArray({int})), 1, 3)'],
  ['date', 'argMax({date}, ({date}, {all}))'],
  ['maybe', 'sumIf({maybe}, {cond})'],
  ['float', 'medianExactWeighted({int}, toUInt64(abs({int} % 5)))'],
]

/** An aggregate by chance. */
export function aggregateOf(names: Names, chance: Chance): Shown {
  const has_id = names.some(({ name }) => name === 'z.id')
  const [kind, text] = chance.one(AGGREGATES.filter(([, one]) => has_id || !one.includes('z.id')))
  const parts = text.split(/\{(\w+)\}/).map((piece, at) => {
    if (at % 2 === 0) return both`${piece}`
    if (piece === 'all') return both`${names.map(({ name }) => name).join(', ')}`
    return piece === 'k'
      ? both`${String(chance.below(5))}`
      : expressionOf(piece as Kind, names, chance, 1)
  })
  return { expr: joined(parts, ''), kind }
}

/** An aggregate in two steps: kept half-done, and put together again. */
type State = {
  readonly state: Both
  readonly merge: (state: Both) => Both
  readonly kind: Shown['kind']
}

const STATES: readonly (readonly [Shown['kind'], string, string, string])[] = [
  ['int', 'sum', '', '{int}'],
  ['other', 'sum', '', '{maybe}'],
  ['int', 'count', '', ''],
  ['int', 'count', '', '{mstr}'],
  ['float', 'avg', '', '{int}'],
  ['int', 'min', '', '{int}'],
  ['str', 'max', '', '{str}'],
  ['other', 'max', '', '{maybe}'],
  ['int', 'uniq', '', '{str}'],
  ['int', 'uniqExact', '', '{int}'],
  ['int', 'uniqIf', '', '{int}, {cond}'],
  ['float', 'median', '', '{int}'],
  ['float', 'quantile', '(0.3)', '{int}'],
  ['int', 'argMax', '', '{int}, ({int}, {all})'],
  ['int', 'countIf', '', '{cond}'],
  ['int', 'sumIf', '', '{int}, {cond}'],
  ['float', 'avgIf', '', '{int}, {cond}'],
  ['other', 'sumMap', '', "map(concat('k', {str}), {int})"],
]

/** An aggregate by chance, in its two steps. */
export function stateOf(names: Names, chance: Chance): State {
  const [kind, name, params, text] = chance.one(STATES)
  const parts = text.split(/\{(\w+)\}/).map((piece, at) => {
    if (at % 2 === 0) return both`${piece}`
    if (piece === 'all') return both`${names.map((known) => known.name).join(', ')}`
    return expressionOf(piece as Kind, names, chance, 1)
  })
  const [plain, condition] = name.endsWith('If') ? [name.slice(0, -2), 'If'] : [name, '']
  return {
    state: both`${plain}State${condition}${params}(${joined(parts, '')})`,
    merge: (state) => both`${plain}Merge${params}(${state})`,
    kind,
  }
}

const WINDOWS: readonly (readonly [Shown['kind'], string])[] = [
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
  ['int', 'leadInFrame({int}) over ({p} order by {all} {frame})'],
  ['int', 'lagInFrame({int}, {k}) over ({p} order by {all} {frame})'],
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
  ['int', 'sum({int}) over ({p} order by {all} {frame})'],
  ['int', 'max({int}) over ({p} order by {all} desc {frame})'],
  ['int', 'count({maybe}) over ({p} order by {all} {frame})'],
  ['int', 'countIf({cond}) over ({p} order by {all} {frame})'],
  ['int', 'sumIf({int}, {cond}) over ({p} order by {all} {frame})'],
  ['int', 'uniqExact({int}) over ({p} order by {all} {frame})'],
  ['float', 'avg({float}) over ({p} order by {all} {frame})'],
  ['other', 'arraySort(groupArray({int}) over ({p} order by {all} {frame}))'],
  ['int', 'first_value({int}) over ({p} order by {all} {frame})'],
  ['str', 'last_value({str}) over ({p} order by {all} {frame})'],
  ['int', 'argMax({int}, ({int}, {all})) over ({p} order by {all} {frame})'],
  ['float', 'percent_rank() over ({p} order by {int})'],
  ['float', 'cume_dist() over ({p} order by {int})'],
  ['int', 'sum({int}) over ({p} order by {date} range between {k} preceding and current row)'],
  [
    'int',
    'count() over ({p} order by {int} desc range between unbounded preceding and {k} following)',
  ],
  ['mstr', 'min({mstr}) over ({p} order by {all} {frame})'],
  ['int', 'quantileExact(0.5)({int}) over ({p} order by {all} {frame})'],
  ['int', 'rank() over ({p} order by {maybe} desc nulls first)'],
  ['int', 'dense_rank() over ({p} order by {mstr})'],
]

const ENDS = [
  'unbounded preceding',
  '3 preceding',
  '1 preceding',
  'current row',
  '1 following',
  '2 following',
  'unbounded following',
]

/** Any frame that ends where it begins or later. */
function frameOf(chance: Chance): string {
  const from = chance.below(ENDS.length - 1)
  const to = Math.max(1, from + chance.below(ENDS.length - from))
  if (chance.below(5) === 0 && from < 4) return `rows ${ENDS[from]}`
  return `rows between ${ENDS[from]} and ${ENDS[to]}`
}

/** A window function by chance over a sub-select called z. */
export function windowOf(names: Names, chance: Chance): Shown {
  const all = names.map(({ name }) => name).join(', ')
  const part = chance.one(names).name
  const [kind, text] = chance.one(WINDOWS)
  const parts = text.split(/\{(\w+)\}/).map((piece, at) => {
    if (at % 2 === 0) return both`${piece}`
    if (piece === 'p') return both`${chance.below(2) === 0 ? '' : `partition by ${part}`}`
    if (piece === 'all') return both`${all}`
    if (piece === 'frame') return both`${frameOf(chance)}`
    if (piece === 'k') return both`${String(1 + chance.below(3))}`
    return expressionOf(piece as Kind, names, chance, 1)
  })
  return { expr: joined(parts, ''), kind }
}
