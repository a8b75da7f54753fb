/** Small months that are over share a file; late events, deletions, retention and exports are as if they did not. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportProject } from '../../src/backup/export.ts'
import { type CompactionRule, planCompaction } from '../../src/snapshots/plan-compaction.ts'
import { firstMonthOf, hasMonth, isShared } from '../../src/storage/files/file-months.ts'
import type { FileRow } from '../../src/storage/log/event-log.ts'
import { EventRemovalList } from '../../src/storage/log/event-removals.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { ask, MARCH_US, World } from '../query/world.ts'
import { createJob, DAY_US, files, fingerprints, sendMixed } from './snapshot-world.ts'

limitTests(120_000)

const MIB = 1024 * 1024
const HOUR_US = 3_600_000_000
const RULE: CompactionRule = { fan_in: 4, bytes_max: 100 * MIB, quiet_us: HOUR_US }
/** Puts everything together at once. */
const EAGER: CompactionRule = { ...RULE, quiet_us: 0 }

type Sketch = readonly [month: string, mebibytes: number, first?: string, more?: Partial<FileRow>]

describe('the plan', () => {
  test.each<[string, readonly Sketch[], readonly string[] | null]>([
    [
      'puts small months together, the oldest first',
      sketch('2023-01 1', '2022-12 2', '2023-05 3'),
      ['2022-12', '2023-01', '2023-05'],
    ],
    ['leaves a month alone that has no neighbour', sketch('2023-01 1'), null],
    ['leaves large months apart', sketch('2023-01 13', '2023-02 13'), null],
    [
      'goes on after a large one',
      sketch('2023-01 1', '2023-02 30', '2023-03 1', '2023-04 1'),
      ['2023-03', '2023-04'],
    ],
    [
      'goes on when a file is full',
      sketch('2023-01 12', '2023-02 20', '2023-03 1'),
      ['2023-02', '2023-03'],
    ],
    ['leaves the month that is not over', sketch('2023-12 1', '2024-03 1'), null],
    [
      'waits until a day has passed',
      [
        ['2023-01', 1],
        ['2023-02', 1, '', { created_at: MARCH_US - 23 * HOUR_US }],
      ],
      null,
    ],
    ['knows years of five digits by no neighbour', sketch('10000-01 1', '2023-01 1'), null],
    [
      'adds a month to those that share a file',
      sketch('2023-04 5 2022-12', '2023-05 1'),
      ['2023-04', '2023-05'],
    ],
    [
      'puts what came late with the file it belongs to',
      [
        ['2023-04', 5, '2022-12'],
        ['2023-01', 1],
      ],
      ['2023-01', '2023-04'],
    ],
  ])('%s', (_, some, expected) => {
    const found = planCompaction(some.map(fileRow), MARCH_US, RULE)
    expect(found?.map(({ month }) => month) ?? null).toEqual(expected as string[] | null)
  })

  test('has months of a project that deletes them apart, and takes those apart that share a file', () => {
    const apart = (...some: readonly Sketch[]) =>
      planCompaction(some.map(fileRow), MARCH_US, RULE, (project_id) => project_id === 1)
    expect(apart(['2023-01', 1], ['2023-02', 1])).toBeNull()
    const shared = apart(['2023-01', 1], ['2023-04', 1, '2023-02'], ['2023-03', 1])
    expect(shared?.map(({ month }) => month)).toEqual(['2023-04'])
    const others: Sketch[] = [
      ['2023-01', 1],
      ['2023-02', 1],
    ]
    const of_two = others.map(([month, size]) => [month, size, '', { project_id: 2 }] as const)
    expect(apart(...of_two)).toHaveLength(2)
  })
})

test('a file knows the months it has events of', () => {
  const file = fileRow(['2023-04', 1, '2022-12'])
  expect(firstMonthOf(file)).toBe('2022-12')
  const months = ['2022-11', '2022-12', '2023-01', '2023-04', '2023-05']
  expect(months.filter((month) => hasMonth(file, month))).toEqual(['2022-12', '2023-01', '2023-04'])
  // Too far away for a date: the month's text alone counts.
  const far = { month: '290000-01', min_timestamp: 9.1e18 }
  expect([firstMonthOf(far), isShared(far), hasMonth(far, '290000-01')]).toEqual([
    '290000-01',
    false,
    true,
  ])
})

test('late events, deleted persons and exports find their months in a file that several share', async () => {
  await using world = new World()
  const engine = world.openEngine()
  const job = createJob(world, { readers: engine, compaction: EAGER })
  sendMixed(world, 900)
  await job.run()
  await job.compact()
  expect(files(world).map(({ month }) => month)).toEqual(['2024-05', '2024-05'])
  const late = { event: 'late', timestamp: MARCH_US + 40 * DAY_US }
  world.send(late, { ...late, timestamp: MARCH_US - 400 * DAY_US })
  await job.run()
  const before = await fingerprints(engine)
  await job.compact()
  expect(files(world).map(({ project_id }) => project_id)).toEqual([1, 2])
  expect(await fingerprints(engine)).toEqual(before)

  const removals = new EventRemovalList(world.log)
  world.log.transact(() =>
    removals.add({ project_id: 1, distinct_ids: ['user 4'], person_ids: [], now: MARCH_US }),
  )
  const all = await ask(engine, COUNTS)
  await job.removeEvents()
  expect(await ask(engine, COUNTS)).toEqual(all.filter(([who]) => who !== 'user 4'))
  expect(files(world).find(({ project_id }) => project_id === 1)?.row_count).toBe(452 - 18)
  await job.close()

  const folder = join(world.data_dir, 'exported')
  const how = { data_dir: world.data_dir, folder, project_id: 1, format: 'jsonl' } as const
  const { files: written } = await exportProject({ ...how, onProgress: () => undefined })
  expect(written).toEqual([
    'events-2023-01.jsonl',
    'events-2024-03.jsonl',
    'events-2024-04.jsonl',
    'events-2024-05.jsonl',
    'persons.jsonl',
  ])
  const lines = (month: string): number =>
    readFileSync(join(folder, `events-${month}.jsonl`), 'utf8')
      .trim()
      .split('\n').length
  const by_month = written.slice(0, -1).map((name) => [name.slice(7, 14), lines(name.slice(7, 14))])
  expect(await ask(engine, MONTHS)).toEqual(by_month)
})

longTest(
  'a project that begins to delete its months gets them apart again, and others do not',
  async () => {
    await using world = new World()
    const engine = world.openEngine()
    const first = createJob(world, { readers: engine, compaction: EAGER })
    sendMixed(world, 900)
    await first.run()
    await first.compact()
    await first.close()
    const before = await fingerprints(engine)
    const months = await ask(engine, MONTHS)

    const now = new Date()
    const kept = (now.getUTCFullYear() - 2024) * 12 + now.getUTCMonth() - 3
    const monthsKept = (project_id: number): number | null => (project_id === 1 ? kept : null)
    const job = createJob(world, { readers: engine, compaction: EAGER, monthsKept })
    await job.expire()
    expect(await fingerprints(engine)).toEqual(before)
    await job.compact()
    expect(files(world).map(({ project_id, month }) => `${project_id} ${month}`)).toEqual([
      '1 2024-03',
      '1 2024-04',
      '1 2024-05',
      '2 2024-05',
    ])
    expect(await fingerprints(engine)).toEqual(before)
    await job.expire()
    await job.compact()
    expect(await ask(engine, MONTHS)).toEqual(months.slice(1))
    expect((await fingerprints(engine))[1]).toEqual(before[1])
    await job.close()
  },
)

const COUNTS = 'select distinct_id, count(*) from events_of($1) group by all order by all'
const MONTHS = `select strftime("timestamp", '%Y-%m'), count(*) from events_of($1) group by all order by all`

/** Told as `last month, mebibytes, first month`. */
function sketch(...texts: readonly string[]): readonly Sketch[] {
  return texts.map((text) => {
    const [month = '', mebibytes, first = ''] = text.split(' ')
    return [month, Number(mebibytes), first]
  })
}

function fileRow([month, mebibytes, first = '', more]: Sketch): FileRow {
  const at_us = Date.parse(`${first === '' ? month.slice(-7) : first}-02`) * 1000
  return {
    id: `${month} ${mebibytes}`,
    project_id: 1,
    month,
    first_seq: 1,
    last_seq: 1,
    row_count: 1,
    byte_count: mebibytes * MIB,
    sha256: '',
    min_timestamp: at_us,
    max_timestamp: at_us,
    created_at: MARCH_US - 48 * HOUR_US,
    columns: '[]',
    layout: 'whole',
    own: '[]',
    ...more,
  }
}
