/** What flags keep about people: stored by the data thread, handed over by merges. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Folder } from '../folder.ts'

let folder: Folder

beforeEach(async () => {
  folder = new Folder()
  await folder.open()
})

afterEach(() => folder.remove())

const idOf = (distinct_id: string): Uint8Array =>
  Uint8Array.fromHex(folder.person(distinct_id)?.id ?? '')

const overrides = () =>
  folder.rows(
    'select lower(hex(person_id)) as person, flag_key, hash_key from flag_overrides order by flag_key',
  )

const members = (cohort_id: number) =>
  folder
    .rows(
      'select lower(hex(person_id)) as person from cohort_people where cohort_id = ?',
      cohort_id,
    )
    .map((row) => row['person'])

describe('overrides', () => {
  test('that are there already stay as they were', async () => {
    await folder.batch({ event: 'seen', distinct_id: 'a' })
    const row = { project_id: 1, person_id: idOf('a'), flag_key: 'f' }
    await folder.capture.storeOverrides([{ ...row, hash_key: 'first' }])
    await folder.capture.storeOverrides([{ ...row, hash_key: 'second' }])
    expect(overrides()).toEqual([
      { person: folder.person('a')?.id, flag_key: 'f', hash_key: 'first' },
    ])
  })

  test('follow a merge, under what the surviving person has of its own', async () => {
    await folder.batch({ event: 'seen', distinct_id: 'anon' }, { event: 'seen', distinct_id: 'u' })
    await folder.capture.storeOverrides([
      { project_id: 1, person_id: idOf('anon'), flag_key: 'both', hash_key: 'of anon' },
      { project_id: 1, person_id: idOf('anon'), flag_key: 'only-anon', hash_key: 'of anon' },
      { project_id: 1, person_id: idOf('u'), flag_key: 'both', hash_key: 'of u' },
    ])
    await folder.batch({
      event: '$identify',
      distinct_id: 'u',
      properties: { $anon_distinct_id: 'anon' },
    })
    const person = folder.person('u')?.id
    expect(overrides()).toEqual([
      { person, flag_key: 'both', hash_key: 'of u' },
      { person, flag_key: 'only-anon', hash_key: 'of anon' },
    ])
  })
})

/** Ids that were read before `anon` became a part of `u`, and `gone` was deleted. */
async function readTooEarly(): Promise<{ readonly anon: Uint8Array; readonly gone: Uint8Array }> {
  await folder.batch(
    { event: 'seen', distinct_id: 'anon' },
    { event: 'seen', distinct_id: 'u' },
    { event: 'seen', distinct_id: 'gone' },
  )
  const ids = { anon: idOf('anon'), gone: idOf('gone') }
  await folder.batch({
    event: '$identify',
    distinct_id: 'u',
    properties: { $anon_distinct_id: 'anon' },
  })
  const deletion = { project_id: 1, person_id: ids.gone, with_events: false, now: 0 }
  await folder.capture.changePerson({ kind: 'delete', ...deletion })
  return ids
}

test('what is stored of a person who has become a part of another is stored of that one', async () => {
  const { anon, gone } = await readTooEarly()
  const person = folder.person('u')?.id
  const none = { project_id: 1, cohort_id: 7, added: [], removed: [] }
  await folder.capture.changeCohort({ ...none, added: [anon, gone] })
  expect(members(7)).toEqual([person])
  await folder.capture.changeCohort({ ...none, removed: [anon, gone] })
  expect(members(7)).toEqual([])
  const row = { project_id: 1, flag_key: 'f', hash_key: 'anon' }
  await folder.capture.storeOverrides([anon, gone].map((person_id) => ({ ...row, person_id })))
  expect(overrides()).toEqual([{ person, flag_key: 'f', hash_key: 'anon' }])
})

describe('cohort members', () => {
  test('come and go, and follow a merge without being counted twice', async () => {
    await folder.batch(
      { event: 'seen', distinct_id: 'anon' },
      { event: 'seen', distinct_id: 'u' },
      { event: 'seen', distinct_id: 'gone' },
    )
    const both = [idOf('anon'), idOf('u')]
    const change = { project_id: 1, cohort_id: 7, added: [...both, idOf('gone')], removed: [] }
    await folder.capture.changeCohort(change)
    await folder.capture.changeCohort({ ...change, added: both, removed: [idOf('gone')] })
    await folder.capture.changeCohort({ ...change, cohort_id: 8, added: [idOf('anon')] })
    await folder.batch({
      event: '$identify',
      distinct_id: 'u',
      properties: { $anon_distinct_id: 'anon' },
    })
    expect(members(7)).toEqual([folder.person('u')?.id])
    expect(members(8)).toEqual([folder.person('u')?.id])
  })
})
