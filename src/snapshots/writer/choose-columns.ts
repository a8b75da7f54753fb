/** Chooses the properties of a project that get columns in the next files: the frequent ones, within a budget. */
import type { Database } from 'bun:sqlite'
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  type ColumnKind,
  listPropertyColumns,
  type PropertyColumn,
  readColumns,
} from '../../storage/files/property-columns.ts'

/** Size of the sample. */
const SAMPLE_ROWS = 5000
/** A property in less than one of this many rows gets no column. */
const RARE = 200
/** The columns a project may ever be offered, per column of its budget: each stays offered for ever. */
const OFFERED_PER_COLUMN = 4
/** Names that can be columns: at most 200 characters, no control characters, at which the engine's texts end. */
const FIT_NAME = /^\P{Cc}{1,200}$/u

type SeenProperty = { readonly name: string; readonly count: number }

/**
 * Chooses the property columns of a file with the rows of `source` (an SQL relation with `properties`). It keeps the
 * columns of the newest file, so that files have the same ones; frequent new properties fill the budget, and then
 * replace columns that are at most half as frequent.
 */
export async function chooseColumns(
  db: Database,
  connection: DuckDBConnection,
  {
    project_id,
    source,
    row_count,
    columns_max,
  }: {
    readonly project_id: number
    readonly source: string
    readonly row_count: number
    readonly columns_max: number
  },
): Promise<readonly PropertyColumn[]> {
  const seen = await countNames(connection, { rows: source, row_count, number: 'seq' })
  const kinds = readKinds(db, project_id)
  const columnOf = (name: string): PropertyColumn => ({ kind: kinds.get(name) ?? 'text', name })
  const offered = new Set(listPropertyColumns(db, project_id).map(key))
  const mayOffer = (column: PropertyColumn): boolean =>
    offered.has(key(column)) || offered.size < columns_max * OFFERED_PER_COLUMN

  const counts = new Map(seen.map(({ name, count }) => [name, count]))
  let chosen = newestColumns(db, project_id)
    .map(({ name }) => columnOf(name))
    .filter(mayOffer)
    .slice(0, columns_max)
  for (const { name, count } of seen) {
    const column = columnOf(name)
    if (chosen.some((other) => other.name === name) || !mayOffer(column)) continue
    const kept = makeRoom(chosen, counts, columns_max, count)
    if (kept === null) break
    chosen = [...kept, column]
    offered.add(key(column))
  }
  return chosen
}

const key = ({ kind, name }: PropertyColumn): string => `${kind}:${name}`

/** The columns that may stay beside a new one, given its number of rows; null when it may not come in. */
function makeRoom(
  chosen: readonly PropertyColumn[],
  counts: ReadonlyMap<string, number>,
  columns_max: number,
  count: number,
): readonly PropertyColumn[] | null {
  if (chosen.length < columns_max) return chosen
  const countOf = ({ name }: PropertyColumn): number => counts.get(name) ?? 0
  const rarest = chosen.toSorted((one, other) => countOf(one) - countOf(other))[0]
  if (rarest === undefined || countOf(rarest) * 2 > count) return null
  return chosen.filter((column) => column !== rarest)
}

/**
 * Counts, per property name, the rows with a value that a column can hold, most frequent first; rare ones and unfit
 * ones are left out. Rows are sampled by their numbers alone, so that the others are not even put together.
 */
export async function countNames(
  connection: DuckDBConnection,
  {
    rows,
    row_count,
    number,
  }: { readonly rows: string; readonly row_count: number; readonly number: string },
): Promise<readonly SeenProperty[]> {
  const every = Math.max(1, Math.floor(row_count / SAMPLE_ROWS))
  const reader = await connection.runAndReadAll(`
with sample as (
  select properties from (select * from ${rows}) where hash(${number}) % ${every} = 0
),
members as (
  select unnest(map_entries(from_json(properties, '"MAP(VARCHAR, JSON)"'))) as member
  from sample
)
select member.key as name, count(*) as count, (select count(*) from sample) as total
from members
where left(member.value::varchar, 1) not in ('{', '[', 'n')
group by name
having count(*) * ${RARE} >= total
order by count(*) desc, name`)
  return reader
    .getRowObjects()
    .map((row) => ({ name: String(row['name']), count: Number(row['count']) }))
    .filter(({ name }) => FIT_NAME.test(name))
}

function newestColumns(db: Database, project_id: number): readonly PropertyColumn[] {
  const newest = db
    .query<{ columns: string }, [number]>(
      'select columns from files where project_id = ? order by id desc limit 1',
    )
    .get(project_id)
  return newest === null ? [] : readColumns(newest.columns)
}

const KINDS: Readonly<Record<string, ColumnKind>> = { Boolean: 'boolean', Numeric: 'number' }

/** Property → the kind that queries read it as. Times are read from text. */
function readKinds(db: Database, project_id: number): ReadonlyMap<string, ColumnKind> {
  const rows = db
    .query<{ name: string; property_type: string }, [number]>(
      `select name, property_type
from property_definitions
where project_id = ? and kind = 'event' and property_type is not null`,
    )
    .all(project_id)
  return new Map(rows.map(({ name, property_type }) => [name, KINDS[property_type] ?? 'text']))
}
