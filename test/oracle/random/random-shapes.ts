/** Random selects around rows that others made: subtotals, half-done aggregates, filled gaps, names from WITH. */

import { aggregateOf, type Shown, selectOf, stateOf } from './random-columns.ts'
import { expressionOf } from './random-parts.ts'
import {
  BASE,
  BASE_ROWS,
  orderOf,
  prefixed,
  type Rows,
  selected,
  some,
  whereOf,
} from './random-rows.ts'
import { type Both, both, type Chance, joined, type Kind, type Names } from './random-text.ts'

/** Makes a query around another. */
export type Shape = (inner: () => Rows, chance: Chance) => Rows

const KEYS: readonly Kind[] = ['int', 'str', 'maybe', 'mstr', 'date', 'cond']

function keysOver(names: Names, chance: Chance, most: number): readonly Shown[] {
  return some(chance, most).map((): Shown => {
    const kind = chance.one(KEYS)
    return { expr: expressionOf(kind, names, chance, 1), kind }
  })
}

/** What is left out of a group is NULL. */
const subtotalled = ({ expr, kind }: Shown): Shown => ({
  expr,
  kind:
    kind === 'int' || kind === 'maybe'
      ? 'maybe'
      : kind === 'str' || kind === 'mstr'
        ? 'mstr'
        : 'other',
})

const subtotals: Shape = (inner, chance) => {
  const { text, names: own } = inner()
  const names = prefixed(own, 'z')
  const keys = keysOver(names, chance, 3)
  const aliases = keys.map((_, at) => `c${at + 1}`)
  const sets = [aliases, aliases.slice(1), aliases.slice(0, 1), []].map(
    (set) => `(${set.join(', ')})`,
  )
  const by = chance.one([
    `rollup(${aliases.join(', ')})`,
    `cube(${aliases.join(', ')})`,
    `grouping sets (${sets.slice(chance.below(3)).join(', ')})`,
    `${aliases.join(', ')} with rollup`,
    `${aliases.join(', ')} with cube`,
  ])
  const marks = aliases.map((key): Shown => ({ expr: both`grouping(${key})`, kind: 'int' }))
  const shown = some(chance, 2).map(() => aggregateOf(names, chance))
  const having = chance.one(['', '', ' having count() > 1', ' having grouping(c1) = 0'])
  return selected(
    [...keys.map(subtotalled), ...shown, ...marks],
    both`from (${text}) as z${whereOf(names, chance)} group by ${by}${having}`,
  )
}

/** Aggregates kept half-done by finer groups. */
const states: Shape = (inner, chance) => {
  const { text, names: own } = inner()
  const names = prefixed(own, 'z')
  const keys = [...keysOver(names, chance, 2), ...keysOver(names, chance, 1)]
  const made = some(chance, 3).map(() => stateOf(names, chance))
  const fine = selectOf([
    ...keys,
    ...made.map(({ state }): Shown => ({ expr: state, kind: 'other' })),
  ])
  const by = keys.map((_, at) => `c${at + 1}`).join(', ')
  const [first] = keys
  const merged = made.map(
    ({ merge, kind }, at): Shown => ({ expr: merge(both`c${String(keys.length + at + 1)}`), kind }),
  )
  const rows = both`from (select ${fine.list} from (${text}) as z${whereOf(names, chance)} group by ${by}) as y`
  if (first === undefined || chance.below(4) === 0) return selected(merged, rows)
  return selected([{ expr: both`y.c1`, kind: first.kind }, ...merged], both`${rows} group by y.c1`)
}

type Filling = readonly [key: string, bounds: readonly string[]]

const FILLINGS: readonly Filling[] = [
  ['a * 3', ['', 'from -2 to 9', 'to 25 step 2', 'step 3', 'from 5']],
  ['b', ['', 'to 14', 'from 0 to 20 step 4']],
  ['toInt64(id % 4 * 5)', ['', 'step 5', 'step 2', 'from 1 to 8']],
  ['f * 2', ['step 0.5', 'from 0 to 3 step 0.25']],
  [
    'd',
    [
      '',
      "from toDate('2024-03-25')",
      "to toDate('2024-04-09')",
      'step 2',
      'step toIntervalWeek(1)',
      "from toDate('2024-01-01') to toDate('2024-06-01') step toIntervalMonth(1)",
    ],
  ],
  ['toStartOfHour(t)', ['step 3600', 'step toIntervalHour(1)', 'step toIntervalMinute(90)']],
  ['toStartOfDay(t)', ['step toIntervalDay(1)']],
]

const filled: Shape = (_, chance) => {
  const [key, bounds] = chance.one(FILLINGS)
  const names = BASE_ROWS.names
  const where = both` where ${expressionOf('cond', names, chance, 1)} and a != ${String(chance.below(7))}`
  const aggregates = some(chance, 2).map(() => aggregateOf(names, chance))
  const columns: readonly Shown[] = [{ expr: both`${key}`, kind: 'other' }, ...aggregates]
  const { list, names: shown } = selectOf(columns)
  const fill = `c1 with fill ${chance.one(bounds)}`
  const rows = both`from ${BASE} as z${where} group by c1`
  const limit = chance.one(['', '', ' limit 7', ' limit 5 offset 2'])
  return { text: both`select ${list} ${rows} order by ${fill}${limit}`, names: shown }
}

/** Filled within each value of another key, and what is missing made of what was before. */
const filledWithin: Shape = (_, chance) => {
  const before = chance.one(['s', 'a', 'r', 'm', 'n'])
  const [key, bounds] = chance.one(FILLINGS.slice(1, 5))
  const bound = chance.one(bounds)
  const down = chance.one(['', ' desc'])
  const rows = both`from ${BASE} as z where ${expressionOf('cond', BASE_ROWS.names, chance, 1)} and id < 30 or id = 11 group by c1, c2`
  // Before a group's first row ClickHouse goes on from the group before.
  const carried = bound.startsWith('from') ? '' : chance.one(['', ' interpolate (c3 as c3 + 1)'])
  const text = both`select ${before} as c1, ${key} as c2, count() as c3, max(id) as c4 ${rows} order by c1${down}, c2 with fill ${bound}${carried}`
  const names: Names = ['c1', 'c2', 'c3', 'c4'].map((name) => ({ name, kind: 'other' }))
  return { text, names }
}

/** Names from WITH that read each other, and a value among them. */
const named: Shape = (inner, chance) => {
  const first = inner()
  const names = prefixed(first.names, 'u')
  const columns = some(chance, 3).map((): Shown => {
    const kind = chance.one<Kind>(['int', 'str', 'maybe', 'date', 'array', 'time', 'mstr'])
    return { expr: expressionOf(kind, names, chance, 1), kind }
  })
  const second = selected(columns, both`from one as u${whereOf(names, chance)}`)
  const outer = prefixed(second.names, 'v')
  const k = String(1 + chance.below(4))
  const shown: readonly Shown[] = [
    { expr: expressionOf('int', [...outer, { name: 'k', kind: 'int' }], chance, 1), kind: 'int' },
    { expr: both`(select count() from one)`, kind: 'other' },
    { expr: both`v.c1`, kind: second.names[0]?.kind ?? 'other' },
  ]
  const last = chance.one([
    both``,
    both` where v.c1 in (select c1 from two)`,
    both` where (select count() from two) > k`,
    both` where v.c1 not in (with three as (select c1 from two order by c1 limit 2) select c1 from three)`,
    both` cross join (select count() as n from two) as w`,
  ])
  const rows = selected(shown, both`from two as v${last}`)
  return {
    text: both`with ${k} as k, one as (${first.text}), two as (${second.text}) ${rows.text}`,
    names: rows.names,
  }
}

/** Rows opened in the list of the select. */
const openedInList: Shape = (inner, chance) => {
  const { text, names: own } = inner()
  const names = prefixed(own, 'z')
  const columns: Shown[] = some(chance, 2).map(
    (): Shown => ({
      expr: both`arrayJoin(${expressionOf('array', names, chance, 1)})`,
      kind: 'int',
    }),
  )
  const kind = chance.one(KEYS)
  columns.push({ expr: expressionOf(kind, names, chance, 1), kind })
  return selected(columns, both`from (${text}) as z${whereOf(names, chance)}`)
}

/** Values and sets of other selects. */
const asked: Shape = (inner, chance) => {
  const { text, names: own } = inner()
  const other = inner()
  const names = prefixed(own, 'z')
  const total = aggregateOf(prefixed(other.names, 'z'), chance)
  const columns: readonly Shown[] = [
    { expr: both`(select ${total.expr} from (${other.text}) as z)`, kind: 'other' },
    ...own.map(({ name, kind }): Shown => ({ expr: both`z.${name}`, kind })),
  ]
  const at = other.names.find(({ kind }) => kind === 'int' || kind === 'str' || kind === 'maybe')
  const left =
    at === undefined || at.kind === 'other' ? null : expressionOf(at.kind, names, chance, 1)
  const where =
    left === null
      ? whereOf(names, chance)
      : both` where ${left} ${chance.one(['in', 'not in'])} (select ${at?.name ?? ''} from (${other.text}) as y)`
  return selected(columns, both`from (${text}) as z${where}`)
}

/** One column per value. */
const pivoted: Shape = (_, chance) => {
  const value = expressionOf('int', BASE_ROWS.names, chance, 1)
  const rows = both`(select a as g, s, toInt64(${value}) as v from ${BASE} as z)`
  const names: Names = ['g', 'c0', 'c1', 'c2'].map((name) => ({ name, kind: 'other' }))
  const cells = ['0', '1', '3'].map((cell, at) => `sumIf(v, s = '${cell}') as c${at}`).join(', ')
  return {
    text: {
      hogql: `select g, c0, c1, c2 from ${rows.hogql} pivot (sum(v) for s in ('0' as c0, '1' as c1, '3' as c2) group by g)`,
      clickhouse: `select g, ${cells} from ${rows.clickhouse} group by g`,
    },
    names,
  }
}

/** Sets of sets, as they bind and in brackets. */
const sets: Shape = (_, chance) => {
  const leg = (): Both =>
    both`select ${expressionOf('int', BASE_ROWS.names, chance, 0)} as c1, ${expressionOf('str', BASE_ROWS.names, chance, 0)} as c2 from ${BASE_ROWS.text}${whereOf(BASE_ROWS.names, chance)}`
  const operators = [
    'union all',
    'union distinct',
    'intersect',
    'except',
    'intersect distinct',
    'except distinct',
  ]
  const parts = some(chance, 3).map(
    () => both` ${chance.one(operators)} ${bracketed(leg(), chance)}`,
  )
  return {
    text: both`select * from (${leg()}${joined(parts, '')})`,
    names: [
      { name: 'c1', kind: 'int' },
      { name: 'c2', kind: 'str' },
    ],
  }
}

function bracketed(leg: Both, chance: Chance): Both {
  return chance.below(2) === 0 ? leg : both`(${leg})`
}

/** The first rows of each group, some left out, among rows in one order. */
const firstOfEach: Shape = (inner, chance) => {
  const rows = inner()
  const [first, second] = [chance.one(rows.names).name, chance.one(rows.names).name]
  const order = rows.names
    .map(
      (_, at) =>
        `${at + 1}${chance.one(['', ' desc', ' desc nulls first', ' asc nulls first', ' nulls last'])}`,
    )
    .join(', ')
  const n = String(1 + chance.below(3))
  const by = chance.one([`limit ${n} offset 1 by ${first}`, `limit 1, ${n} by ${first}, ${second}`])
  const rest = chance.one(['', ' limit 4', ' limit 3 offset 1'])
  return {
    text: both`select * from (${rows.text}) as z order by ${order} ${by}${rest}`,
    names: rows.names,
  }
}

/** An order in which NULLs stand on either side, cut off. */
const orderedNulls: Shape = (inner, chance) => {
  const rows = inner()
  const words = [
    '',
    ' desc',
    ' desc nulls first',
    ' asc nulls first',
    ' nulls last',
    ' desc nulls last',
  ]
  const order = rows.names.map((_, at) => `${at + 1}${chance.one(words)}`).join(', ')
  const n = String(1 + chance.below(9))
  return {
    text: both`select * from (${rows.text}) as z order by ${order} limit ${n}`,
    names: rows.names,
  }
}

/** Every shape, the ones with more in them more often. */
export const SHAPES: readonly Shape[] = [
  subtotals,
  subtotals,
  states,
  states,
  filled,
  filledWithin,
  named,
  named,
  openedInList,
  asked,
  pivoted,
  sets,
  firstOfEach,
  orderedNulls,
]

/** The rows of a query one after the other. */
export function inOrder(rows: Rows): Both {
  return both`select * from (${rows.text}) order by ${orderOf(rows)} limit 5000`
}
