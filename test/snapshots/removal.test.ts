/** Events of deleted persons: gone from answers at once, from the log and every file soon, whatever is cut off meanwhile. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, truncateSync } from 'node:fs'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import { sweepDataFolder } from '../../src/snapshots/sweep.ts'
import { openInstance } from '../../src/storage/duckdb/duckdb.ts'
import { textLiteral } from '../../src/storage/duckdb/duckdb-text.ts'
import { filePath } from '../../src/storage/files/parquet.ts'
import { EventRemovalList } from '../../src/storage/log/event-removals.ts'
import { listPendingRemovals } from '../../src/storage/log/pending-removals.ts'
import { limitTests } from '../long-tests.ts'
import { ask, idOf, MARCH_US, World } from '../query/world.ts'
import {
  createJob,
  DAY_US,
  FAULT_CHAINS,
  failure,
  files,
  filesOnDisk,
  IS_EVERY_CELL,
  type JobOptions,
  NO_READERS,
  type Stop,
  stopsAt,
} from './snapshot-world.ts'

limitTests(180_000)

const ANN = idOf(1)
const BEN = idOf(2)
const ANN_BEFORE = idOf(3)
const WHO = `
select distinct_id, substring(person_id::varchar, 36), count(*), sum(hash(properties)::hugeint)
from events_of($1)
group by all
order by all`

const IDS = [
  ['ann', ANN],
  ['ann’s phone', ANN_BEFORE],
  ['ben', BEN],
  ['moved to ben', ANN],
] as const

/** Events of both in some months, some in files and some in the log; the first file of each month is Ann's alone. */
async function fill(world: World, job: { run(): Promise<void> }, months: number): Promise<void> {
  const send = (ids: readonly (readonly [string, Uint8Array])[], count: number): void =>
    world.send(
      ...ids.flatMap(([distinct_id, person_id]) =>
        Array.from({ length: count }, (_, index) => ({
          distinct_id,
          person_id,
          timestamp: MARCH_US + (index % months) * 40 * DAY_US,
          properties: JSON.stringify({ index, plan: 'pro', list: [index] }),
        })),
      ),
    )
  send(IDS.slice(0, 1), 4)
  await job.run()
  send(IDS, 40)
  world.send({ project_id: 2, distinct_id: 'ann', person_id: ANN })
  await job.run()
  send(IDS, 10)
}

/** What deleting Ann with her events orders: one of her ids was split off to Ben before. */
function removeAnn(world: World): void {
  world.log.transact(() => {
    world.log.db.run('insert or ignore into distinct_id_overrides values (1, ?, ?, ?)', [
      'moved to ben',
      BEN,
      world.log.nextChange(),
    ])
    world.log.nextChange()
    new EventRemovalList(world.log).add({
      project_id: 1,
      person_ids: [ANN, ANN_BEFORE],
      distinct_ids: ['ann'],
      now: MARCH_US,
    })
  })
}

const who = (engine: QueryEngine, project_id = 1): Promise<unknown[][]> =>
  ask(engine, WHO, { project_id })

const namesIn = (rows: readonly unknown[][]): unknown[] =>
  rows.map(([name, , count]) => [name, count])

/** Counts of what is really there, past every relation: in the log and in all files of project 1. */
async function stored(world: World): Promise<unknown[]> {
  const paths = files(world)
    .filter(({ project_id }) => project_id === 1)
    .map((file) => textLiteral(filePath(world.data_dir, file)))
  const instance = await openInstance({ memory_mb: 256, threads: 1, spill_dir: world.data_dir })
  const connection = await instance.connect()
  const reader = await connection.runAndReadAll(
    `select distinct_id, count(*)::integer from read_parquet([${paths.join(', ')}], union_by_name = true) group by all order by all`,
  )
  instance.closeSync()
  const in_log = world.log.db
    .query<{ distinct_id: string; n: number }, []>(
      'select distinct_id, count(*) as n from events where project_id = 1 group by 1 order by 1',
    )
    .all()
  return [reader.getRows(), in_log.map(({ distinct_id, n }) => [distinct_id, n])]
}

const LEFT = [
  ['ben', 50],
  ['moved to ben', 50],
]
const LEFT_STORED = [
  [
    ['ben', 40],
    ['moved to ben', 40],
  ],
  [
    ['ben', 10],
    ['moved to ben', 10],
  ],
]

/** Ann's removal ordered, in one month or two: what is cut off begins with a copy. */
let ordered: World
let without_ann: unknown[][]
beforeAll(async () => {
  ordered = new World()
  const job = createJob(ordered)
  await fill(ordered, job, IS_EVERY_CELL ? 2 : 1)
  await job.close()
  removeAnn(ordered)
  const engine = ordered.openEngine()
  without_ann = await who(engine)
  await engine.close()
})
afterAll(() => ordered[Symbol.asyncDispose]())

describe('events of a deleted person', () => {
  test.each(IS_EVERY_CELL ? [0, 60] : [60])(
    'are gone at once, then from the log and from files (%i columns)',
    async (columns_max) => {
      await using world = new World()
      const engine = world.openEngine()
      const messages: string[] = []
      const log = { info: (_: object, text: string) => messages.push(text), error: () => undefined }
      const job = createJob(world, { readers: engine, columns_max, log })
      await fill(world, job, 2)
      expect(namesIn(await who(engine))).toEqual([['ann', 54], ['ann’s phone', 50], ...LEFT])
      const other = await who(engine, 2)
      removeAnn(world)
      const after = await who(engine)
      expect(namesIn(after)).toEqual(LEFT)
      // Also for a process that begins now.
      expect(await who(world.openEngine())).toEqual(after)
      expect((await stored(world))[1]).toContainEqual(['ann', 10])

      const before = files(world).length
      await job.removeEvents()
      expect(await stored(world)).toEqual(LEFT_STORED)
      // Files that held nothing else are gone as well.
      expect(files(world)).toHaveLength(before - 2)
      expect(filesOnDisk(world)).toHaveLength(files(world).length)
      expect(listPendingRemovals(world.log.db)).toEqual([])
      expect(messages.at(-1)).toBe('events of deleted persons are removed')
      expect(await who(engine)).toEqual(after)
      expect(await who(world.openEngine())).toEqual(after)
      expect(await who(engine, 2)).toEqual(other)

      // Whoever comes back under the old id is there; and nothing else comes back with the next snapshot.
      world.send({ distinct_id: 'ann', person_id: ANN })
      expect(namesIn(await who(engine))).toEqual([['ann', 1], ...LEFT])
      await job.run()
      expect(namesIn(await who(engine))).toEqual([['ann', 1], ...LEFT])
      await job.close()
    },
  )

  test('stay gone for who read them out of the log, though nobody asks until the removal is done', async () => {
    await using world = new World()
    const engine = world.openEngine()
    world.send({ distinct_id: 'ann', person_id: ANN }, { distinct_id: 'ben', person_id: BEN })
    expect(namesIn(await who(engine))).toEqual([
      ['ann', 1],
      ['ben', 1],
    ])
    removeAnn(world)
    const job = createJob(world, { readers: engine })
    await job.removeEvents()
    expect(namesIn(await who(engine))).toEqual([['ben', 1]])
    await job.close()
  })

  test('go too when another removal was done before and nobody has asked since', async () => {
    await using world = new World()
    const engine = world.openEngine()
    const CID = idOf(4)
    const order = (person_id: Uint8Array, distinct_id: string): void =>
      world.log.transact(() => {
        world.log.nextChange()
        const removal = { project_id: 1, person_ids: [person_id], distinct_ids: [distinct_id] }
        new EventRemovalList(world.log).add({ ...removal, now: MARCH_US })
      })
    world.send(
      { distinct_id: 'ann', person_id: ANN },
      { distinct_id: 'ben', person_id: BEN },
      { distinct_id: 'cid', person_id: CID },
    )
    const job = createJob(world, { readers: engine })
    order(ANN, 'ann')
    expect(namesIn(await who(engine))).toEqual([
      ['ben', 1],
      ['cid', 1],
    ])
    await job.removeEvents()
    order(BEN, 'ben')
    expect(namesIn(await who(engine))).toEqual([['cid', 1]])
    await job.removeEvents()
    expect(namesIn(await who(engine))).toEqual([['cid', 1]])
    await job.close()
  })

  test('go though a file of another project, whose turn is first, is damaged', async () => {
    await using world = new World()
    const job = createJob(world)
    for (const project_id of [1, 2]) {
      world.send({ project_id, person_id: ANN }, { project_id, distinct_id: 'ben', person_id: BEN })
    }
    await job.run()
    const [damaged] = files(world)
    if (damaged === undefined) throw new Error('no file')
    const path = filePath(world.data_dir, damaged)
    chmodSync(path, 0o640)
    truncateSync(path, 100)
    world.log.transact(() => {
      for (const project_id of [damaged.project_id, 3 - damaged.project_id]) {
        const ann = { project_id, person_ids: [ANN], distinct_ids: ['ann'], now: MARCH_US }
        new EventRemovalList(world.log).add(ann)
      }
    })
    expect(await failure(job.removeEvents())).toContain(damaged.id)
    expect(await failure(job.removeEvents())).toContain(damaged.id)
    const left = listPendingRemovals(world.log.db).map(({ project_id }) => project_id)
    expect(left).toEqual([damaged.project_id])
    expect(files(world).map(({ row_count }) => row_count)).toEqual([2, 1])
    await job.close()
  })

  test.each(FAULT_CHAINS)(
    'go all the same when the process is killed at: %s',
    async (_, faults) => {
      await using world = new World(ordered)
      const engine = world.openEngine()
      for (const fault of faults) {
        const cut = createJob(world, { readers: engine, fault })
        expect(await failure(cut.removeEvents())).toContain('snapshot process ended')
        await cut.close()
        expect([fault, await who(engine)]).toEqual([fault, without_ann])
      }
      await goOn(world)
    },
  )

  test.each(
    stopsAt(
      ['removeEvents', 'commitFiles', 'adoptManifest', 'finishRemoval'],
      [
        ['removeEvents', false],
        ['commitFiles', false],
        ['adoptManifest', true],
        ['finishRemoval', true],
      ],
    ),
  )(
    'go all the same when the server stops at: %s (when it is done: %p)',
    async (name, is_done_first) => {
      await using world = new World(ordered)
      const cut = createJob(world, stopped(world, [name, is_done_first]))
      expect(await failure(cut.removeEvents())).toBe('stopped')
      await cut.close()
      await goOn(world)
    },
  )
})

/** The next server finds everything as it was left, and finishes the work. */
async function goOn(world: World): Promise<void> {
  expect(sweepDataFolder(world.data_dir)).toEqual({ damaged: [] })
  const engine = world.openEngine()
  expect(await who(engine)).toEqual(without_ann)
  const job = createJob(world, { readers: engine })
  await job.removeEvents()
  expect(await who(engine)).toEqual(without_ann)
  expect(await stored(world)).toEqual(LEFT_STORED)
  expect(filesOnDisk(world)).toHaveLength(files(world).length)
  expect(listPendingRemovals(world.log.db)).toEqual([])
  await job.close()
}

/** A job whose server stops right before or right after the first time it comes to a step. */
function stopped(
  world: World,
  [stop, is_done_first]: Stop<'adoptManifest' | 'commitFiles' | 'finishRemoval' | 'removeEvents'>,
): JobOptions {
  const at = async (name: string, work: () => Promise<void>): Promise<void> => {
    if (name !== stop || is_done_first) await work()
    if (name === stop) throw new Error('stopped')
  }
  const { capture } = world
  return {
    readers: {
      ...NO_READERS,
      adoptManifest: () => at('adoptManifest', NO_READERS.adoptManifest),
    },
    capture: {
      trim: capture.trim,
      commitFiles: (added) => at('commitFiles', () => capture.commitFiles(added)),
      removeEvents: (id) => at('removeEvents', () => capture.removeEvents(id)),
      finishRemoval: (id) => at('finishRemoval', async () => capture.finishRemoval(id)),
    },
  }
}
