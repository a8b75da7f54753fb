/** Compaction: many small files become few large ones, no answer changes, and a crash at any step costs nothing. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CompactionRule, planCompaction } from '../../src/snapshots/plan-compaction.ts'
import { sweepDataFolder } from '../../src/snapshots/sweep.ts'
import { openInstance } from '../../src/storage/duckdb/duckdb.ts'
import { textList } from '../../src/storage/duckdb/duckdb-text.ts'
import { filePath } from '../../src/storage/files/parquet.ts'
import { readColumns } from '../../src/storage/files/property-columns.ts'
import type { FileRow } from '../../src/storage/log/event-log.ts'
import { ask, idOf, MARCH_US, newId, World } from '../query/world.ts'
import {
  createJob,
  DAY_US,
  FAULT_CHAINS,
  failure,
  files,
  filesOnDisk,
  fingerprints,
  PAUSE_MS,
  sendMixed,
  stopping,
  stopsAt,
} from './snapshot-world.ts'

setDefaultTimeout(120_000)

const HOUR_US = 3_600_000_000
const MIB = 1024 * 1024
const RULE: CompactionRule = { fan_in: 4, bytes_max: 100 * MIB, quiet_us: HOUR_US }
/** Puts everything together at once. */
const EAGER: CompactionRule = { ...RULE, quiet_us: 0 }

describe('the plan', () => {
  test.each<[string, readonly Partial<FileRow>[], readonly string[] | null]>([
    ['waits for enough files of one size', sizes(1, 1, 1), null],
    ['takes them when there are enough', sizes(1, 1, 1, 1), ['0', '1', '2', '3']],
    ['leaves large ones aside', sizes(90, 1, 1, 1, 1), ['1', '2', '3', '4']],
    ['makes none larger than it may be', sizes(30, 30, 30, 30), ['0', '1', '2']],
    ['leaves files alone that are large enough', sizes(90, 90, 90, 90), null],
    ['takes the rest of a quiet month', quiet(sizes(30, 2)), ['1', '0']],
    ['leaves one file alone', quiet(sizes(30)), null],
    ['writes one without columns again', quiet(sizes(30)).map(old), ['0']],
    ['writes one again that spells everything out', quiet(sizes(30)).map(longhand), ['0']],
    ['does so when the clock was put back, too', quiet(sizes(3, 2), -1), ['1', '0']],
    [
      'never mixes months',
      sizes(1, 1, 1, 1).map((file, index) => ({ ...file, month: `2024-0${index + 1}` })),
      null,
    ],
    [
      'never mixes projects',
      sizes(1, 1, 1, 1).map((file, index) => ({ ...file, project_id: index })),
      null,
    ],
  ])('%s', (_, some, expected) => {
    const found = planCompaction(some.map(fileRow), MARCH_US, RULE)
    expect(found?.map(({ id }) => id) ?? null).toEqual(expected as string[] | null)
  })

  test('keeps the files of a month few, however many come', () => {
    let all: FileRow[] = []
    let most = 0
    for (let round = 0; round < 3000; round++) {
      all.push(fileRow({ id: `new ${round}`, byte_count: MIB / 4 }))
      for (;;) {
        const found = planCompaction(all, MARCH_US, RULE)
        if (found === null) break
        const bytes = found.reduce((total, { byte_count }) => total + byte_count, 0)
        all = [...all.filter((file) => !found.includes(file)), fileRow({ byte_count: bytes })]
      }
      const full = all.filter(({ byte_count }) => byte_count * 2 >= RULE.bytes_max)
      most = Math.max(most, all.length - full.length)
    }
    expect(most).toBeLessThan(20)
    expect(all.length).toBeLessThan(40)
  })
})

/** The compression of each file of the manifest. */
async function codecs(world: World): Promise<unknown[]> {
  const spill_dir = join(world.data_dir, 'tmp')
  const instance = await openInstance({ memory_mb: 256, threads: 1, spill_dir })
  const connection = await instance.connect()
  const paths = textList(files(world).map((file) => filePath(world.data_dir, file)))
  const reader = await connection.runAndReadAll(
    `select any_value(compression) from parquet_metadata(${paths}) group by file_name`,
  )
  connection.closeSync()
  instance.closeSync()
  return reader.getRows().flat()
}

/** One month of two projects, each in two files: begun with by what is cut off, since each step is the same for more. */
let small: World
let small_answers: unknown[]
beforeAll(async () => {
  small = new World()
  await writeTwice(small, 200, 28)
  const engine = small.openEngine()
  small_answers = await fingerprints(engine)
  await engine.close()
})
afterAll(() => small[Symbol.asyncDispose]())

describe('compaction', () => {
  test('makes one file per project of many small months, with columns, and every answer stays the same', async () => {
    await using world = new World()
    const engine = world.openEngine()
    const job = createJob(world, { readers: engine, columns_max: 0, compaction: EAGER })
    for (let round = 0; round < 3; round++) {
      sendMixed(world, 300)
      await job.run()
    }
    await job.close()
    expect(files(world)).toHaveLength(18)
    const before = await fingerprints(engine)
    const compacting = createJob(world, { readers: engine, compaction: EAGER })
    await compacting.compact()
    await compacting.close()
    expect(files(world)).toHaveLength(2)
    expect(filesOnDisk(world)).toHaveLength(2)
    for (const { columns } of files(world)) {
      expect(readColumns(columns).map(({ name }) => name)).toContain('text')
    }
    expect(await fingerprints(engine)).toEqual(before)
    expect(await fingerprints(world.openEngine())).toEqual(before)
  })

  test.each<[string, string, (n: number) => string]>([
    ['random ids', 'UNCOMPRESSED', () => '{}'],
    ['texts', 'ZSTD', (n) => JSON.stringify({ text: `the page of the article ${n}, once more` })],
  ])('of %s leaves pages %s', async (_, codec, propertiesOf) => {
    await using world = new World()
    const job = createJob(world, { compaction: EAGER })
    for (const count of [2000, 10]) {
      world.send(
        ...Array.from({ length: count }, (_empty, n) => ({
          uuid: newId(),
          properties: propertiesOf(n),
        })),
      )
      await job.run()
    }
    expect(await codecs(world)).toEqual(['ZSTD', 'ZSTD'])
    await job.compact()
    await job.close()
    expect(await codecs(world)).toEqual([codec])
  })

  test('works on its own, and events of years ago end in the file of their month', async () => {
    await using world = new World()
    const engine = world.openEngine()
    const job = createJob(world, { readers: engine, rows: 100, compaction: { ...RULE, fan_in: 2 } })
    job.start()
    for (let round = 0; round < 4; round++) {
      sendMixed(world, 200, 28)
      world.send({ timestamp: MARCH_US - 2000 * DAY_US }, { timestamp: MARCH_US - 2000 * DAY_US })
      await job.run()
    }
    const before = await fingerprints(engine)
    while (files(world).length > 3) await Bun.sleep(20)
    expect(files(world).filter(({ month }) => month === '2018-09')).toMatchObject([
      { row_count: 8, project_id: 1 },
    ])
    expect(await fingerprints(engine)).toEqual(before)
    await job.close()
  })

  test.each(FAULT_CHAINS)(
    'loses and doubles nothing when its process is killed at: %s',
    async (_, faults) => {
      await using world = new World(small)
      const engine = world.openEngine()
      for (const fault of faults) {
        const cut = createJob(world, { readers: engine, fault, compaction: EAGER })
        expect(await failure(cut.compact())).toContain('snapshot process ended')
        await cut.close()
        expect([fault, files(world).length, filesOnDisk(world).length]).toEqual([fault, 4, 4])
        expect([fault, await fingerprints(engine)]).toEqual([fault, small_answers])
      }
      const job = createJob(world, { readers: engine, compaction: EAGER })
      await job.compact()
      expect(files(world)).toHaveLength(2)
      expect(await fingerprints(engine)).toEqual(small_answers)
      await job.close()
    },
  )

  test.each(
    stopsAt(
      ['commitFiles', 'adoptManifest'],
      [
        ['commitFiles', false],
        ['adoptManifest', true],
      ],
    ),
  )(
    'loses and doubles nothing when the server stops at: %s (when it is done: %p)',
    async (name, is_done_first) => {
      await using world = new World(small)
      const job = createJob(world, { ...stopping(world, [name, is_done_first]), compaction: EAGER })
      expect(await failure(job.compact())).toBe('stopped')
      await job.close()

      // The next server.
      expect(sweepDataFolder(world.data_dir)).toEqual({ damaged: [] })
      const engine = world.openEngine()
      expect(await fingerprints(engine)).toEqual(small_answers)
      const next = createJob(world, { readers: engine, compaction: EAGER })
      await next.compact()
      expect(await fingerprints(engine)).toEqual(small_answers)
      expect(files(world)).toHaveLength(2)
      expect(filesOnDisk(world)).toHaveLength(2)
      await next.close()
    },
  )

  test('changes no answer while it runs', async () => {
    await using world = new World()
    const engine = world.openEngine()
    await writeTwice(world, 400, 28)
    const before = await fingerprints(engine)
    const job = createJob(world, { readers: engine, compaction: EAGER })
    const running = job.compact()
    let asked = 0
    while (Bun.peek.status(running) === 'pending') {
      expect(await fingerprints(engine)).toEqual(before)
      asked++
      await Bun.sleep(PAUSE_MS)
    }
    await running
    expect(asked).toBeGreaterThan(0)
    await job.close()
  })

  test('makes nothing of a file whose bytes have flipped, names it, and goes on with the others', async () => {
    await using world = new World(small)
    const [broken] = files(world)
    if (broken === undefined) throw new Error('no file')
    const path = filePath(world.data_dir, broken)
    const bytes = readFileSync(path)
    bytes.fill(0, 1000, 1001)
    rmSync(path)
    writeFileSync(path, bytes)
    const job = createJob(world, { compaction: EAGER })
    expect(await failure(job.compact())).toContain(
      `snapshot file ${broken.id} does not match its checksum`,
    )
    await job.compact()
    await job.close()
    const left = files(world)
    expect(left).toHaveLength(3)
    expect(left.filter(({ project_id }) => project_id === broken.project_id)).toHaveLength(2)
    expect(
      await ask(world.openEngine(), 'select count(*) from events_of($1)', { project_id: 2 }),
    ).toEqual([[200]])
  })

  test('keeps one of the events that were stored twice after their uuid had been forgotten', async () => {
    await using world = new World()
    const engine = world.openEngine()
    const uuid = idOf(7)
    const job = createJob(world, { readers: engine, compaction: EAGER })
    world.send({ uuid, properties: '{"first":1}' }, { uuid: idOf(8) })
    await job.run()
    world.send({ uuid, properties: '{"first":0}' })
    // The same uuid is another event on another day, under another name, of somebody else.
    world.send(
      { uuid, timestamp: MARCH_US + DAY_US },
      { uuid, event: 'other' },
      { uuid, distinct_id: 'bob' },
    )
    await job.run()
    await job.compact()
    await job.close()
    expect(await ask(engine, 'select seq, properties from events_of($1) order by seq')).toEqual([
      [1, '{"first":1}'],
      [2, '{}'],
      [4, '{}'],
      [5, '{}'],
      [6, '{}'],
    ])
    expect(files(world)).toMatchObject([{ row_count: 5, first_seq: 1, last_seq: 6 }])
  })
})

/** Writes every month into two files. */
async function writeTwice(world: World, count: number, days: number): Promise<void> {
  const job = createJob(world)
  for (let round = 0; round < 2; round++) {
    sendMixed(world, count, days)
    await job.run()
  }
  await job.close()
}

function sizes(...mebibytes: readonly number[]): readonly Partial<FileRow>[] {
  return mebibytes.map((size, index) => ({ id: String(index), byte_count: size * MIB }))
}

function quiet(some: readonly Partial<FileRow>[], sign = 1): readonly Partial<FileRow>[] {
  return some.map((file) => ({ ...file, created_at: MARCH_US - sign * 2 * HOUR_US }))
}

function old(file: Partial<FileRow>): Partial<FileRow> {
  return { ...file, columns: '' }
}

/** As files were before their own columns had shorter forms. */
function longhand(file: Partial<FileRow>): Partial<FileRow> {
  return { ...file, own: '' }
}

function fileRow(file: Partial<FileRow>): FileRow {
  return {
    id: 'merged',
    project_id: 1,
    month: '2024-03',
    first_seq: 1,
    last_seq: 1,
    row_count: 1,
    byte_count: 1,
    sha256: '',
    min_timestamp: MARCH_US,
    max_timestamp: MARCH_US,
    created_at: MARCH_US,
    columns: '[]',
    layout: 'whole',
    own: '[]',
    ...file,
  }
}
