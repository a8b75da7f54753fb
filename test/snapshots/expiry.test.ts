/** Months that are older than a project keeps are deleted, and nothing else is, whatever the clock says. */
import { expect, setDefaultTimeout, setSystemTime, test } from 'bun:test'
import { findExpired } from '../../src/snapshots/expiry.ts'
import { EventRemovalList } from '../../src/storage/log/event-removals.ts'
import { ask, idOf, MARCH_US, World } from '../query/world.ts'
import { createJob, DAY_US, FINGERPRINT, files, filesOnDisk, sendMixed } from './snapshot-world.ts'

setDefaultTimeout(60_000)

const monthsOf = (world: World): string[] =>
  files(world).map(({ project_id, month }) => `${project_id} ${month}`)

/** So many months as it takes to keep the second of the three months that events are sent in. */
function monthsSinceApril2024(): number {
  const now = new Date()
  return (now.getUTCFullYear() - 2024) * 12 + now.getUTCMonth() - 3
}

test('a project keeps the months it is told to; others keep theirs, and late events go again', async () => {
  await using world = new World()
  sendMixed(world, 3000)
  const engine = world.openEngine()
  const monthsKept = (project_id: number): number | null =>
    project_id === 1 ? monthsSinceApril2024() : null
  const job = createJob(world, { readers: engine, monthsKept })
  await job.run()
  const other = await ask(engine, FINGERPRINT, { project_id: 2 })
  await job.expire()
  const kept = ['1 2024-04', '1 2024-05', '2 2024-03', '2 2024-04', '2 2024-05']
  expect(monthsOf(world)).toEqual(kept)
  expect(job.work).toMatchObject({
    snapshot: { done: 1, failed: 0 },
    expiry: { done: 1, failed: 0 },
    compaction: { done: 0, failed: 0 },
  })
  expect(filesOnDisk(world)).toHaveLength(5)
  const months = "select distinct strftime(timestamp, '%Y-%m') as m from events_of($1) order by m"
  expect(await ask(engine, months)).toEqual([['2024-04'], ['2024-05']])
  expect(await ask(world.openEngine(), months)).toEqual([['2024-04'], ['2024-05']])
  expect(await ask(engine, FINGERPRINT, { project_id: 2 })).toEqual(other)

  sendMixed(world, 100)
  await job.run()
  expect(monthsOf(world)).toContain('1 2024-03')
  await job.expire()
  expect(monthsOf(world)).not.toContain('1 2024-03')
  await job.close()
})

test('a clock far ahead of the newest file is not believed', async () => {
  await using world = new World()
  sendMixed(world, 10)
  const job = createJob(world)
  await job.run()
  await job.close()
  const all = files(world).map((file) => ({ ...file, created_at: Date.UTC(2024, 5, 1) * 1000 }))
  const expired = (year: number): string[] =>
    findExpired(all, Date.UTC(year, 5, 2) * 1000, () => 12).map(({ month }) => month)
  expect(expired(2024)).toEqual([])
  expect(expired(2099)).toEqual([])
  expect(expired(1980)).toEqual([])
  const soon = findExpired(all, Date.UTC(2024, 5, 2) * 1000, () => 2)
  expect(soon.map(({ month }) => month)).toEqual(['2024-03', '2024-03'])
})

test('a clock that is set far ahead is not believed either when files were written by it', async () => {
  await using world = new World()
  sendMixed(world, 10)
  const first = createJob(world)
  await first.run()
  await first.close()
  const all = monthsOf(world)
  const months = monthsSinceApril2024() + 24
  const job = createJob(world, { monthsKept: () => months })
  try {
    setSystemTime(new Date(Date.now() + 40 * 365 * 86_400_000))
    world.send({ timestamp: MARCH_US })
    await job.run()
    world.log.transact(() =>
      world.log.db.run('update files set created_at = ? where last_seq > 10', [Date.now() * 1000]),
    )
    await job.expire()
  } finally {
    setSystemTime()
  }
  expect(monthsOf(world)).toEqual(expect.arrayContaining(all))
  await job.close()
})

test.each([
  ['is not believed after a restart: the one file of that time proves nothing', 0, true],
  ['is believed once files of a week were written under it', 8, false],
])('a clock that is 40 years ahead %s', async (_, days, is_kept) => {
  await using world = new World()
  sendMixed(world, 10)
  const first = createJob(world)
  await first.run()
  const all = monthsOf(world)
  const ahead_ms = Date.now() + 40 * 365 * 86_400_000
  try {
    for (const day of [0, days]) {
      setSystemTime(new Date(ahead_ms + day * 86_400_000))
      world.send({ timestamp: MARCH_US })
      await first.run()
      world.log.transact(() =>
        world.log.db.run(
          'update files set created_at = ? where last_seq = (select max(last_seq) from files)',
          [Date.now() * 1000],
        ),
      )
    }
    await first.close()
    const months = monthsSinceApril2024()
    const job = createJob(world, { monthsKept: () => months })
    await job.expire()
    await job.close()
  } finally {
    setSystemTime()
  }
  if (is_kept) expect(monthsOf(world)).toEqual(expect.arrayContaining(all))
  else expect(monthsOf(world)).toEqual([])
})

test('a file that replaces others is as old as they are: a clock that is 40 years ahead does not renew them', async () => {
  await using world = new World()
  const old_us = Date.UTC(2024, 5, 1) * 1000
  const ahead_us = old_us + 40 * 365 * DAY_US
  const job = createJob(world, { compaction: { fan_in: 3, bytes_max: 1e9, quiet_us: 0 } })
  for (const created_at of [old_us, old_us + DAY_US, ahead_us]) {
    world.send({ person_id: idOf(1), distinct_id: 'gone' }, { person_id: idOf(2) })
    await job.run()
    world.log.transact(() =>
      world.log.db.run(
        'update files set created_at = ? where last_seq = (select max(last_seq) from files)',
        [created_at],
      ),
    )
  }
  const times = () => files(world).map(({ row_count, created_at }) => ({ row_count, created_at }))
  await job.compact()
  expect(times()).toEqual([{ row_count: 6, created_at: old_us + DAY_US }])

  const removal = { project_id: 1, person_ids: [idOf(1)], distinct_ids: ['gone'] }
  world.log.transact(() => new EventRemovalList(world.log).add({ ...removal, now: ahead_us }))
  await job.removeEvents()
  expect(times()).toEqual([{ row_count: 3, created_at: old_us + DAY_US }])
  await job.close()
})
