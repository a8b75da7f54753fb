/** Events of deleted persons leave the log a piece at a time, whoever else waits for the log. */
import { expect, test } from 'bun:test'
import { removeSlice } from '../../../src/ingest/write/event-removal.ts'
import { EventRemovalList } from '../../../src/storage/log/event-removals.ts'
import { idOf, World } from '../../query/world.ts'

const ANN = idOf(1)
const BEN = idOf(2)

// Looking through the list again for every event took minutes, and requests waited for all of them.
test('a person with tens of thousands of ids is removed in pieces that nobody notices', async () => {
  await using world = new World()
  const ids = Array.from({ length: 20_000 }, (_, index) => `ann ${index}`)
  for (let start = 0; start < 4000; start += 1000) {
    world.send(
      ...Array.from({ length: 1000 }, (_, index) => {
        const number = start + index
        return number % 2 === 0
          ? { distinct_id: `ann ${number}`, person_id: BEN }
          : { distinct_id: `ben ${number}`, person_id: number % 4 === 1 ? ANN : BEN }
      }),
    )
  }
  world.send({ distinct_id: 'moved to ben', person_id: ANN })
  const { db } = world.log
  world.log.transact(() => {
    db.run("insert into distinct_id_overrides values (1, 'moved to ben', ?, 1)", [BEN])
    const removal = { project_id: 1, person_ids: [ANN], distinct_ids: ids, now: 0 }
    new EventRemovalList(world.log).add(removal)
  })
  world.send({ distinct_id: 'ann 0', person_id: ANN })
  const places: number[] = []
  for (let after_seq = 0; ; ) {
    const next = removeSlice(db, { removal_id: 1, after_seq }, 1500)
    if (next === null) break
    after_seq = next.after_seq
    places.push(after_seq)
  }
  expect(places).toEqual([1500, 3000, 4001])
  const left = db
    .query<{ kind: string; n: number }, []>(
      'select substr(distinct_id, 1, 3) || hex(person_id) as kind, count(*) as n from events group by 1 order by 1',
    )
    .all()
    .map(({ kind, n }) => [kind.slice(0, 3), kind.slice(-1), n])
  expect(left).toEqual([
    ['ann', '1', 1],
    ['ben', '2', 1000],
    ['mov', '1', 1],
  ])
})
