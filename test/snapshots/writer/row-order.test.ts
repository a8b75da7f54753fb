/** Rows in files: whoever was busy within an hour stands together, and times come back to the microsecond. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { openInstance } from '../../../src/storage/duckdb/duckdb.ts'
import { ask, MARCH_US, World } from '../../query/world.ts'
import { createJob, files, filesOnDisk } from '../snapshot-world.ts'

setDefaultTimeout(60_000)

const HOUR_US = 3_600_000_000
const ROWS = `select event, epoch_us("timestamp"), epoch_us(created_at) from events_of($1) order by 1`

/** Sends events of these persons at these microseconds after the beginning of March. */
function send(
  world: World,
  rows: readonly (readonly [distinct_id: string, at_us: number])[],
): void {
  world.send(
    ...rows.map(([distinct_id, at_us]) => ({
      event: `${distinct_id} ${at_us}`,
      distinct_id,
      timestamp: MARCH_US + at_us,
      created_at: MARCH_US + 2 * at_us,
    })),
  )
}

/** What the only file of the world says, asked of the file itself. */
async function readFile(world: World, sql: (file: string) => string): Promise<unknown[]> {
  const [name] = filesOnDisk(world)
  const spill_dir = join(world.data_dir, 'tmp')
  const instance = await openInstance({ memory_mb: 256, threads: 1, spill_dir })
  const connection = await instance.connect()
  const path = join(world.data_dir, 'files', name ?? '')
  const reader = await connection.runAndReadAll(sql(`'${path}'`))
  connection.closeSync()
  instance.closeSync()
  return reader.getRows().flat()
}

test('what somebody did within an hour stands together, beginning where it began', async () => {
  await using world = new World()
  const minute = HOUR_US / 60
  send(world, [
    ['ann', 61 * minute],
    ['bob', 2 * minute],
    ['ann', 3 * minute],
    ['ann', minute],
    ['cyd', 4 * minute],
    ['bob', 5 * minute],
    ['ann', 59 * minute],
  ])
  const job = createJob(world)
  await job.run()
  const events = await readFile(world, (file) => `select event from read_parquet(${file})`)
  const expected = [1, 3, 59].map((at) => `ann ${at * minute}`)
  expected.push(`bob ${2 * minute}`, `bob ${5 * minute}`)
  expected.push(`cyd ${4 * minute}`, `ann ${61 * minute}`)
  expect(events).toEqual(expected)
  await job.close()
})

test('where persons are rarely seen twice an hour, rows are in the order of time alone', async () => {
  await using world = new World()
  const minute = HOUR_US / 60
  const others = ['bob', 'cyd', 'dan', 'eve', 'fay'].map((id, at) => [id, at * minute] as const)
  send(world, [['ann', 2.5 * minute], ...others, ['ann', minute / 2]])
  const job = createJob(world)
  await job.run()
  const times = await readFile(
    world,
    (file) => `select epoch_us("timestamp") - ${MARCH_US} from read_parquet(${file})`,
  )
  expect(times.map(Number)).toEqual([0, 0.5, 1, 2, 2.5, 3, 4].map((at) => at * minute))
  await job.close()
})

test('times come back to the microsecond, whether files have them as milliseconds or not, and also put together', async () => {
  await using world = new World()
  const engine = world.openEngine()
  const job = createJob(world, {
    readers: engine,
    compaction: { fan_in: 8, bytes_max: 1e9, quiet_us: 0 },
  })
  const coarse = [0, 1000, 5_000_000, -1000]
  const fine = [1, 999, 1001, -1, HOUR_US + 1, 2_500]
  send(
    world,
    coarse.map((at_us) => ['ann', HOUR_US + at_us]),
  )
  await job.run()
  const types = await readFile(
    world,
    (file) => `select logical_type from parquet_schema(${file}) where name = 'timestamp'`,
  )
  expect(String(types[0])).toContain('MILLIS')
  const before = await ask(engine, ROWS)
  expect(before).toHaveLength(coarse.length)
  send(
    world,
    fine.map((at_us) => ['ann', HOUR_US + at_us]),
  )
  const all = await ask(engine, ROWS)
  await job.run()
  expect(files(world)).toHaveLength(2)
  expect(await ask(engine, ROWS)).toEqual(all)
  await job.compact()
  expect(files(world)).toHaveLength(1)
  expect(await ask(engine, ROWS)).toEqual(all)
  const sent = [...coarse, ...fine].map((at_us) => HOUR_US + at_us)
  const read = new Map(all.map(([event, at, created]) => [event, [Number(at), Number(created)]]))
  expect(read).toEqual(
    new Map(sent.map((at_us) => [`ann ${at_us}`, [MARCH_US + at_us, MARCH_US + 2 * at_us]])),
  )
  await job.close()
})
