/** Persons parted again whose events are in files already: every event is found under whom it belongs to. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { changePerson, type PersonChange, runParts } from '../../src/identity/changes.ts'
import { personIdOf } from '../../src/identity/distinct-id.ts'
import { MergeBudget } from '../../src/identity/merge-budget.ts'
import { resolvePerson } from '../../src/identity/resolve.ts'
import { EventRemovalList } from '../../src/storage/log/event-removals.ts'
import { PersonStore } from '../../src/storage/persons/person-store.ts'
import { ask, eventRow, MARCH_US, newId, World } from '../query/world.ts'
import { createJob, rowsInLog } from './snapshot-world.ts'

setDefaultTimeout(120_000)

const PEOPLE = `
select e.distinct_id, coalesce(o.person_id, e.person_id), count(*)
from events_of($1) e
left join person_overrides_of($1) o on o.old_person_id = e.person_id
group by all
order by 1, 2`

const LIMITS = { bytes_max: 1e6, properties_max: 1000, merges: new MergeBudget() }

const uuid = (distinct_id: string): string => {
  const hex = personIdOf(1, distinct_id).toHex()
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Stores an event as ingestion does: with its person, which it may merge with another. */
function store(world: World, persons: PersonStore, distinct_id: string, other_id?: string): void {
  world.log.transact(() => {
    const event_uuid = newId()
    const merge =
      other_id === undefined ? null : { other_id, is_forced: true, makes_other_main: false }
    const claim = {
      project_id: 1,
      distinct_id,
      id_key: `1:${distinct_id}`,
      timestamp: MARCH_US,
      now: MARCH_US,
      event_uuid,
      is_personless: false,
      update: null,
      merge,
    }
    const { person_id } = resolvePerson(persons, claim, LIMITS)
    world.log.append(eventRow({ uuid: event_uuid, distinct_id, person_id }))
    persons.flush()
  })
}

function change(world: World, persons: PersonStore, asked: PersonChange): void {
  world.log.transact(() => {
    const parts = changePerson(persons, new EventRemovalList(world.log), asked)
    expect(runParts(parts, () => false)?.kind).toBe('changed')
    persons.flush()
  })
}

test('an undone merge leads events in files and in the log back to their person', async () => {
  await using world = new World()
  const persons = new PersonStore(world.log)
  const engine = world.openEngine()
  const job = createJob(world, { readers: engine })
  for (const id of ['anon', 'user', 'anon']) store(world, persons, id)
  await job.run()
  store(world, persons, 'user', 'anon')
  store(world, persons, 'anon')
  await job.run()
  expect(rowsInLog(world)).toBe(0)
  store(world, persons, 'anon')
  expect(await ask(engine, PEOPLE)).toEqual([
    ['anon', uuid('user'), 4],
    ['user', uuid('user'), 2],
  ])
  const about = { project_id: 1, person_id: personIdOf(1, 'user') }
  change(world, persons, { kind: 'undo_merge', ...about, merge_id: null })
  const apart = [
    ['anon', uuid('anon'), 4],
    ['user', uuid('user'), 2],
  ]
  expect(await ask(engine, PEOPLE)).toEqual(apart)
  await job.run()
  expect(await ask(engine, PEOPLE)).toEqual(apart)
  expect(await ask(world.openEngine(), PEOPLE)).toEqual(apart)
  store(world, persons, 'third')
  store(world, persons, 'third', 'anon')
  expect(await ask(engine, PEOPLE)).toEqual([
    ['anon', uuid('third'), 4],
    ['third', uuid('third'), 2],
    ['user', uuid('user'), 2],
  ])
  change(world, persons, {
    ...about,
    kind: 'split',
    person_id: personIdOf(1, 'third'),
    main_distinct_id: null,
  })
  expect(await ask(engine, PEOPLE)).toEqual([
    ['anon', uuid('anon'), 4],
    ['third', uuid('third'), 2],
    ['user', uuid('user'), 2],
  ])
  await job.close()
})

test('no id leads to a deleted person, in queries too', async () => {
  await using world = new World()
  const persons = new PersonStore(world.log)
  const engine = world.openEngine()
  for (const id of ['a', 'b']) store(world, persons, id)
  const IDS = 'select distinct_id from person_distinct_ids_of($1) order by 1'
  const PERSONS = 'select id from persons_of($1)'
  expect(await ask(engine, IDS)).toEqual([['a'], ['b']])
  const person_id = personIdOf(1, 'a')
  change(world, persons, { kind: 'delete', project_id: 1, person_id, with_events: false, now: 1 })
  expect(await ask(engine, IDS)).toEqual([['b']])
  expect(await ask(engine, PERSONS)).toEqual([[uuid('b')]])
  store(world, persons, 'a')
  expect(await ask(engine, IDS)).toEqual([['a'], ['b']])
})
