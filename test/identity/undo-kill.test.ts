/** Killed at any moment between merging and undoing it, persons are either merged or apart, and never half. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Folder } from '../ingest/folder.ts'
import { limitOf } from '../long-tests.ts'
import { fewOrMany } from '../random-runs.ts'

const ROUNDS = fewOrMany(4, 12)
/** A round ends at some moment within this time. */
const ROUND_MS = 60

const seen = (distinct_id: string, $set: object) => ({
  event: 'seen',
  distinct_id,
  properties: { $set },
})

test(
  'a kill leaves two persons merged or apart, whole either way',
  async () => {
    const folder = new Folder()
    const state = () => {
      const persons = folder.rows(
        'select hex(id) id, properties, is_identified, created_at from persons where is_deleted = 0 order by 1',
      )
      const ids = folder.rows(
        "select distinct_id, hex(person_id) person, hex(coalesce(home_id, '')) home from distinct_ids order by 1",
      )
      const merges = folder.rows('select kept, given, other_created_at from merges')
      const led = folder.rows(
        `select e.distinct_id, hex(coalesce(l.person_id, o.person_id, e.person_id)) person from events e
       left join person_overrides o on o.project_id = e.project_id and o.old_person_id = e.person_id
       left join distinct_id_overrides l on l.project_id = e.project_id and l.distinct_id = e.distinct_id
       group by 1, 2 order by 1`,
      )
      const plain = persons.map((row) => {
        const properties: object = JSON.parse(String(row['properties']))
        return { ...row, properties: JSON.stringify(properties, ['$creator_event_uuid', 'a', 'b']) }
      })
      return { persons: plain, ids, merges, led }
    }
    await folder.open()
    await folder.batch(seen('anon', { a: 1, b: 1 }), seen('user', { b: 2 }))
    await folder.capture.close()
    const apart = JSON.stringify(state())
    const found = new Set<string>()
    for (let round = 0; round < ROUNDS; round++) {
      const script = join(import.meta.dir, 'undo-over-and-over.ts')
      const child = Bun.spawn([process.execPath, script, folder.path], { stdout: 'pipe' })
      await child.stdout.getReader().read()
      await Bun.sleep(Math.random() * ROUND_MS)
      child.kill('SIGKILL')
      await child.exited
      found.add(JSON.stringify(state()))
    }
    const together = [...found].filter((one) => one !== apart)
    expect(together.length).toBeLessThanOrEqual(1)
    for (const one of together) {
      const { persons, ids, led } = JSON.parse(one)
      expect([
        persons.length,
        new Set(ids.map((id: { person: string }) => id.person)).size,
      ]).toEqual([1, 1])
      expect(new Set(led.map((event: { person: string }) => event.person)).size).toBe(1)
    }
    await folder.remove()
  },
  limitOf(60_000),
)
