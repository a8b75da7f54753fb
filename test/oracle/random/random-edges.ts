/** Random queries at the edges of types: NULL in every operator, and values that few tests think of. */

import { EDGES, type Edge, WORDS } from './edge-pools.ts'
import { RECIPES } from './edge-recipes.ts'
import { type Both, both, type Chance, chanceOf, joined } from './random-text.ts'

const KINDS: readonly Edge[] = [
  'cond',
  'date',
  'float',
  'int',
  'ints',
  'num',
  'text',
  'texts',
  'time',
]
const ROWS = 8

/** The query of a seed, its rows in one order. */
export function edgeQuery(seed: number): Both {
  const chance = chanceOf(seed)
  return chance.one([shown, shown, shown, filtered, grouped, ordered])(chance)
}

/** Eight rows with two columns of each kind; one value in four is NULL. */
function rowsOf(chance: Chance): Both {
  const columns = KINDS.flatMap((kind) =>
    ['1', '2'].map((number) => both`${listOf(kind, chance)}[number + 1] as ${kind}${number}`),
  )
  return both`(select toInt64(number) as id, ${joined(columns, ', ')} from numbers(${String(ROWS)}))`
}

function listOf(kind: Edge, chance: Chance): Both {
  const is_list = kind === 'ints' || kind === 'texts'
  const values = Array.from({ length: ROWS }, () =>
    !is_list && chance.below(4) === 0 ? both`NULL` : chance.one(EDGES[kind]),
  )
  return both`[${joined(values, ', ')}]`
}

/** An expression of a kind over the columns. */
function expressionOf(kind: Edge, chance: Chance, depth: number): Both {
  const pick = chance.below(10)
  if (depth <= 0 || pick === 0) return both`${kind}${String(1 + chance.below(2))}`
  if (pick === 1)
    return kind === 'cond' ? both`(${chance.one(EDGES[kind])})` : chance.one(EDGES[kind])
  return chance.one(RECIPES[kind])({
    make: (inner) => expressionOf(inner, chance, depth - 1),
    chance,
    word: () => chance.one(WORDS),
  })
}

function columnsOf(chance: Chance): readonly Both[] {
  return Array.from({ length: 1 + chance.below(3) }, () =>
    expressionOf(chance.one(KINDS), chance, 1 + chance.below(2)),
  )
}

const named = (columns: readonly Both[]): Both =>
  joined(
    columns.map((column, at) => both`${column} as c${String(at + 1)}`),
    ', ',
  )

function shown(chance: Chance): Both {
  return both`select id, ${named(columnsOf(chance))} from ${rowsOf(chance)} order by id`
}

function filtered(chance: Chance): Both {
  const where = expressionOf('cond', chance, 2)
  return both`select id from ${rowsOf(chance)} where ${where} order by id`
}

/** NULLs come last unless the query says otherwise. */
function ordered(chance: Chance): Both {
  const key = expressionOf(chance.one(['text', 'num', 'date', 'time', 'int', 'texts']), chance, 1)
  const words = chance.one(['', ' desc', ' nulls first', ' desc nulls last'])
  return both`select id, ${key} as c1 from ${rowsOf(chance)} order by c1${words}, id`
}

const AGGREGATES: readonly string[] = [
  'count({any})',
  'count()',
  'uniqExact({any})',
  'countIf({cond})',
  'countIf({any}, {cond})',
  'min({num})',
  'max({text})',
  'min({date})',
  'max({time})',
  'sum({int})',
  'sumIf({int}, {cond})',
  'avg({int})',
  'maxOrNull({int})',
  'sumOrNull({int})',
  'anyIf(id, {cond} and id = 3)',
  'argMin(id, (ifNull({int}, 5), id))',
  'argMax({text}, id)',
  'arraySort(groupArray({text}))',
  'arraySort(groupUniqArray({num}))',
  'arraySort(groupArrayIf({int}, {cond}))',
  'arraySort(groupUniqArrayArray({ints}))',
  'quantileExact(0.5)({int})',
  'median({int})',
  'sum(toFloat({num}))',
  'count(distinct {text})',
  'sumArray({ints})',
  'uniqArray({texts})',
  'groupBitOr(toUInt8(ifNull({cond}, 0)))',
]

function grouped(chance: Chance): Both {
  const key = expressionOf(chance.one(['text', 'num', 'date', 'int', 'cond']), chance, 1)
  const aggregates = Array.from({ length: 1 + chance.below(3) }, () =>
    joined(
      chance
        .one(AGGREGATES)
        .split(/\{(\w+)\}/)
        .map((piece, at) => {
          if (at % 2 === 0) return both`${piece}`
          const kind = piece === 'any' ? chance.one(['text', 'num', 'int', 'date'] as const) : piece
          return expressionOf(kind as Edge, chance, 1)
        }),
      '',
    ),
  )
  return both`select ${named([key, ...aggregates])} from ${rowsOf(chance)} group by c1 order by c1`
}
