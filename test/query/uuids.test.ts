/** Events looked for by their uuid: found wherever they are, whatever their file keeps of it. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { compileHogQL } from '../../src/hogql/compile.ts'
import type { CompileContext } from '../../src/hogql/context.ts'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import { listAllFiles } from '../../src/storage/files/manifest.ts'
import { createJob } from '../snapshots/snapshot-world.ts'
import { MARCH_US, World } from './world.ts'

setDefaultTimeout(60_000)

const CONTEXT: CompileContext = {
  project_id: 1,
  timezone: 'UTC',
  week_start_day: 0,
  hidden_tables: [],
  now_us: BigInt(MARCH_US),
  property_types: new Map(),
  has_property_columns: true,
}

async function search(engine: QueryEngine, hogql: string): Promise<unknown> {
  const compiled = compileHogQL(hogql, CONTEXT)
  const values = compiled.values.map(({ type, value }) => ({ type, text: String(value) }))
  const answer = await engine.run(
    { ...compiled, project_id: 1, values, rows_max: 100, more_is_too_many: true },
    { timeout_ms: 60_000 },
  )
  return JSON.parse(Buffer.from(answer.rows_json).toString())
}

const spelled = (uuid: Uint8Array): string =>
  uuid.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
const timed = (): Uint8Array => Bun.randomUUIDv7('buffer', MARCH_US / 1000)

/** Bytes of any version but 7: one of 16 would pass for a timed one, and choose another form for its file. */
function random(): Uint8Array {
  const uuid = crypto.getRandomValues(new Uint8Array(16))
  const version_byte = uuid[6] ?? 0
  if (version_byte >> 4 === 7) uuid.set([version_byte ^ 0x80], 6)
  return uuid
}

/** The same end, another beginning. */
function twin(uuid: Uint8Array): Uint8Array {
  const other = Uint8Array.from(uuid)
  other.set([(uuid[0] ?? 0) ^ 1])
  return other
}

test('an event is found by its uuid in files of all forms and in the log, and no other one is', async () => {
  await using world = new World()
  const engine = world.openEngine()
  const job = createJob(world, { readers: engine })
  const files = [
    [timed(), timed(), random()],
    [random(), random(), random()],
  ]
  const tail = [timed(), random()]
  const all = [...files.flat(), ...tail]
  const send = (uuids: readonly Uint8Array[]): void =>
    world.send(...uuids.map((uuid) => ({ uuid, distinct_id: spelled(uuid) })))
  for (const uuids of files) {
    send(uuids)
    await job.run()
  }
  send(tail)
  expect(listAllFiles(world.log.db).map(({ own }) => own.includes('uuid_in_parts'))).toEqual([
    true,
    false,
  ])
  for (const uuid of all) {
    const text = spelled(uuid)
    const found = [[text, text]]
    const select = 'select toString(uuid), distinct_id from events where'
    expect(await search(engine, `${select} uuid = '${text}'`)).toEqual(found)
    expect(await search(engine, `${select} '${text}' = uuid and event = 'pageview'`)).toEqual(found)
    expect(await search(engine, `${select} uuid in ('${text}', '${text}')`)).toEqual(found)
    expect(await search(engine, `${select} uuid = '${spelled(twin(uuid))}'`)).toEqual([])
    const others = await search(engine, `select count() from events where uuid != '${text}'`)
    expect(others).toEqual([[all.length - 1]])
  }
  const ids = all.map((uuid) => `'${spelled(uuid)}'`)
  const count = 'select count() from events where'
  expect(await search(engine, `${count} uuid in (${ids.join(', ')})`)).toEqual([[all.length]])
  expect(await search(engine, `${count} not uuid in (${ids.slice(1).join(', ')})`)).toEqual([[1]])
  expect(await search(engine, `${count} ${ids[0]} in (uuid, ${ids[0]})`)).toEqual([[all.length]])
  expect(await search(engine, `${count} uuid = ${ids[0]} or uuid = ${ids[4]}`)).toEqual([[2]])
  const joined = `select count() from events a left join events b on b.uuid = a.uuid where b.uuid = ${ids[1]}`
  expect(await search(engine, joined)).toEqual([[1]])
  await job.close()
})

test.each([
  ["uuid = 'cf6a1d2c-4b1e-4a57-9f0e-3d1c2b4a5968'"],
  ["uuid in ('cf6a1d2c-4b1e-4a57-9f0e-3d1c2b4a5968', 'cf6a1d2c-4b1e-4a57-9f0e-3d1c2b4a5969')"],
])('the half that files keep is asked for first: %s', (condition) => {
  const { sql } = compileHogQL(`select 1 from events where ${condition}`, {
    project_id: 1,
    timezone: 'UTC',
    week_start_day: 0,
    hidden_tables: [],
    now_us: BigInt(MARCH_US),
    property_types: new Map(),
    has_property_columns: true,
  })
  expect(sql).toContain('"p_uuid" IS NULL OR')
})

test('a list that shows uuids finds its rows first, and shows what it would have shown', async () => {
  await using world = new World()
  const engine = world.openEngine()
  const job = createJob(world, { readers: engine })
  const sent = Array.from({ length: 40 }, (_, index) => ({
    uuid: index % 3 === 0 ? random() : timed(),
    event: index % 2 === 0 ? 'even' : 'odd',
    distinct_id: `user ${index % 5}`,
    // No two at one time, and not in the order in which they came.
    timestamp: MARCH_US + ((index * 17) % 40) * 1_000_000,
  }))
  world.send(...sent.slice(0, 15))
  await job.run()
  world.send(...sent.slice(15, 30))
  await job.run()
  world.send(...sent.slice(30))
  await job.close()
  const newest = sent.toSorted((one, other) => other.timestamp - one.timestamp)
  const shown = (some: typeof sent) => some.map(({ uuid, event }) => [spelled(uuid), event])
  const list = (rest: string) => search(engine, `select uuid, event from events ${rest}`)
  const order = 'order by timestamp desc'
  expect(await list(`${order} limit 7`)).toEqual(shown(newest.slice(0, 7)))
  expect(await list(`${order} limit 5 offset 33`)).toEqual(shown(newest.slice(33, 38)))
  const even = newest.filter(({ event }) => event === 'even')
  expect(await list(`where event = 'even' ${order} limit 4`)).toEqual(shown(even.slice(0, 4)))
  const third = newest.filter(({ distinct_id }) => distinct_id === 'user 3')
  expect(await list(`where distinct_id = 'user 3' ${order} limit 4`)).toEqual(
    shown(third.slice(0, 4)),
  )
  const by_uuid = sent.map(({ uuid }) => spelled(uuid)).toSorted()
  expect(await search(engine, 'select uuid from events order by toString(uuid) limit 3')).toEqual(
    by_uuid.slice(0, 3).map((uuid) => [uuid]),
  )
})

test.each<[string, boolean]>([
  ['select uuid from events order by timestamp limit 9', true],
  ["select uuid, event from events where event = 'even' order by timestamp limit 9", true],
  ['select event from events order by timestamp limit 9', false],
  ['select uuid from events order by timestamp, uuid limit 9', false],
  ["select uuid from events where distinct_id = 'user 3' order by timestamp limit 9", false],
  ['select uuid from events limit 9', false],
  ['select distinct uuid from events order by uuid limit 9', false],
  ['select any(uuid) from events group by event order by event limit 9', false],
])('%s: whether rows are found first is %p', (hogql, is_late) => {
  const { sql } = compileHogQL(hogql, CONTEXT)
  expect(sql.includes('"seq" IN (')).toBe(is_late)
})
