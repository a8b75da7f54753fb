/** The queries of a run of both dialects, in batches: whole ones one by one, vectors as columns of one select. */

import { Refusal } from '../../src/errors.ts'
import { clickhouseDialect } from '../../src/hogql/clickhouse/dialect.ts'
import { PLAIN_STATE } from '../../src/hogql/clickhouse/table-state.ts'
import { compileSelect } from '../../src/hogql/compile.ts'
import { parseSelect } from '../../src/hogql/parser/parser.ts'
import { printHogQL } from '../../src/hogql/print-hogql/print-hogql.ts'
import type { Select } from '../../src/hogql/syntax/ast.ts'
import { CONTEXT } from '../hogql/engine.ts'
import type { Batch } from './batches.ts'
import { ColumnMaker, type ColumnVector, selectOverColumns } from './column-vectors.ts'
import { readPairs, readVectors, type Vector } from './vectors.ts'

/** One query: the function of its vector (or `queries`), its text, the zone. */
export type DialectQuery = Pick<Vector, 'hogql' | 'name' | 'timezone'> & {
  /** The vector with its constants, by which differences are listed. */
  readonly vector: string
}

/** What is asked: whole queries, or the vectors of every function, as they are and over columns. */
export type DialectQueries = 'columns' | 'queries' | 'vectors'

/** How much is asked of how many shards. */
export type DialectRun = {
  readonly kind: DialectQueries
  readonly shard_count: number
  readonly zones: readonly string[]
  /** 1 asks all, 7 every seventh one. */
  readonly every: number
}

export const DIALECT = clickhouseDialect(PLAIN_STATE)

/** The batches of a run, each of queries in one zone. */
export function batchesOf({ kind, zones, every }: DialectRun): readonly Batch<DialectQuery>[] {
  const seldom = <Item>(items: readonly Item[]): readonly Item[] =>
    items.filter((_, index) => index % every === 0)
  switch (kind) {
    case 'queries':
      return zones.flatMap((timezone) =>
        seldom(readPairs('queries')).map(({ hogql }) =>
          batchOfOne({ name: 'queries', hogql, timezone, vector: hogql }),
        ),
      )
    case 'vectors':
      return vectorBatches(seldom([...readVectors('functions'), ...readVectors('aggregates')]))
    case 'columns':
      return columnBatches(seldom(readVectors('functions')))
  }
}

function batchOfOne(query: DialectQuery): Batch<DialectQuery> {
  return { items: [query], queryOf: () => parseSelect(query.hogql) }
}

/** These give several rows or columns for one: each is asked alone. */
const ALONE = /\b(?:arrayJoin|untuple)\(/

/** Vectors over the same rows are columns of one select. */
function vectorBatches(vectors: readonly Vector[]): readonly Batch<DialectQuery>[] {
  const groups = Map.groupBy(vectors, ({ hogql, timezone }) =>
    ALONE.test(hogql) ? hogql : `${timezone} ${hogql.replace(/^.*?( from |$)/, '')}`,
  )
  return [...groups.values()].map((group) => {
    const items = group.map((vector) => ({
      ...vector,
      hogql: `select ${vector.hogql}`,
      vector: vector.hogql,
    }))
    const queryOf = (part: readonly DialectQuery[]): Select => {
      const wholes = part.map(({ hogql }) => parseSelect(hogql))
      const [first] = wholes
      if (first?.kind !== 'SelectQuery') throw new Error('a vector is a plain select')
      const columns = wholes.flatMap((whole) => (whole.kind === 'SelectQuery' ? whole.select : []))
      return { ...first, select: columns }
    }
    return { items, queryOf }
  })
}

type ColumnQuery = ColumnVector & DialectQuery

function columnBatches(vectors: readonly Vector[]): readonly Batch<DialectQuery>[] {
  const maker = new ColumnMaker(isCompiled)
  const queries = vectors.flatMap((vector): readonly ColumnQuery[] => {
    const made = maker.make(vector)
    if (made === null) return []
    const hogql = printHogQL(selectOverColumns([made]))
    return [{ ...vector, ...made, hogql, vector: vector.hogql }]
  })
  const groups = Map.groupBy(queries, ({ hogql, timezone }) =>
    ALONE.test(hogql) ? hogql : timezone,
  )
  return [...groups.values()].map((items) => {
    const of = new Map<DialectQuery, ColumnVector>(items.map((item) => [item, item]))
    const queryOf = (part: readonly DialectQuery[]): Select =>
      selectOverColumns(part.flatMap((item) => of.get(item) ?? []))
    return { items, queryOf }
  })
}

/** Whether both dialects compile a query. */
function isCompiled(query: Select): boolean {
  try {
    compileSelect(query, CONTEXT)
    compileSelect(query, CONTEXT, DIALECT)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}
