/** Copies of persons at an edge: of one who has become part of another at home, nothing stays. */
import { expect, test } from 'bun:test'
import { storeCopies } from '../../../src/storage/persons/edge-persons.ts'
import { World } from '../../query/world.ts'

const [ANN, BOB] = ['a'.repeat(32), 'b'.repeat(32)]

test('a person whose ids all belong to another by now is deleted, and one with an id left stays', async () => {
  await using world = new World()
  const { log } = world
  const copy = (distinct_id: string, id: string): void => {
    const person = { id, properties: { id }, cohorts: [1], overrides: { flag: 'x' } }
    const persons = [{ project_id: 1, distinct_id, person }]
    log.transact(() => storeCopies(log, { persons, groups: [] }, 1))
  }
  const listPersons = () =>
    ['persons', 'cohort_people', 'flag_overrides'].map((table) =>
      log.db
        .query(
          `select lower(hex(${table === 'persons' ? 'id' : 'person_id'})) from ${table} order by 1`,
        )
        .values()
        .flat(),
    )
  copy('ann', ANN)
  copy('ann on a phone', ANN)
  copy('bob', BOB)
  copy('ann', BOB)
  expect(listPersons()).toEqual([
    [ANN, BOB],
    [ANN, BOB],
    [ANN, BOB],
  ])
  copy('ann on a phone', BOB)
  expect(listPersons()).toEqual([[BOB], [BOB], [BOB]])
})
