/** Exports say of every event whose it is today. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportProject } from '../../src/backup/export.ts'
import { DistinctIdStore } from '../../src/storage/persons/distinct-id-store.ts'
import { idOf, World } from '../query/world.ts'

test('events are those of who was merged with their person, or got their id back', async () => {
  await using world = new World()
  world.send(
    { distinct_id: 'ann', person_id: idOf(1) },
    { distinct_id: 'anon', person_id: idOf(2) },
    { distinct_id: 'ben', person_id: idOf(1) },
  )
  world.log.transact(() => {
    const owners = new DistinctIdStore(world.log)
    owners.override(1, idOf(2), idOf(1))
    owners.giveBack(1, 'ben', idOf(3))
  })
  const { data_dir } = world
  const folder = join(data_dir, 'exported')
  const how = {
    data_dir,
    folder,
    project_id: 1,
    format: 'jsonl',
    onProgress: () => undefined,
  } as const
  expect(await exportProject(how)).toMatchObject({ events: 3 })
  const lines = readFileSync(join(folder, 'events-2024-03.jsonl'), 'utf8').trim().split('\n')
  const events: { distinct_id: string; person_id: string }[] = lines.map((line) => JSON.parse(line))
  expect(events.map(({ distinct_id, person_id }) => [distinct_id, person_id.slice(-1)])).toEqual([
    ['ann', '1'],
    ['anon', '1'],
    ['ben', '3'],
  ])
}, 30_000)

test('who was deleted, and ids that are nobody’s any more, are not among the persons', async () => {
  await using world = new World()
  world.log.transact(() => {
    const { db } = world.log
    for (const number of [1, 2, 3]) {
      db.run(
        `insert into persons (project_id, id, created_at, properties, is_identified, version, is_deleted, change)
         values (1, ?, 0, '{}', 0, 1, ?, ?)`,
        [idOf(number), number === 2 ? 1 : 0, world.log.nextChange()],
      )
      db.run(
        `insert into distinct_ids (project_id, distinct_id, person_id, version, change)
         values (1, ?, ?, 0, ?)`,
        [`user ${number}`, number === 2 ? new Uint8Array(0) : idOf(number), world.log.nextChange()],
      )
    }
  })
  const folder = join(world.data_dir, 'exported')
  const how = { data_dir: world.data_dir, folder, project_id: 1, format: 'jsonl' } as const
  expect(await exportProject({ ...how, onProgress: () => undefined })).toMatchObject({ persons: 2 })
  const lines = readFileSync(join(folder, 'persons.jsonl'), 'utf8').trim().split('\n')
  const persons: { id: string; distinct_ids: string[] }[] = lines.map((line) => JSON.parse(line))
  expect(persons.map(({ id, distinct_ids }) => [id.slice(-1), distinct_ids])).toEqual([
    ['1', ['user 1']],
    ['3', ['user 3']],
  ])
}, 30_000)
