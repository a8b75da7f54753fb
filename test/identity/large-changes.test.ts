/** Changes of persons with very many ids or merges are made in parts, and events of others pass in between. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import {
  changePerson,
  type PersonChange,
  type PersonChanged,
  runParts,
} from '../../src/identity/changes.ts'
import { commit, type IngestStores, openStores } from '../../src/ingest/write/apply.ts'
import type { StoredPerson } from '../../src/storage/persons/person-store.ts'
import { Folder, OTHER_TOKEN, STORED_ONE } from '../ingest/folder.ts'

setDefaultTimeout(120_000)

const PROJECT = 1
const NOW_US = 1_772_366_400_000_000

let folder: Folder
beforeEach(() => {
  folder = new Folder()
})
afterEach(() => folder.remove())

const numbered = (count: number, name: string): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name}${index}`)

/** A person with these ids. */
function makePerson(stores: IngestStores, ids: readonly string[]): StoredPerson {
  const id = crypto.getRandomValues(new Uint8Array(16))
  const values = { project_id: PROJECT, id, created_at: NOW_US, is_identified: false }
  const person = stores.persons.create({ ...values, properties: { name: ids[0] } })
  for (const distinct_id of ids) stores.persons.attach(person, distinct_id)
  return person
}

type Outcome = { readonly outcome: PersonChanged; readonly rows_by_part: readonly number[] }

/** Makes a change with a transaction for each of its parts, and counts the rows that each of them wrote. */
function changeInParts(stores: IngestStores, change: PersonChange): Outcome {
  const parts = changePerson(stores.persons, stores.removals, change)
  const rows_by_part: number[] = []
  for (;;) {
    let outcome: PersonChanged | null = null
    const before = countWrites(stores)
    commit(stores, () => {
      outcome = runParts(parts, () => true)
    })
    rows_by_part.push(countWrites(stores) - before)
    if (outcome !== null) return { outcome, rows_by_part }
  }
}

const countWrites = ({ log }: IngestStores): number =>
  log.db.query<{ count: number }, []>('select total_changes() as count').get()?.count ?? 0

const deletionOf = ({ id }: StoredPerson): PersonChange => ({
  kind: 'delete',
  project_id: PROJECT,
  person_id: id,
  with_events: true,
  now: NOW_US,
})

test('a person with 25,000 ids is deleted a few hundred rows at a time, and its events are removed in three lists', () => {
  const stores = openStores(folder.path)
  const ids = numbered(25_000, 'd')
  commit(stores, () => makePerson(stores, ids))
  const person = stores.persons.find(PROJECT, 'd0')
  if (person === null) throw new Error('there is no person')
  const { outcome, rows_by_part } = changeInParts(stores, deletionOf(person))
  expect(outcome).toEqual({ kind: 'changed', persons: [] })
  expect(rows_by_part.length).toBeGreaterThan(50)
  expect(Math.max(...rows_by_part)).toBeLessThan(600)
  expect(ids.filter((id) => stores.persons.find(PROJECT, id) !== null)).toEqual([])
  stores.log.close()
  const removals = folder.rows(
    'select json_array_length(distinct_ids) as ids, json_array_length(person_ids) as persons from event_removals',
  )
  expect(removals).toEqual([
    { ids: 10_000, persons: 1 },
    { ids: 10_000, persons: 0 },
    { ids: 5000, persons: 0 },
  ])
})

test('an id that is used again while its person is being deleted has a new person', () => {
  const stores = openStores(folder.path)
  commit(stores, () => makePerson(stores, numbered(2000, 'd')))
  const person = stores.persons.find(PROJECT, 'd1')
  if (person === null) throw new Error('there is no person')
  const parts = changePerson(stores.persons, stores.removals, deletionOf(person))
  const free = (): string | undefined =>
    numbered(2000, 'd').find((id) => stores.persons.find(PROJECT, id) === null)
  while (free() === undefined) commit(stores, () => runParts(parts, () => true))
  const again = free() ?? ''
  commit(stores, () => makePerson(stores, [again]))
  let outcome: PersonChanged | null = null
  commit(stores, () => {
    outcome = runParts(parts, () => false)
  })
  expect(outcome as PersonChanged | null).toEqual({ kind: 'changed', persons: [] })
  const left = numbered(2000, 'd').filter((id) => stores.persons.find(PROJECT, id) !== null)
  expect(left).toEqual([again])
  stores.log.close()
})

test('a person with 3,000 ids is split one id at a time', () => {
  const stores = openStores(folder.path)
  commit(stores, () => makePerson(stores, numbered(3000, 'd')))
  const person = stores.persons.find(PROJECT, 'd7')
  if (person === null) throw new Error('there is no person')
  const { outcome, rows_by_part } = changeInParts(stores, {
    kind: 'split',
    project_id: PROJECT,
    person_id: person.id,
    main_distinct_id: 'd7',
  })
  expect(outcome.kind === 'changed' && outcome.persons).toHaveLength(3000)
  expect(rows_by_part.length).toBe(3000)
  expect(Math.max(...rows_by_part)).toBeLessThan(20)
  const owners = numbered(3000, 'd').map((id) => stores.persons.find(PROJECT, id)?.key)
  expect(new Set(owners).size).toBe(3000)
  stores.log.close()
})

test('an event of another project is stored before a large deletion is over', async () => {
  const stores = openStores(folder.path)
  let person_id = new Uint8Array(16)
  commit(stores, () => {
    person_id = new Uint8Array(makePerson(stores, numbered(40_000, 'd')).id)
  })
  stores.log.close()
  await folder.open()
  const done: string[] = []
  const deletion = folder.capture
    .changePerson({
      kind: 'delete',
      project_id: PROJECT,
      person_id,
      with_events: true,
      now: NOW_US,
    })
    .then(({ kind }) => done.push(kind))
  const answer = await folder.send({ api_key: OTHER_TOKEN, event: 'e', distinct_id: 'other' })
  done.push(answer.kind)
  await deletion
  expect(answer).toEqual(STORED_ONE)
  expect(done).toEqual(['stored', 'changed'])
  expect(folder.person('d5')).toBeNull()
})
