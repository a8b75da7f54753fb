/** Checkpoints of events.db: its write-ahead log does not stay as large as it once was, and no copy keeps it from starting over. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openInstance, StatementWriter } from '../../../src/storage/duckdb/duckdb.ts'
import { copyRows } from '../../../src/storage/files/copy.ts'
import { CREATE_STAGED } from '../../../src/storage/files/replication-sources.ts'
import { EventLog } from '../../../src/storage/log/event-log.ts'
import { Checkpoints } from '../../../src/storage/sqlite/checkpoints.ts'
import { openReader } from '../../../src/storage/sqlite/sqlite.ts'

const MIB = 1024 * 1024

let folder: string
let log: EventLog
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-checkpoints-'))
  log = new EventLog(folder)
  log.db.run('create table sample (position integer primary key, body text)')
})
afterEach(() => {
  log.close()
  rmSync(folder, { recursive: true, force: true })
})

const logSize = (): number => statSync(join(folder, 'events.db-wal')).size

/** Writes rows of 1 KiB in one transaction, over those that are there. */
function writeRows(count: number): void {
  const insert = log.db.query('insert or replace into sample values (?, ?)')
  log.db.transaction(() => {
    for (let position = 1; position <= count; position++) insert.run(position, 'x'.repeat(1000))
  })()
}

const checkpoint = () =>
  log.db
    .query<{ log: number; checkpointed: number }, []>('pragma wal_checkpoint(passive)')
    .get() ?? { log: -1, checkpointed: -1 }

describe('the write-ahead log', () => {
  test('is cut when it starts over after a reader let it grow', () => {
    const reader = openReader(join(folder, 'events.db'))
    reader.run('begin')
    reader.query('select count(*) from sample').get()
    writeRows(100_000)
    expect(logSize()).toBeGreaterThan(90 * MIB)
    reader.close()
    checkpoint()
    writeRows(1)
    expect(logSize()).toBeLessThan(81 * MIB)
  })

  test('is emptied when nothing has been written for a while, once readers allow it', async () => {
    const failures: string[] = []
    const checkpoints = new Checkpoints(
      join(folder, 'events.db'),
      () => undefined,
      (why) => failures.push(why),
      (why) => failures.push(why),
      20,
    )
    const reader = openReader(join(folder, 'events.db'))
    reader.run('begin')
    reader.query('select count(*) from sample').get()
    writeRows(1000)
    checkpoints.noteWritten(1000)
    await Bun.sleep(100)
    expect(logSize()).toBeGreaterThan(MIB)
    reader.close()
    while (logSize() > 0) await Bun.sleep(5)
    writeRows(10)
    expect(log.db.query('select count(*) as rows from sample').get()).toEqual({ rows: 1000 })
    await checkpoints.close()
    expect(failures).toEqual([])
  })

  test('starts over when it is long, after a pause of commits for the last few pages', async () => {
    const failures: string[] = []
    const paused = Promise.withResolvers<void>()
    const pauseCommits = (): void => {
      log.checkpoint()
      paused.resolve()
    }
    const note = (why: string): number => failures.push(why)
    const checkpoints = new Checkpoints(join(folder, 'events.db'), pauseCommits, note, note)
    writeRows(90_000)
    expect(logSize()).toBeGreaterThan(85 * MIB)
    checkpoints.noteCall()
    await paused.promise
    writeRows(1)
    expect(logSize()).toBeLessThan(81 * MIB)
    await checkpoints.close()
    expect(failures).toEqual([])
    expect(log.db.query('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  })

  test('starts over beside a copy of many rows', async () => {
    writeRows(20_000)
    const reader = openReader(join(folder, 'events.db'))
    const instance = await openInstance({
      memory_mb: 256,
      threads: 1,
      spill_dir: join(folder, 'spill'),
    })
    const connection = await instance.connect()
    await connection.run(CREATE_STAGED)
    await connection.run('create table copied (position bigint)')
    const source = {
      select: `
select position, cast(position as text) as fields, body as properties
from sample where position > $after and position <= $up_to order by position`,
      move: ['insert into copied select fields::bigint from staged'],
    }
    // It has read its first rows when the call returns.
    const copying = copyRows(reader, new StatementWriter(connection), source, {
      after: 0,
      up_to: 20_000,
    })
    log.db.run('insert into sample values (30000, null)')
    const { log: pages, checkpointed } = checkpoint()
    expect(checkpointed).toBe(pages)
    expect(await copying).toBe(20_000)
    const rows = await connection.runAndReadAll('select count(*), sum(position) from copied')
    expect(rows.getRowsJS()).toEqual([[20_000n, 200_010_000n]])
    connection.closeSync()
    instance.closeSync()
    reader.close()
  })
})
