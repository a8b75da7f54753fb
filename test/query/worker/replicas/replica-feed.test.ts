/** A relation that is large comes in pieces: it is whole when it is read, and nobody else waits for it. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { ProjectStore } from '../../../../src/query/worker/project-store.ts'
import { idOf, MARCH_US, World } from '../../world.ts'

setDefaultTimeout(60_000)

/** Several pieces of characters. */
const PERSONS = 6000
const LONG = 'x'.repeat(4000)

/** Writes or changes persons, each in a change of its own. */
function know(world: World, numbers: readonly number[], version = 1): void {
  world.log.transact(() => {
    const insert = world.log.db.prepare(
      `insert into persons (project_id, id, created_at, properties, is_identified, version, change)
       values (1, ?, ?, ?, 0, ?, ?)
       on conflict (project_id, id) do update set version = excluded.version, change = excluded.change`,
    )
    for (const number of numbers) {
      const properties = JSON.stringify({ number, text: LONG })
      insert.run(idOf(number), MARCH_US, properties, version, world.log.nextChange())
    }
  })
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

const openStore = ({ data_dir }: World): Promise<ProjectStore> =>
  ProjectStore.open({
    data_dir,
    folder: join(data_dir, 'tmp', 'store'),
    project_id: 1,
    spare_slots: 4,
    instance: { memory_mb: 512, threads: 1, spill_dir: join(data_dir, 'tmp', 'spill') },
    macro_file: null,
  })

async function rowsOf(store: ProjectStore, sql: string): Promise<unknown[]> {
  const { reader, release } = await store.connect(sql)
  try {
    return (await reader.connection.runAndReadAll(sql)).getRows().flat().map(Number)
  } finally {
    release()
  }
}

test('whoever does not read it waits for a piece at most, and then whoever does finds all of it', async () => {
  await using world = new World()
  know(world, upTo(PERSONS))
  world.send({}, {})
  const store = await openStore(world)
  let is_whole = false
  const persons = (async () => {
    await store.follow(['events', 'persons'])
    is_whole = true
  })()
  await store.follow(['events'])
  expect(is_whole).toBe(false)
  expect(await rowsOf(store, 'select count(*) from tail')).toEqual([2])
  await persons
  const counted = 'select count(*), count(distinct id), sum(length(properties)) from persons_of(1)'
  const characters = upTo(PERSONS).reduce(
    (sum, number) => sum + JSON.stringify({ number, text: LONG }).length,
    0,
  )
  expect(await rowsOf(store, counted)).toEqual([PERSONS, PERSONS, characters])
  store.close()
})

test('what changes while it is copied is there once, as it is now', async () => {
  await using world = new World()
  know(world, upTo(PERSONS))
  const store = await openStore(world)
  const reading = store.follow(['persons'])
  await store.follow([])
  // Some are copied already, and others are not.
  know(world, [1, 2, PERSONS - 1, PERSONS, PERSONS + 1], 7)
  world.log.transact(() => {
    world.log.db.run('update persons set is_deleted = 1, change = ? where id in (?, ?)', [
      world.log.nextChange(),
      idOf(2),
      idOf(PERSONS - 1),
    ])
  })
  await reading
  const counted = 'select count(*), count(distinct id), sum(version) from persons_of(1)'
  const expected = [PERSONS - 1, PERSONS - 1, PERSONS - 1 + 3 * 6]
  // The first query asks as of a moment before the changes or after; the next one knows them all.
  await store.follow(['persons'])
  expect(await rowsOf(store, counted)).toEqual(expected)
  know(world, [1], 8)
  await store.follow(['persons'])
  expect(await rowsOf(store, counted)).toEqual([PERSONS - 1, PERSONS - 1, PERSONS + 18])
  store.close()
})

test('rows of one change stay together, however many there are', async () => {
  await using world = new World()
  const ids = upTo(3000)
  world.log.transact(() => {
    const change = world.log.nextChange()
    const insert = world.log.db.prepare(
      'insert into distinct_ids (project_id, distinct_id, person_id, version, change) values (1, ?, ?, 0, ?)',
    )
    for (const number of ids) insert.run(`${number} ${LONG}`, idOf(1), change)
  })
  const store = await openStore(world)
  await store.follow(['person_distinct_ids'])
  const counted = 'select count(*), count(distinct distinct_id) from person_distinct_ids_of(1)'
  expect(await rowsOf(store, counted)).toEqual([ids.length, ids.length])
  store.close()
})
