/** Snapshots with real processes: answers stay the same through them, and a crash at any step loses and doubles nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sweepDataFolder } from '../../src/snapshots/sweep.ts'
import { readLogState } from '../../src/storage/files/manifest.ts'
import { filePath, findDamage } from '../../src/storage/files/parquet.ts'
import type { NewFiles } from '../../src/storage/log/event-log.ts'
import { EventRemovalList } from '../../src/storage/log/event-removals.ts'
import { listPendingRemovals } from '../../src/storage/log/pending-removals.ts'
import { childrenOf } from '../flows/processes/processes.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { ask, MARCH_US, refusal, World } from '../query/world.ts'
import {
  createJob,
  DAY_US,
  FAULT_CHAINS,
  FINGERPRINT,
  failure,
  files,
  filesOnDisk,
  fingerprints,
  NO_LOG,
  PAUSE_MS,
  rowsInLog,
  sendMixed,
  stopping,
  stopsAt,
  until,
} from './snapshot-world.ts'

limitTests(120_000)

/** Of those that may be gone before one looks. */
function isSnapshotProcess(pid: number): boolean {
  const path = `/proc/${pid}/cmdline`
  return existsSync(path) && readFileSync(path, 'latin1').includes('snapshot-process')
}

/** A log of one month of two projects, and what it answers: copied by tests that begin with it. */
let small: World
let small_answers: unknown[]
beforeAll(async () => {
  small = new World()
  sendMixed(small, 200, 28)
  const engine = small.openEngine()
  small_answers = await fingerprints(engine)
  await engine.close()
})
afterAll(() => small[Symbol.asyncDispose]())

describe('the snapshot job', () => {
  test('moves the log into one file per project and month, and every answer stays the same', async () => {
    await using world = new World()
    sendMixed(world, 600)
    const engine = world.openEngine()
    const before = await fingerprints(engine)
    const job = createJob(world, { readers: engine })
    await job.run()
    expect(await fingerprints(engine)).toEqual(before)
    expect(files(world).map(({ project_id, month }) => `${project_id} ${month}`)).toEqual([
      '1 2024-03',
      '1 2024-04',
      '1 2024-05',
      '2 2024-03',
      '2 2024-04',
      '2 2024-05',
    ])
    expect(readLogState(world.log.db)).toMatchObject({
      version: 1,
      flushed_seq: 600,
      trimmed_seq: 600,
    })
    expect(rowsInLog(world)).toBe(0)
    expect(filesOnDisk(world)).toHaveLength(6)

    sendMixed(world, 101)
    const more = await fingerprints(engine)
    await job.run()
    expect(await fingerprints(engine)).toEqual(more)
    // A process that begins now sees the same.
    const another = world.openEngine()
    expect(await fingerprints(another)).toEqual(more)
    await job.close()
  })

  test('keeps answers the same while it runs, and shows events that come meanwhile at once', async () => {
    await using world = new World()
    sendMixed(world, 4000)
    const engine = world.openEngine()
    await fingerprints(engine)
    const job = createJob(world, { readers: engine })
    const running = job.run()
    for (let sent = 4000; Bun.peek.status(running) === 'pending'; ) {
      const [[count, distinct]] = (await ask(engine, FINGERPRINT, { project_id: 1 })) as [number[]]
      expect([count, distinct]).toEqual([sent / 2, sent / 2])
      sendMixed(world, 100)
      sent += 100
      await Bun.sleep(PAUSE_MS)
    }
    await running
    const before = await fingerprints(engine)
    await job.run()
    expect(await fingerprints(engine)).toEqual(before)
    await job.close()
  })

  test.each(FAULT_CHAINS)(
    'loses and doubles nothing when its process is killed at: %s',
    async (_, faults) => {
      await using world = new World(small)
      const engine = world.openEngine()
      for (const fault of faults) {
        const cut = createJob(world, { readers: engine, fault })
        expect(await failure(cut.run())).toContain('snapshot process ended')
        await cut.close()
        expect([fault, files(world)]).toEqual([fault, []])
        expect([fault, filesOnDisk(world)]).toEqual([fault, []])
        expect([fault, await fingerprints(engine)]).toEqual([fault, small_answers])
      }

      const job = createJob(world, { readers: engine })
      await job.run()
      expect(files(world)).toHaveLength(2)
      expect(await fingerprints(engine)).toEqual(small_answers)
      expect(rowsInLog(world)).toBe(0)
      await job.close()
    },
  )

  test.each(
    stopsAt(
      ['commitFiles', 'adoptManifest', 'trim'],
      [
        ['commitFiles', false],
        ['adoptManifest', true],
        ['trim', true],
      ],
    ),
  )(
    'loses and doubles nothing when the server stops at: %s (when it is done: %p)',
    async (name, is_done_first) => {
      await using world = new World(small)
      const job = createJob(world, stopping(world, [name, is_done_first]))
      expect(await failure(job.run())).toBe('stopped')
      await job.close()

      // The next server.
      expect(sweepDataFolder(world.data_dir)).toEqual({ damaged: [] })
      const engine = world.openEngine()
      expect(await fingerprints(engine)).toEqual(small_answers)
      const next = createJob(world, { readers: engine })
      await next.run()
      expect(await fingerprints(engine)).toEqual(small_answers)
      expect(rowsInLog(world)).toBe(0)
      expect(filesOnDisk(world)).toHaveLength(2)
      expect(files(world)).toHaveLength(2)
      await next.close()
    },
  )

  test('works on its own when the log is long, when it is old, and when a trim was cut off', async () => {
    for (const settings of [{ rows: 100 }, { age_s: 0 }]) {
      await using world = new World()
      const job = createJob(world, settings)
      job.start()
      sendMixed(world, 100)
      await until(() => rowsInLog(world) === 0)
      expect(files(world)).toHaveLength(6)
      await job.close()
    }
    await using world = new World()
    sendMixed(world, 10)
    const uncut = { ...world.capture, trim: async () => undefined }
    const job = createJob(world, { capture: uncut })
    await job.run()
    await job.close()
    expect(rowsInLog(world)).toBe(10)
    const next = createJob(world)
    next.start()
    await until(() => rowsInLog(world) === 0)
    await next.close()
  })

  test('trims what a destination has received, and writes no file for it', async () => {
    await using world = new World()
    let trimmable = 0
    const job = createJob(world, { trimmable: (flushed_seq) => Math.min(flushed_seq, trimmable) })
    sendMixed(world, 10, 1)
    await job.run()
    sendMixed(world, 10, 1)
    expect(rowsInLog(world)).toBe(20)
    job.start()
    for (const received of [1, 2, 3]) {
      trimmable = received
      await until(() => rowsInLog(world) === 20 - received)
    }
    expect(readLogState(world.log.db)).toMatchObject({ flushed_seq: 10, trimmed_seq: 3 })
    expect(job.work['snapshot']).toEqual({ done: 1, failed: 0 })
    await job.close()
  })

  test('does other work too where all events come from an edge whose clock is wrong', async () => {
    await using world = new World()
    const job = createJob(world, { age_s: 600 })
    const created_at = (Date.now() - 3_600_000) * 1000
    world.send({ created_at })
    job.start()
    await until(() => rowsInLog(world) === 0)
    world.send({ created_at })
    world.log.transact(() =>
      new EventRemovalList(world.log).add({
        project_id: 1,
        person_ids: [],
        distinct_ids: ['someone else'],
        now: created_at,
      }),
    )
    await until(() => listPendingRemovals(world.log.db).length === 0)
    expect(rowsInLog(world)).toBe(1)
    expect(job.work['snapshot']).toEqual({ done: 1, failed: 0 })
    await job.close()
  })

  test('does not wait for a clock that was put back to catch up', async () => {
    await using world = new World()
    const job = createJob(world, { age_s: 600 })
    world.send({ created_at: (Date.now() + 86_400_000) * 1000 })
    job.start()
    await until(() => rowsInLog(world) === 0)
    expect(files(world)).toHaveLength(1)
    await job.close()
  })

  test('keeps the log when a file cannot be put in its place, and goes on when it can', async () => {
    await using world = new World()
    sendMixed(world, 100)
    const engine = world.openEngine()
    const before = await fingerprints(engine)
    const obstacle = join(world.data_dir, 'files', '2')
    writeFileSync(obstacle, 'in the way')
    const job = createJob(world, { readers: engine })
    expect(await failure(job.run())).toContain('snapshot process ended with 1')
    expect(rowsInLog(world)).toBe(100)
    // Project 1 had its files already: they are of no use without those of project 2.
    expect(filesOnDisk(world)).toEqual([])
    expect(
      readdirSync(join(world.data_dir, 'tmp')).filter((name) => name.startsWith('snap')),
    ).toEqual([])
    expect(await fingerprints(engine)).toEqual(before)
    rmSync(obstacle, { force: true })
    await job.run()
    expect(rowsInLog(world)).toBe(0)
    expect(await fingerprints(engine)).toEqual(before)
    await job.close()
  })

  longTest(
    'takes a log that does not fit into memory in pieces, each whole by itself',
    async () => {
      await using world = new World()
      sendMixed(world, 16_500)
      const engine = world.openEngine()
      const before = await fingerprints(engine)
      const steps: number[] = []
      const capture = {
        ...world.capture,
        commitFiles: async (added: NewFiles) => {
          await world.capture.commitFiles(added)
          expect(await fingerprints(engine)).toEqual(before)
          steps.push(added.flushed_seq ?? 0)
        },
        trim: world.capture.trim,
      }
      const job = createJob(world, { readers: engine, capture, length_max: 1_000_000 })
      await job.run()
      expect(steps).toEqual([4608, 9216, 13_824, 16_500])
      expect(await fingerprints(engine)).toEqual(before)
      expect(rowsInLog(world)).toBe(0)
      await job.close()
    },
  )

  test('does nothing when there is nothing, and nothing twice when asked twice at once', async () => {
    await using world = new World()
    const job = createJob(world)
    await job.run()
    expect(readLogState(world.log.db).version).toBe(0)
    sendMixed(world, 10)
    await Promise.all([job.run(), job.run(), job.run()])
    expect(readLogState(world.log.db)).toMatchObject({ version: 1, flushed_seq: 10 })
    await job.close()
  })

  test('leaves no process behind when it is closed under way', async () => {
    await using world = new World()
    sendMixed(world, 5000)
    const job = createJob(world)
    const running = failure(job.run())
    const begun = (): readonly number[] =>
      childrenOf(process.pid).filter((pid) => isSnapshotProcess(pid))
    await until(() => begun().length > 0)
    await job.close()
    expect(begun()).toEqual([])
    expect(await running).toContain('snapshot process ended')
    expect(rowsInLog(world)).toBe(5000)
    expect(files(world)).toEqual([])
  })

  test('keeps event times far from now', async () => {
    await using world = new World()
    const times = [-62_135_596_800_000_000, -1, 0, 253_402_300_799_000_000]
    world.send(...times.map((timestamp) => ({ timestamp })))
    const engine = world.openEngine()
    const read = `select "timestamp" from events_of($1) order by 1`
    const before = await ask(engine, read)
    expect(before).toEqual([
      ['0001-01-01T00:00:00Z'],
      ['1969-12-31T23:59:59.999999Z'],
      ['1970-01-01T00:00:00Z'],
      ['9999-12-31T23:59:59Z'],
    ])
    const job = createJob(world, { readers: engine })
    await job.run()
    expect(await ask(engine, read)).toEqual(before)
    await job.close()
  })
})

describe('the files', () => {
  test('are taken in by an instance that was locked before they were there, however many come', async () => {
    await using world = new World()
    const engine = world.openEngine({}, { spare_slots: 2 })
    const job = createJob(world, { readers: engine })
    for (let round = 1; round <= 3; round++) {
      world.send({}, { timestamp: MARCH_US + 40 * DAY_US })
      expect(await ask(engine, 'select count(*) from events_of($1)')).toEqual([[2 * round]])
      await job.run()
      expect(await ask(engine, 'select count(*) from events_of($1)')).toEqual([[2 * round]])
    }
    expect(files(world)).toHaveLength(6)
    expect(engine.state.processes_started).toBe(1)
    await job.close()
  })

  test('that are damaged or missing are named in the refusal of their project alone', async () => {
    const damages: readonly (readonly [string, (path: string) => void, string])[] = [
      ['missing', (path) => rmSync(path), 'is missing'],
      ['truncated', (path) => truncateSync(path, 100), 'has 100 bytes instead of'],
      ['emptied', (path) => truncateSync(path, 0), 'has 0 bytes instead of'],
      [
        'without a footer',
        (path) => overwrite(path, (bytes) => bytes.fill(0, bytes.length - 4)),
        'has no Parquet footer',
      ],
      [
        'with a footer too long',
        (path) => overwrite(path, (bytes) => bytes.fill(255, bytes.length - 8, bytes.length - 4)),
        'has a damaged Parquet footer',
      ],
      [
        'with a footer of garbage',
        (path) => overwrite(path, (bytes) => bytes.fill(7, bytes.length - 800, bytes.length - 8)),
        'is damaged',
      ],
    ]
    await using world = new World()
    const intact_id = damages.length + 1
    for (let project_id = 1; project_id <= intact_id; project_id++) {
      world.send(...Array.from({ length: 150 }, () => ({ project_id })))
    }
    const job = createJob(world)
    await job.run()
    await job.close()
    const written = files(world)
    for (const [index, [, damage]] of damages.entries()) {
      const file = written[index]
      if (file !== undefined) damage(filePath(world.data_dir, file))
    }
    const engine = world.openEngine()
    for (const [index, [, , told]] of damages.entries()) {
      const asked = await refusal(ask(engine, FINGERPRINT, { project_id: index + 1 }))
      expect(asked).toStartWith(`storage_unavailable: Snapshot file ${written[index]?.id} ${told}`)
    }
    const counted = 'select count(*) from events_of($1)'
    expect(await ask(engine, counted, { project_id: intact_id })).toEqual([[150]])
  })

  test('that are damaged under an open project are no fault of its queries, and named from then on', async () => {
    await using world = new World()
    sendMixed(world, 600)
    const job = createJob(world)
    await job.run()
    await job.close()
    const engine = world.openEngine()
    await ask(engine, FINGERPRINT)
    const [file] = files(world)
    if (file === undefined) throw new Error('no file')
    truncateSync(filePath(world.data_dir, file), 100)
    const unread = await refusal(ask(engine, FINGERPRINT))
    expect(unread).toBe('storage_unavailable: A file that the query needs cannot be read.')
    const named = await refusal(ask(engine, FINGERPRINT))
    expect(named).toStartWith(`storage_unavailable: Snapshot file ${file.id} has 100 bytes instead`)
  })
})

describe('a damaged file whose events the log still has', () => {
  test.each([['removed'], ['flipped']] as const)('is written again: %s', async (damage) => {
    await using world = new World()
    const engine = world.openEngine()
    sendMixed(world, 400)
    const first = createJob(world, { readers: engine })
    await first.run()
    await first.close()
    sendMixed(world, 600)
    const before = await fingerprints(engine)
    // A crash before the log was trimmed, and a disk that kept the manifest but not the file.
    const uncut = { ...world.capture, trim: async () => undefined }
    const cut = createJob(world, { capture: uncut, readers: engine })
    await cut.run()
    await cut.close()
    const file = files(world).find(({ first_seq }) => first_seq > 400)
    if (file === undefined) throw new Error('no file')
    const path = filePath(world.data_dir, file)
    if (damage === 'removed') rmSync(path)
    else overwrite(path, (bytes) => bytes.fill(0, bytes.length - 4))

    const told: object[] = []
    const log = { ...NO_LOG, info: (fields: object) => told.push(fields) }
    const job = createJob(world, { readers: engine, log })
    job.start()
    await until(() => told.length > 0)
    expect(told).toEqual([{ files: [file.id], from_seq: 401 }])
    expect(await fingerprints(engine)).toEqual(before)
    expect(await fingerprints(world.openEngine())).toEqual(before)
    await job.run()
    expect(rowsInLog(world)).toBe(0)
    expect(await fingerprints(engine)).toEqual(before)
    await job.close()
  })
})

describe('the checksums', () => {
  test('find flipped bytes, which then are refused by name until the file is whole again', async () => {
    await using world = new World()
    sendMixed(world, 600)
    const job = createJob(world)
    await job.run()
    await job.close()
    const engine = world.openEngine()
    const before = await fingerprints(engine)
    const [file] = files(world)
    if (file === undefined) throw new Error('no file')
    const path = filePath(world.data_dir, file)
    const whole = readFileSync(path)
    overwrite(path, (bytes) => bytes.fill(0, 2000, 2001))

    const told: object[] = []
    const log = { ...NO_LOG, error: (fields: object) => told.push(fields) }
    const verifying = createJob(world, { readers: engine, log })
    verifying.start()
    await until(() => told.length > 0)
    const { id, project_id, month, first_seq, last_seq } = file
    expect(told).toEqual([{ file: id, project_id, month, first_seq, last_seq }])
    await verifying.close()
    const refused = `storage_unavailable: Snapshot file ${id} does not match its checksum.`
    expect(await refusal(ask(engine, FINGERPRINT))).toBe(refused)
    expect(await ask(engine, FINGERPRINT, { project_id: 2 })).toEqual(before[1] as unknown[][])

    // The mark outlives the server.
    await engine.close()
    expect(sweepDataFolder(world.data_dir).damaged).toEqual([
      { file, damage: 'does not match its checksum' },
    ])
    const engine_after = world.openEngine()
    expect(await refusal(ask(engine_after, FINGERPRINT))).toBe(refused)
    rmSync(path)
    writeFileSync(path, whole)
    const restored = createJob(world, { readers: engine_after })
    restored.start()
    await until(() => findDamage(path, file.byte_count) === null)
    expect(await fingerprints(engine_after)).toEqual(before)
    await restored.close()
  })
})

describe('the sweep', () => {
  test('deletes what no manifest row names, and reports what is damaged', async () => {
    await using world = new World()
    sendMixed(world, 100)
    const job = createJob(world)
    await job.run()
    await job.close()
    const kept = filesOnDisk(world)
    const stray = join(world.data_dir, 'files', '1', 'stray.parquet')
    const leftover = join(world.data_dir, 'tmp', 'query-1-1', 'half.parquet')
    writeFileSync(stray, 'PAR1')
    await Bun.write(leftover, 'PAR1')
    expect(sweepDataFolder(world.data_dir)).toEqual({ damaged: [] })
    expect(existsSync(stray)).toBe(false)
    expect(existsSync(leftover)).toBe(false)
    expect(filesOnDisk(world)).toEqual(kept)

    const [file] = files(world)
    if (file === undefined) throw new Error('no file')
    rmSync(filePath(world.data_dir, file))
    expect(sweepDataFolder(world.data_dir)).toEqual({ damaged: [{ file, damage: 'is missing' }] })
  })
})

function overwrite(path: string, change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path)
  change(bytes)
  rmSync(path)
  writeFileSync(path, bytes)
}
