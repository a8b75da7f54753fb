/** Queries see who is in a cohort as of the last commit: members who come, leave and are merged away. */
import { expect, test } from 'bun:test'
import { changeCohort, moveFlagRows } from '../../src/storage/persons/flag-rows.ts'
import { query, World } from './world.ts'

const ANN = Buffer.alloc(16, 0xaa)
const BOB = Buffer.alloc(16, 0xbb)
const NONE = { project_id: 1, added: [], removed: [] }

const MEMBERS = query(
  "select string_agg(cohort_id::varchar || left(person_id::varchar, 1), ' ' order by cohort_id, person_id) from cohort_people_of($1)",
  { types: ['String'] },
)

test('members follow every change, of their own project alone', async () => {
  await using world = new World()
  const { log } = world
  const change = (work: () => void): void =>
    log.transact(() => {
      log.nextChange()
      work()
    })
  const engine = world.openEngine()
  const members = async (): Promise<unknown> => {
    const { rows_json } = await engine.run(MEMBERS, { timeout_ms: 30_000 })
    return JSON.parse(Buffer.from(rows_json).toString())
  }
  change(() => {
    changeCohort(log.db, { ...NONE, cohort_id: 5, added: [ANN, BOB] })
    changeCohort(log.db, { ...NONE, cohort_id: 6, added: [ANN] })
    changeCohort(log.db, { ...NONE, project_id: 2, cohort_id: 5, added: [Buffer.alloc(16, 0xcc)] })
  })
  expect(await members()).toEqual([['5a 5b 6a']])
  change(() => changeCohort(log.db, { ...NONE, cohort_id: 5, removed: [BOB] }))
  expect(await members()).toEqual([['5a 6a']])
  change(() => changeCohort(log.db, { ...NONE, cohort_id: 5, added: [BOB] }))
  expect(await members()).toEqual([['5a 5b 6a']])
  // Bob takes Ann's place in cohort 6, and has his own already in cohort 5.
  change(() => moveFlagRows(log.db, 1, ANN, BOB))
  expect(await members()).toEqual([['5b 6b']])
  change(() => changeCohort(log.db, { ...NONE, cohort_id: 6, added: [BOB] }))
  expect(await members()).toEqual([['5b 6b']])
})
