/** Random joins of more than two sides: USING, ASOF and ANY, and arrays opened beside them. */

import { aggregateOf } from './random-columns.ts'
import { expressionOf } from './random-parts.ts'
import { BASE, BASE_NAMES, BASE_ROWS, loosened, prefixed, type Rows } from './random-rows.ts'
import { type Both, both, type Chance, joined, type Names } from './random-text.ts'

/** A source of several sides, by chance. */
export function joinsOf(chance: Chance): Rows {
  return chance.one([usings, usings, nearest, anyRows, opened, chained])(chance)
}

type Side = { readonly name: string; readonly text: Both; names: Names }

/** Rows with a key `k` that each is there once, and two values. */
function keyed(name: string, chance: Chance): Side {
  const key = expressionOf('int', BASE_ROWS.names, chance, 1)
  const { expr, kind } = aggregateOf(BASE_ROWS.names, chance)
  const modulo = String(5 + chance.below(9))
  const text = both`(select toInt64(${key} % ${modulo}) as k, ${expr} as v${name}, max(z.id) as w${name} from ${BASE_ROWS.text} group by k) as ${name}`
  return {
    name,
    text,
    names: [
      { name: `v${name}`, kind },
      { name: `w${name}`, kind: 'int' },
    ],
  }
}

const KINDS = ['join', 'left join', 'right join', 'full join', 'inner join', 'left outer join']

/** Sides with one column of a name, which they are joined by. */
function usings(chance: Chance): Rows {
  const sides: Side[] = [keyed('p', chance)]
  const parts: Both[] = [sides[0]?.text ?? both``]
  let key: 'int' | 'other' = 'int'
  for (const name of ['q', 'x', 'y'].slice(chance.below(3))) {
    const side = keyed(name, chance)
    const kind = chance.one(KINDS)
    if (/right|full/.test(kind)) for (const before of sides) before.names = loosened(before.names)
    if (/left|full/.test(kind)) side.names = loosened(side.names)
    if (kind === 'full join') key = 'other'
    sides.push(side)
    parts.push(both` ${kind} ${side.text} using ${chance.one(['k', '(k)'])}`)
  }
  const names = sides.flatMap((side) => side.names)
  return { text: joined(parts, ''), names: [{ name: 'k', kind: key }, ...names] }
}

/** The one row before or after. No two rows of the right side stand at the same time. */
function nearest(chance: Chance): Rows {
  const kind = chance.one(['asof join', 'asof left join'])
  const operator = chance.one(['>=', '>', '<=', '<'])
  const [own, other] = chance.one([
    ['z.a', 'id % 5'],
    ['z.s', 'toString(id % 3)'],
    ['z.b', 'toInt64(a)'],
  ])
  const moved = String(chance.below(90))
  const right = both`(select ${other} as k, t + toIntervalMinute(${moved}) as u, id as w from ${BASE} where id % ${String(1 + chance.below(4))} = 0) as y`
  const names = prefixed(BASE_NAMES, 'z')
  const found: Names = [
    { name: 'y.w', kind: 'int' },
    { name: 'y.u', kind: 'time' },
  ]
  return {
    text: both`${BASE} as z ${kind} ${right} on z.t ${operator} y.u and ${own} = y.k`,
    names: [...names, ...(kind === 'asof join' ? found : loosened(found))],
  }
}

/** One row of each key, where that is the same one whichever is taken. */
function anyRows(chance: Chance): Rows {
  const side = keyed('y', chance)
  const own = expressionOf('int', prefixed(BASE_NAMES, 'z'), chance, 1)
  const kind = chance.one(['left any join', 'any left join'])
  return {
    text: both`(select *, ${own} % 6 as k from ${BASE} as z) as z ${kind} ${side.text} on z.k = y.k`,
    names: [...prefixed(BASE_NAMES, 'z'), ...loosened(side.names)],
  }
}

/** Arrays of both sides, opened. */
function opened(chance: Chance): Rows {
  const side = keyed('y', chance)
  const left = chance.below(2) === 0
  const names = [...prefixed(BASE_NAMES, 'z'), ...side.names]
  const list = expressionOf('array', names, chance, 2)
  const kept = left ? both`if(empty(${list}), [0], ${list})` : list
  return {
    text: both`${BASE} as z join ${side.text} on z.a = y.k ${left ? 'left ' : ''}array join ${kept} as e`,
    names: [...names, { name: 'e', kind: 'int' }],
  }
}

/** Conditions between sides that stand apart. */
function chained(chance: Chance): Rows {
  const [first, second] = [keyed('y', chance), keyed('x', chance)]
  const kinds = [chance.one(['join', 'left join']), chance.one(['join', 'left join'])]
  const found = kinds[0] === 'join' ? first.names : loosened(first.names)
  const last = kinds[1] === 'join' ? second.names : loosened(second.names)
  const own = prefixed(BASE_NAMES, 'z')
  const key = chance.one([
    both`z.a`,
    both`y.k`,
    both`toInt64(length(arrayFilter(i -> i > z.a, z.arr)))`,
  ])
  return {
    text: both`${BASE} as z ${kinds[0] ?? ''} ${first.text} on z.b = y.k ${kinds[1] ?? ''} ${second.text} on ${key} = x.k`,
    names: [...own, ...found, ...last],
  }
}
