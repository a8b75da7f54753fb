/** Queries that are asked again: planned for what there is then, kept in bounds, and let go of with their files. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  type ReaderConnection,
  ReaderConnections,
} from '../../../src/query/worker/reader-connections.ts'
import { openInstance } from '../../../src/storage/duckdb/duckdb.ts'
import { createJob, DAY_US } from '../../snapshots/snapshot-world.ts'
import { ask, idOf, MARCH_US, World } from '../world.ts'

async function withReaders(
  work: (readers: ReaderConnections, writer: DuckDBConnection) => Promise<void>,
): Promise<void> {
  const spill_dir = mkdtempSync(join(tmpdir(), 'tidemark-readers-'))
  const instance = await openInstance({ memory_mb: 64, threads: 1, spill_dir })
  const writer = await instance.connect()
  const readers = await ReaderConnections.open(instance)
  try {
    await work(readers, writer)
  } finally {
    readers.close()
    writer.closeSync()
    instance.closeSync()
    rmSync(spill_dir, { recursive: true, force: true })
  }
}

async function read(reader: ReaderConnection, sql: string, value: number): Promise<unknown> {
  const prepared = await reader.begin(sql)
  prepared.bindInteger(1, value)
  const rows = await (await prepared.stream()).getRowsJson()
  reader.keep()
  return rows
}

test('a query asked again is planned by what its relations are then', async () => {
  await withReaders(async (readers, writer) => {
    await writer.run('create table rows as select 1 as x')
    await writer.run('create macro rows_of(p) as table select x, p as q from rows')
    const sql = 'select sum(x), max(q), count(*) from rows_of($1)'
    const answers: unknown[] = []
    const changes = [
      'insert into rows values (2)',
      'create or replace macro rows_of(p) as table select x, p as q from range(5) r(x)',
      'create or replace macro rows_of(p) as table select x * 10 as x, p as q from rows',
      'create or replace table rows as select 7 as x',
      'drop table rows',
      "create table rows as select 'no number' as x",
      'create or replace table rows as select 1.5 as x',
    ]
    for (const [index, change] of ['select 1', ...changes].entries()) {
      await writer.run(change)
      const reader = await readers.take(sql)
      expect(reader.hasStatement(sql)).toBe(answers.length > 0 && answers.at(-1) !== 'refused')
      answers.push(await read(reader, sql, index).catch(() => 'refused'))
      await readers.giveBack(reader)
    }
    expect(answers).toEqual([
      [['1', 0, '1']],
      [['3', 1, '2']],
      [['10', 2, '5']],
      [['30', 3, '2']],
      [['70', 4, '1']],
      'refused',
      'refused',
      [['15.0', 7, '1']],
    ])
  })
})

test('the queries asked last are kept, short ones only', async () => {
  await withReaders(async (readers) => {
    const textOf = (number: number): string => `select $1 + ${number}`
    const long = `select $1 /*${'x'.repeat(10_000)}*/`
    for (const sql of [...Array.from({ length: 20 }, (_, number) => textOf(number)), long]) {
      const reader = await readers.take('')
      await read(reader, sql, 1)
      await readers.giveBack(reader)
    }
    const reader = await readers.take('')
    const kept = Array.from({ length: 20 }, (_, number) => reader.hasStatement(textOf(number)))
    expect(kept.map((is_kept, number) => (is_kept ? number : -1)).filter((n) => n >= 0)).toEqual(
      Array.from({ length: 16 }, (_, index) => index + 4),
    )
    expect(reader.hasStatement(long)).toBe(false)
    await readers.giveBack(reader)
  })
})

test('whoever keeps a query is asked it again, and forgets it when files are gone', async () => {
  await withReaders(async (readers) => {
    const [one, other] = [await readers.take('select $1'), await readers.take('select $1')]
    expect(await read(one, 'select $1', 1)).toEqual([[1]])
    expect(await read(other, 'select $1, 2', 1)).toEqual([[1, 2]])
    await readers.giveBack(one)
    await readers.giveBack(other)
    expect(await readers.take('select $1')).toBe(one)
    readers.forget()
    // It is being asked: what it keeps goes with the end of that.
    expect(await read(one, 'select $1', 2)).toEqual([[2]])
    expect([one, other].map((reader) => reader.hasStatement('select $1'))).toEqual([true, false])
    expect(other.hasStatement('select $1, 2')).toBe(false)
    await readers.giveBack(one)
    expect(one.hasStatement('select $1')).toBe(false)
  })
})

test('a query asked again answers for its values and for what was written, kept and merged since', async () => {
  await using world = new World()
  const engine = world.openEngine()
  const sql = `select event, count(*), count(distinct e.person_id), $2::bigint from events_lean_of($1) e
where "timestamp" >= $3::timestamp group by event order by event limit $2::bigint`
  const answer = (limit: number, from_us: number): Promise<unknown[][]> =>
    ask(engine, sql, {
      values: [
        { type: 'BIGINT', text: String(limit) },
        { type: 'TIMESTAMP', text: String(from_us) },
      ],
    })
  const send = (event: string, day: number): void =>
    world.send({ event, person_id: idOf(day + 1), timestamp: MARCH_US + day * DAY_US })
  expect(await answer(3, 0)).toEqual([])
  send('a', 0)
  send('b', 3)
  expect(await answer(3, 0)).toEqual([
    ['a', 1, 1, 3],
    ['b', 1, 1, 3],
  ])
  await createJob(world).run()
  send('b', 4)
  expect(await answer(5, MARCH_US + DAY_US)).toEqual([['b', 2, 2, 5]])
  await createJob(world).run()
  send('c', 40)
  expect(await answer(2, 0)).toEqual([
    ['a', 1, 1, 2],
    ['b', 2, 2, 2],
  ])
  // An error of one asking is none of the next.
  expect(await answer(-1, 0).catch(() => 'refused')).toBe('refused')
  expect(await answer(9, MARCH_US + 4 * DAY_US)).toEqual([
    ['b', 1, 1, 9],
    ['c', 1, 1, 9],
  ])
})
