/** Rows that random queries begin with, and what they are put together from. */

import { type Shown, selectOf } from './random-columns.ts'
import { expressionOf } from './random-parts.ts'
import { type Both, both, type Chance, instant, joined, type Names } from './random-text.ts'

/** A query or a source of rows, and what its columns are. */
export type Rows = { readonly text: Both; readonly names: Names }

/** Fifty rows around the start of summer time, with gaps, ties and arrays. */
export const BASE: Both = joined(
  [
    both`(select toInt64(number) as id`,
    both`toInt64(number % 7) as a`,
    both`toInt64(intDiv(number, 5)) as b`,
    both`toString(number % 4) as s`,
    both`concat('a', toString(number % 3)) as r`,
    both`if(number % 3 = 0, NULL, toInt64(number % 5)) as n`,
    both`if(number % 4 = 1, NULL, concat('a', toString(number % 3))) as m`,
    both`number / 4 as f`,
    both`toDate('2024-03-27') + number % 9 as d`,
    both`${instant('2024-03-30 22:10:00')} + toIntervalMinute(number * 17) as t`,
    both`[toInt64(number % 3), toInt64(number % 2)] as arr from numbers(50))`,
  ],
  ', ',
)

export const BASE_NAMES: Names = [
  { name: 'id', kind: 'int' },
  { name: 'a', kind: 'int' },
  { name: 'b', kind: 'int' },
  { name: 's', kind: 'str' },
  { name: 'r', kind: 'str' },
  { name: 'n', kind: 'maybe' },
  { name: 'm', kind: 'mstr' },
  { name: 'f', kind: 'float' },
  { name: 'd', kind: 'date' },
  { name: 't', kind: 'time' },
  { name: 'arr', kind: 'array' },
]

/** The base under a name. */
export const BASE_ROWS: Rows = { text: both`${BASE} as z`, names: prefixed(BASE_NAMES, 'z') }

export function prefixed(names: Names, table: string): Names {
  return names.map(({ name, kind }) => ({ name: `${table}.${name}`, kind }))
}

/** What may be NULL after an outer join is only read where it could be before. */
export function loosened(names: Names): Names {
  return names.map(({ name, kind }) => ({
    name,
    kind: kind === 'maybe' || kind === 'mstr' ? kind : 'other',
  }))
}

/** Every column, in order. */
export function orderOf({ names }: Rows): string {
  return names.map((_, at) => String(at + 1)).join(', ')
}

export const some = (chance: Chance, most: number): readonly null[] =>
  Array.from({ length: 1 + chance.below(most) }, () => null)

/** ClickHouse has it for its own tables alone. */
const PREWHERE: Both = { hogql: 'prewhere', clickhouse: 'where' }

export function whereOf(names: Names, chance: Chance): Both {
  const cond = (): Both => expressionOf('cond', names, chance, 2)
  return chance.one([
    () => both``,
    () => both` where ${cond()}`,
    () => both` ${PREWHERE} ${cond()}`,
  ])()
}

/** A select of given columns. */
export function selected(columns: readonly Shown[], rest: Both): Rows {
  const { list, names } = selectOf(columns)
  return { text: both`select ${list} ${rest}`, names }
}
