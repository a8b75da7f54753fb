/** Each query's own relation of the events: only what it needs, and always the same rows as all of it. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { neededColumnName } from '../../../../src/column-names.ts'
import { compileHogQL } from '../../../../src/hogql/compile.ts'
import type { QueryEngine } from '../../../../src/query/engine/engine.ts'
import { updateEventMacros } from '../../../../src/query/worker/columns/event-macros.ts'
import { NO_OVERRIDES } from '../../../../src/query/worker/columns/person-overrides.ts'
import type { FileRow } from '../../../../src/storage/log/event-log.ts'
import { EventRemovalList } from '../../../../src/storage/log/event-removals.ts'
import { CONTEXT } from '../../../hogql/engine.ts'
import { limitTests } from '../../../long-tests.ts'
import { randomRuns } from '../../../random-runs.ts'
import { createJob, DAY_US, files } from '../../../snapshots/snapshot-world.ts'
import { handwritten } from '../../handwritten-sql.ts'
import { ask, idOf, MARCH_US, query, World } from '../../world.ts'

limitTests(180_000)

const PLAN = neededColumnName({ kind: 'text', name: 'plan' })
const PRICE = neededColumnName({ kind: 'number', name: 'price' })

/** Two files of a million events, each of thirty days. */
const MONTHS: readonly FileRow[] = ['first', 'second'].map((id, index) => ({
  id,
  project_id: 1,
  month: `1970-0${index + 1}`,
  first_seq: 0,
  last_seq: 0,
  row_count: 1_000_000,
  byte_count: 0,
  sha256: '',
  min_timestamp: index * 30 * DAY_US,
  max_timestamp: (index + 1) * 30 * DAY_US - 1,
  created_at: 0,
  columns: '[]',
  layout: 'packed',
  own: '',
}))
const pathOf = ({ id }: FileRow): string => id

describe('names', () => {
  test('what is between quotes is not a relation', () => {
    const sql = `select "events_of(", 'events_lean_of(''', t."events_of" from events_lean_of($1) t, events_counts_of($1) u, events_lean_of($1) v`
    const own = handwritten(sql)
    expect(own.reads.events.map(({ form }) => form)).toEqual(['events_lean', 'events_counts'])
    const [lean = { name: '' }, counts = { name: '' }] = own.reads.events
    expect(lean.name).toMatch(/^events_lean_of_[0-9a-f]{32}$/)
    expect(own.sql).toBe(
      `select "events_of(", 'events_lean_of(''', t."events_of" from ${lean.name}($1) t, ${counts.name}($1) u, ${lean.name}($1) v`,
    )
  })

  test('queries that need the same read the same, and no others', () => {
    const nameOf = (sql: string, from: number | null = null): string =>
      handwritten(sql, { from, until: null }).reads.events[0]?.name ?? ''
    const one = nameOf(`select "${PLAN}", "${PRICE}" from events_lean_of($1)`)
    expect(nameOf(`select "${PRICE}", max("${PLAN}") from events_lean_of($1)`)).toBe(one)
    const others = [
      nameOf(`select "${PLAN}" from events_lean_of($1)`),
      nameOf(`select "${PLAN}", "${PRICE}" from events_of($1)`),
      nameOf(`select "${PLAN}", "${PRICE}" from events_lean_of($1)`, 3),
      nameOf(`select "${PLAN}", "${PRICE}", p_rest from events_lean_of($1)`),
      nameOf(`select "${PLAN}", "${PRICE}", event from events_lean_of($1)`),
    ]
    expect(new Set([one, ...others]).size).toBe(6)
  })

  test('a relation has the columns that its query reads, and those by which its events are found', () => {
    const { events } = compileHogQL(
      'select event, count() from events group by event',
      CONTEXT,
    ).reads
    const empty = { version: 1, files: [], has_tail: true, persons: NO_OVERRIDES, macros: [] }
    const made = (persons: typeof NO_OVERRIDES): string =>
      updateEventMacros(empty, { ...empty, persons, macros: events }, () => '').replace(
        /.* as table /,
        '',
      )
    expect(made(NO_OVERRIDES)).toBe(
      'select true as p_any, "event" from tail where p = project_id()',
    )
    expect(made({ has_overrides: true, removal_ids: '' })).toBe(made(NO_OVERRIDES))
    expect(made({ has_overrides: false, removal_ids: '1' })).toContain(
      '(select true as p_any, "seq", "event", "distinct_id", "person_id" from tail where p = project_id())',
    )
  })

  test('all events are counted by the manifest alone, unless some are in no file', () => {
    const { events } = compileHogQL('select count() from events', CONTEXT).reads
    const empty = { version: 1, files: [], has_tail: true, persons: NO_OVERRIDES, macros: [] }
    const made = (has_tail: boolean): string =>
      updateEventMacros(
        empty,
        { ...empty, version: 2, has_tail, files: MONTHS, macros: events },
        pathOf,
      ).replace(/.* as table /, '')
    const in_files = 'select 2000000::bigint as row_count where p = project_id()'
    expect(made(false)).toBe(in_files)
    expect(made(true)).toBe(
      `${in_files} union all\nselect count(*) as row_count from tail where p = project_id()`,
    )
  })

  test('the statistics of files are read only where many of their rows are within the days', () => {
    const made = (from_day: number | null, until_day: number | null = null): string => {
      const { events } = handwritten('select event from events_lean_of($1)', {
        from: from_day,
        until: until_day,
      }).reads
      const empty = { version: 1, files: [], has_tail: false, persons: NO_OVERRIDES, macros: [] }
      return updateEventMacros(
        empty,
        { ...empty, version: 2, files: MONTHS, macros: events },
        pathOf,
      ).replace(/.* as table /s, '')
    }
    const select = 'select true as p_any, "event" from read_parquet'
    const both = `${select}(['first', 'second']`
    const project = ' where p = project_id()'
    expect(made(null)).toBe(`${both}, union_by_name = true)${project}`)
    expect(made(10, 50)).toBe(`${both}, union_by_name = true)${project}`)
    expect(made(28, 32)).toBe(`${both})${project}`)
    expect(made(53)).toBe(`${select}(['second'])${project}`)
  })

  test('of two states the difference is made, and all of it when files or people differ', () => {
    const [a, b, c] = ['a', 'b', 'c'].map(
      (name) => handwritten(`"p_t_${Buffer.from(name).toString('hex')}" events_of(`).reads.events,
    )
    if (a === undefined || b === undefined || c === undefined) throw new Error('no relations')
    const before = {
      version: 1,
      files: [],
      has_tail: false,
      persons: NO_OVERRIDES,
      macros: [...a, ...b],
    }
    const path = (): string => ''
    const change = updateEventMacros(before, { ...before, macros: [...b, ...c] }, path)
    expect(change.split(';\n').map((text) => text.slice(0, 17))).toEqual([
      'drop macro table ',
      'create or replace',
    ])
    expect(updateEventMacros(before, before, path)).toBe('')
    const made = (after: Partial<typeof before>): number =>
      updateEventMacros(before, { ...before, ...after }, path).split('create or replace').length - 1
    expect(made({ version: 2 })).toBe(2)
    expect(made({ persons: { has_overrides: true, removal_ids: '' } })).toBe(2)
    expect(made({ persons: { has_overrides: false, removal_ids: '1' } })).toBe(2)
    expect(made({ has_tail: true })).toBe(2)
  })
})

type Keep = (columns_max?: number) => Promise<void>

/** Events of three months, kept now and then, late ones among them, some of merged persons, and some never kept. */
async function fill(world: World, keep: Keep): Promise<void> {
  const send = (count: number, month: number, properties: (index: number) => object): void =>
    world.send(
      ...Array.from({ length: count }, (_, index) => ({
        event: `event ${index % 3}`,
        distinct_id: `user ${index % 5}`,
        person_id: idOf(1 + (index % 5)),
        timestamp: MARCH_US + (month * 30 + (index % 25)) * DAY_US + index,
        properties: JSON.stringify(properties(index)),
      })),
    )
  send(40, 0, (index) => ({ plan: index % 2 === 0 ? 'pro' : 'free', price: index }))
  await keep()
  send(30, 1, (index) => ({ other: index, plan: `plan ${index % 2}` }))
  await keep()
  send(20, 0, (index) => ({ plan: 'late', price: index / 4, deep: { index } }))
  await keep()
  send(20, 2, (index) => ({ plan: 'whole', price: `${index}` }))
  await keep(0)
  send(10, 2, () => ({ plan: 'tail', price: 1 }))
  world.log.transact(() => {
    const { db } = world.log
    const values = [idOf(2), idOf(3), world.log.nextChange()]
    db.run(
      'insert into person_overrides (project_id, old_person_id, person_id, change) values (1, ?, ?, ?)',
      values,
    )
  })
}

/** Asked for one after the other, these take away and lead elsewhere. */
const CHANGES: readonly ((world: World) => void)[] = [
  () => undefined,
  (world) =>
    world.log.transact(() => {
      const values = ['user 4', idOf(9), world.log.nextChange()]
      world.log.db.run('insert into distinct_id_overrides values (1, ?, ?, ?)', values)
    }),
  (world) =>
    world.log.transact(() => {
      world.log.nextChange()
      const removal = { project_id: 1, person_ids: [idOf(1)], distinct_ids: ['user 0'] }
      new EventRemovalList(world.log).add({ ...removal, now: MARCH_US })
    }),
  (world) => world.send({ distinct_id: 'user 0', timestamp: MARCH_US + 3 * DAY_US }),
]
const COUNTS = [120, 120, 96, 97]

const QUERIES = [
  'select count() from events',
  'select event, count() from events group by event order by event',
  'select properties.plan as plan, count(), sum(properties.price) from events group by plan order by plan',
  'select count(), uniq(distinct_id), uniq(person_id), min(timestamp), max(timestamp) from events',
  'select distinct_id, person_id, timestamp, toString(properties) as all from events order by timestamp, distinct_id, all limit 500',
  "select count() from events where timestamp >= '2024-03-10' and timestamp < '2024-04-05'",
  "select properties.plan as plan, uniq(person_id) from events where timestamp < '2024-03-20' group by plan order by plan",
  "select count() from events where timestamp >= '2024-05-01' and properties.plan = 'tail'",
  "select count() from events where timestamp >= '2031-01-01'",
  "select event, count() / (select count() from events) from events where timestamp > '2024-04-01' group by event order by event",
] as const

async function answers(engine: QueryEngine, texts = QUERIES as readonly string[]) {
  const all: unknown[] = []
  for (const text of texts) {
    const { sql, values, types, reads } = compileHogQL(text, CONTEXT)
    const sent = values.map(({ type, value }) => ({ type, text: String(value) }))
    const whole = { ...query(sql), values: sent, types, reads }
    const { rows_json } = await engine.run(whole, { timeout_ms: 90_000 })
    all.push(JSON.parse(Buffer.from(rows_json).toString()))
  }
  return all
}

describe('rows', () => {
  test('are those of the log, in files of any columns and months, while persons are led and removed', async () => {
    await using in_files = new World()
    await using in_log = new World()
    await fill(in_log, async () => undefined)
    await fill(in_files, (columns_max) =>
      createJob(in_files, columns_max === undefined ? {} : { columns_max }).run(),
    )
    expect(files(in_files).map(({ month, layout }) => `${month} ${layout}`)).toEqual([
      '2024-03 packed',
      '2024-03 packed',
      '2024-03 packed',
      '2024-04 packed',
      '2024-04 whole',
      '2024-05 whole',
    ])
    const [ours, theirs] = [in_files.openEngine(), in_log.openEngine()]
    const counts: unknown[] = []
    for (const change of CHANGES) {
      for (const world of [in_files, in_log]) change(world)
      const found = await answers(ours)
      expect(found).toEqual(await answers(theirs))
      counts.push(found[0])
    }
    expect(counts).toEqual(COUNTS.map((count) => [[count]]))
  })

  test('of any days are those of these days', async () => {
    await using world = new World()
    const { log } = world
    await fill(world, () => createJob(world).run())
    const engine = world.openEngine()
    const times = await ask(engine, 'select epoch_us("timestamp") from events_of($1)')
    const us = times.map(([time]) => Number(time))
    const some_day = fc.integer({ min: -3, max: 100 })
    await fc.assert(
      fc.asyncProperty(some_day, some_day, async (one, length) => {
        const from_s = (MARCH_US + one * DAY_US) / 1e6
        const until_s = from_s + length * 86_400 - 7
        const text = `select count() from events where timestamp >= fromUnixTimestamp(${from_s}) and timestamp < fromUnixTimestamp(${until_s})`
        const within = us.filter((time) => time >= from_s * 1e6 && time < until_s * 1e6).length
        expect(await answers(engine, [text])).toEqual([[[within]]])
      }),
      randomRuns(4),
    )
    expect(log.seq).toBe(120)
  })

  test('a query finds its relation while others, and files, come and go', async () => {
    await using world = new World()
    const engine = world.openEngine()
    // Wide ones, of which few can stay.
    const wide = Array.from({ length: 6 }, (_, first) => {
      const names = Array.from({ length: 150 }, (__, next) =>
        neededColumnName({ kind: 'text', name: `${first} ${next}` }),
      )
      return `select count(*), ${names.map((name) => `count("${name}")`).join(', ')} from events_lean_of($1)`
    })
    for (let round = 1; round <= 3; round++) {
      world.send({ properties: JSON.stringify({ '2 7': 'here' }) })
      const found = await Promise.all(wide.map((sql) => ask(engine, sql)))
      expect(found.map((rows) => rows[0]?.[0])).toEqual(wide.map(() => round))
      expect(found[2]?.[0]?.[8]).toBe(round)
      await createJob(world).run()
      await engine.adoptManifest()
    }
  })
})
