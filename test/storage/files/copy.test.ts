/** Rows are copied in slices: what else the process does has its turns, and no row is lost or copied twice. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { DuckDBInstance } from '@duckdb/node-api'
import { StatementWriter } from '../../../src/storage/duckdb/duckdb.ts'
import { type CopySource, copyRows } from '../../../src/storage/files/copy.ts'
import { CREATE_STAGED, TAIL } from '../../../src/storage/files/replication-sources.ts'

const SOURCE: CopySource = {
  select: `
select seq as position, json_array(seq) as fields, properties
from events
where seq > $after and seq <= $up_to and project_id = $project_id
order by seq`,
  move: ["insert into copy select (fields::json->>'$[0]')::bigint from staged"],
}

/** Counts the turns of others until the first rows are moved: DuckDB does that on other threads. */
class CountingWriter extends StatementWriter {
  turns = 0
  turns_before_move: number | null = null
  readonly #timer = setInterval(() => {
    this.turns += 1
  }, 0)

  override async repeat(sql: string): Promise<void> {
    this.turns_before_move ??= this.turns
    await super.repeat(sql)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** Events 1, 2, … of the projects 1, 2, 3, 1, 2, 3, …; those of project 9 come last. */
function logOf(count: number, properties: string): Database {
  const db = new Database(':memory:')
  db.run('create table events (seq integer primary key, project_id integer, properties text)')
  db.run(
    `with recursive n(seq) as (select 1 union all select seq + 1 from n where seq < ?)
insert into events select seq, iif(seq > ? - 10, 9, seq % 3 + 1), ? from n`,
    [count, count, properties],
  )
  return db
}

async function copied(db: Database, source: CopySource, project_id: number, up_to: number) {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run(CREATE_STAGED)
  await connection.run('create table copy (seq bigint)')
  const writer = new CountingWriter(connection)
  const reached = await copyRows(db, writer, source, { project_id, after: 0, up_to })
  writer.stop()
  const rows = await connection.runAndReadAll('select seq from copy order by seq')
  const seqs = rows.getRows().map(([seq]) => Number(seq))
  return { seqs, reached, turns: writer.turns_before_move ?? 0 }
}

const COUNT = 90_000
const upTo = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => index + 1)

describe('a copy of many rows', () => {
  test('lets others have their turns, and has each row once', async () => {
    const db = logOf(COUNT, 'x'.repeat(200))
    const { seqs, reached, turns } = await copied(db, SOURCE, 1, COUNT)
    expect(reached).toBe(COUNT)
    expect(seqs).toEqual(upTo(COUNT - 10).filter((seq) => seq % 3 === 0))
    expect(turns).toBeGreaterThan(2)
  })

  test('of wide rows lets others have their turns too', async () => {
    const { seqs, turns } = await copied(logOf(900, 'x'.repeat(60_000)), SOURCE, 1, 900)
    expect(seqs).toEqual(upTo(890).filter((seq) => seq % 3 === 0))
    expect(turns).toBeGreaterThan(0)
  })

  test('passes over those of other projects in slices', async () => {
    // A condition that takes some microseconds: the rows of a log are wider than these.
    const slow = SOURCE.select.replace(
      'where',
      'where length(hex(zeroblob(4000 + seq % 2))) > 0 and',
    )
    const { positions_max } = TAIL
    const { seqs, turns } = await copied(
      logOf(20_000, ''),
      { ...SOURCE, select: slow, positions_max: positions_max ?? 0 },
      9,
      20_000,
    )
    expect(seqs).toEqual(upTo(20_000).slice(-10))
    expect(turns).toBeGreaterThan(2)
  })
})
