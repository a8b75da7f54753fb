/** Random whole queries in both languages: sources, groups, windows, limits and sets put together by chance. */

import { aggregateOf, type Shown, selectOf, windowOf } from './random-columns.ts'
import { joinsOf } from './random-joins.ts'
import { expressionOf } from './random-parts.ts'
import {
  BASE,
  BASE_NAMES,
  BASE_ROWS,
  loosened,
  orderOf,
  prefixed,
  type Rows,
  some,
  whereOf,
} from './random-rows.ts'
import { inOrder, SHAPES } from './random-shapes.ts'
import { type Both, both, type Chance, chanceOf, type Kind, type Names } from './random-text.ts'

const SHOWN: readonly Kind[] = [
  'int',
  'float',
  'str',
  'maybe',
  'mstr',
  'date',
  'time',
  'array',
  'cond',
]
const KEYS: readonly Kind[] = ['int', 'str', 'maybe', 'mstr', 'date', 'cond']

/** The query of a seed, its rows in one order. */
export function randomQuery(seed: number): Both {
  const chance = chanceOf(seed)
  return inOrder(rowsOf(chance, 2))
}

function rowsOf(chance: Chance, depth: number): Rows {
  const maker = chance.one([plain, grouped, windowed, united, withNamed, shaped, shaped, shaped])
  return maker(chance, depth)
}

function shaped(chance: Chance, depth: number): Rows {
  return chance.one(SHAPES)(
    () => (depth > 0 ? rowsOf(chance, depth - 1) : grouped(chance, 0)),
    chance,
  )
}

// ── sources ──────────────────────────────────────────────────────────────────────────────────

function sourceOf(chance: Chance, depth: number): Rows {
  if (depth <= 0) return BASE_ROWS
  const pick = chance.below(9)
  if (pick < 2) return BASE_ROWS
  if (pick > 6) return joinsOf(chance)
  if (pick === 2) {
    const { text, names } = rowsOf(chance, depth - 1)
    return { text: both`(${text}) as z`, names: prefixed(names, 'z') }
  }
  if (pick === 3) return arrayJoined(chance, BASE_ROWS)
  return joinedRows(chance, depth)
}

function arrayJoined(chance: Chance, base: Rows): Rows {
  const left = chance.below(2) === 0
  const list = expressionOf('array', base.names, chance, 1)
  const kept = left ? both`if(empty(${list}), [0], ${list})` : list
  return {
    text: both`${base.text} ${left ? 'left ' : ''}array join ${kept} as x`,
    names: [...base.names, { name: 'x', kind: 'int' }],
  }
}

const JOINS = [
  'join',
  'left join',
  'full join',
  'right join',
  'semi join',
  'anti join',
  'cross join',
]

function joinedRows(chance: Chance, depth: number): Rows {
  const left = both`(select * from ${BASE} where id < ${String(3 + chance.below(20))}) as z`
  const small = groupedBy(chance, depth - 1)
  const kind = chance.one(JOINS)
  const key = small.names[0]
  const own = prefixed(BASE_NAMES, 'z')
  if (key === undefined || kind === 'cross join')
    return {
      text: both`${left} cross join (select * from (${small.text}) order by ${orderOf(small)} limit 2) as y`,
      names: [...own, ...prefixed(small.names, 'y')],
    }
  const same = keyFor(key.kind === 'other' ? 'int' : key.kind, own, chance)
  const on =
    chance.below(3) === 0 && kind !== 'full join' && kind !== 'right join'
      ? both`y.${key.name} = ${same} and z.a < ${String(3 + chance.below(4))}`
      : both`y.${key.name} = ${same}`
  const written = { hogql: kind, clickhouse: kind.replace(/^(semi|anti)/, '$1 left') }
  const text = both`${left} ${written} (${small.text}) as y on ${on}`
  const is_half = kind.startsWith('semi') || kind.startsWith('anti')
  const other = prefixed(small.names, 'y')
  if (kind === 'full join') return { text, names: loosened([...own, ...other]) }
  if (kind === 'right join') return { text, names: [...loosened(own), ...other] }
  if (is_half) return { text, names: own }
  return { text, names: [...own, ...(kind === 'join' ? other : loosened(other))] }
}

/** In ON no comparison is null-safe: one that is spelled so for ClickHouse alone is not for there. */
function keyFor(kind: Kind, names: Names, chance: Chance): Both {
  const key = expressionOf(kind, names, chance, 1)
  const is_same = key.hogql.split('ifNull(').length === key.clickhouse.split('ifNull(').length
  return is_same ? key : expressionOf('int', names, chance, 0)
}

// ── queries ────────────────────────────────────────────────────────────────────────────────

function plain(chance: Chance, depth: number): Rows {
  const { text, names } = sourceOf(chance, depth)
  const columns = some(chance, 4).map((): Shown => {
    const kind = chance.one(SHOWN)
    return { expr: expressionOf(kind, names, chance), kind }
  })
  const { list, names: shown } = selectOf(columns)
  const distinct = chance.below(4) === 0 ? 'distinct ' : ''
  const rows: Rows = {
    text: both`select ${distinct}${list} from ${text}${whereOf(names, chance)}`,
    names: shown,
  }
  return limited(rows, chance)
}

/** LIMIT, OFFSET, LIMIT BY and WITH TIES under an order that leaves nothing open. */
function limited(rows: Rows, chance: Chance): Rows {
  const { names } = rows
  const order = names.map((_, at) => `${at + 1}${chance.below(3) === 0 ? ' desc' : ''}`).join(', ')
  const n = String(1 + chance.below(12))
  const by = `limit ${1 + chance.below(3)}${chance.below(3) === 0 ? ' offset 1' : ''} by ${chance.one(names).name}`
  const text = chance.one([
    () => both`${rows.text}`,
    () => both`${rows.text}`,
    () => both`${rows.text} order by ${order} limit ${n}`,
    () => both`${rows.text} order by ${order} limit ${n} offset ${String(chance.below(4))}`,
    () => both`${rows.text} order by ${order.split(', ')[0] ?? '1'} limit ${n} with ties`,
    () => both`${rows.text} order by ${order} ${by}`,
    () => both`${rows.text} order by ${order} ${by} limit ${n}`,
  ])()
  return { text, names }
}

function grouped(chance: Chance, depth: number): Rows {
  return limited(groupedBy(chance, depth), chance)
}

const HAVINGS = ['', '', ' having count() > 1', ' having {c} > 2', ' having max(1) = 1']

function groupedBy(chance: Chance, depth: number): Rows {
  const { text, names } = sourceOf(chance, depth)
  const keys = some(chance, 3).map((): Shown => {
    const kind = chance.one(KEYS)
    return { expr: expressionOf(kind, names, chance, 1), kind }
  })
  const aggregates = some(chance, 3).map(() => aggregateOf(names, chance))
  const { list, names: shown } = selectOf([...keys, ...aggregates])
  const counted = shown.findIndex(({ kind }, at) => at >= keys.length && kind === 'int')
  const having = chance.one(HAVINGS).replace('{c}', counted < 0 ? 'count()' : `c${counted + 1}`)
  const by = keys.map((_, at) => `c${at + 1}`).join(', ')
  const where = whereOf(names, chance)
  return { text: both`select ${list} from ${text}${where} group by ${by}${having}`, names: shown }
}

function windowed(chance: Chance, depth: number): Rows {
  const inner = chance.below(2) === 0 ? groupedBy(chance, depth - 1) : plain(chance, depth - 1)
  const names = prefixed(inner.names, 'z')
  const columns = some(chance, 3).map(() => windowOf(names, chance))
  const own = names.map(({ name, kind }): Shown => ({ expr: both`${name}`, kind }))
  const { list, names: shown } = selectOf([...own, ...columns])
  const last = shown.at(-1)
  const qualify =
    last?.kind === 'int' && chance.below(3) === 0 ? ` qualify ${last.name} % 2 = 0` : ''
  const rows: Rows = {
    text: both`select ${list} from (${inner.text}) as z${whereOf(names, chance)}${qualify}`,
    names: shown,
  }
  return limited(rows, chance)
}

const SETS = ['union all', 'union distinct', 'intersect', 'except']

function united(chance: Chance, depth: number): Rows {
  const kinds = some(chance, 3).map(() => chance.one<Kind>(['int', 'str', 'date', 'maybe', 'mstr']))
  const leg = (): Both => {
    const { text, names } = sourceOf(chance, depth - 1)
    const columns = kinds.map(
      (kind): Shown => ({ expr: expressionOf(kind, names, chance, 1), kind }),
    )
    return both`select ${selectOf(columns).list} from ${text}${whereOf(names, chance)}`
  }
  return {
    text: both`select * from (${leg()} ${chance.one(SETS)} ${leg()})`,
    names: kinds.map((kind, at) => ({ name: `c${at + 1}`, kind })),
  }
}

function withNamed(chance: Chance, depth: number): Rows {
  const inner = groupedBy(chance, depth - 1)
  const names = prefixed(inner.names, 'w')
  const columns = some(chance, 3).map((): Shown => {
    const kind = chance.one(SHOWN)
    return { expr: expressionOf(kind, names, chance, 1), kind }
  })
  const { list, names: shown } = selectOf(columns)
  const first = inner.names[0]?.name ?? 'c1'
  const where = chance.one([
    () => whereOf(names, chance),
    () => both` where w.${first} in (select ${first} from named)`,
    () => both` where exists (select 1 from named where 1 = 1)`,
    () => both` where (select count() from named) > 1`,
  ])()
  const rows: Rows = {
    text: both`with named as (${inner.text}) select ${list} from named as w${where}`,
    names: shown,
  }
  return rows
}
