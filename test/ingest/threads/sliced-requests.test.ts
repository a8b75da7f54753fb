/** Requests that take long are applied in slices: as a whole or not at all, once, and others pass in between. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { DefinitionTracker } from '../../../src/ingest/notes/definition-tracker.ts'
import { ProjectPlugins } from '../../../src/ingest/pipeline/plugins.ts'
import { CommitQueue } from '../../../src/ingest/threads/commit-queue.ts'
import { Committer } from '../../../src/ingest/threads/committer.ts'
import {
  CAPTURE_LIMITS,
  type NumberedAnswer,
  type NumberedCapture,
} from '../../../src/ingest/threads/messages.ts'
import type { PreparedRequest } from '../../../src/ingest/threads/prepared-request.ts'
import { clearStores, type IngestStores, openStores } from '../../../src/ingest/write/apply.ts'
import { ProjectTokens } from '../../../src/storage/control/project-tokens.ts'
import { bytesOf, Folder, NOW, OTHER_TOKEN, STORED_ONE, TOKEN } from '../folder.ts'

/** Of which a slice has a thousand. */
const EVENTS = 3500

let folder: Folder
beforeEach(() => {
  folder = new Folder()
})
afterEach(() => folder.remove())

const capture = (id: number, body: unknown): NumberedCapture => ({
  id,
  path: '/batch',
  query: '',
  content_type: 'application/json',
  content_encoding: '',
  client_ip: '',
  received_at_ms: NOW,
  body: bytesOf(body),
})
const uuidOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
const events = (count: number, more: (index: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, index) => ({
    event: 'e',
    distinct_id: `d${index % 7}`,
    properties: { index, $set: { last: index } },
    ...more(index),
  }))
const large = (id: number, more?: (index: number) => object) =>
  capture(id, { api_key: TOKEN, batch: events(EVENTS, more) })

/** A process with ingestion in it; `kill` leaves the database as it is. */
function start(slice_ms_max = 0) {
  const stores: IngestStores = openStores(folder.path)
  const tokens = new ProjectTokens(folder.path)
  const plugins = new ProjectPlugins(folder.path)
  const answers = new Map<number, NumberedAnswer[1]>()
  /** The bytes that each message reported as written. */
  const reports: number[] = []
  const committer = new Committer({
    stores,
    tokens,
    plugins,
    limits: { ...CAPTURE_LIMITS, slice_ms_max, request_ms_max: slice_ms_max },
    locate: () => null,
    names: new DefinitionTracker(),
    answer: (committed) => {
      for (const [id, answer] of committed.answers) answers.set(id, answer)
      reports.push(committed.bytes_written)
    },
    breakDown: (message) => {
      throw new Error(message)
    },
    wake: () => undefined,
  })
  return {
    answers,
    reports,
    committer,
    countEvents: () => stores.log.seq,
    turns(count: number) {
      for (let turn = 0; turn < count && committer.has_work; turn += 1) committer.turn()
    },
    kill() {
      clearStores(stores)
      plugins.close()
      tokens.close()
      stores.log.close()
    },
  }
}

const countEvents = () => folder.rows('select 1 from events').length
const journal = () => [
  ...folder.rows('select id from sliced_requests'),
  ...folder.rows('select id from request_slices'),
]
const FOREVER = 100_000

describe('a large request', () => {
  test('is stored as a small one is, in its order', () => {
    const process = start(1)
    process.committer.receive([large(1), large(2, (index) => ({ uuid: uuidOf(index) }))])
    process.turns(FOREVER)
    process.committer.receive([large(3, (index) => ({ uuid: uuidOf(index * 2) }))])
    process.turns(FOREVER)
    const stored = { kind: 'stored', dropped: 0 } as const
    expect(Object.fromEntries(process.answers)).toEqual({
      1: { ...stored, accepted: EVENTS, repeated: 0 },
      2: { ...stored, accepted: EVENTS, repeated: 0 },
      3: { ...stored, accepted: EVENTS / 2, repeated: EVENTS / 2 },
    })
    process.kill()
    const indexes = folder.events().map((event) => event.properties['index'])
    expect(indexes.slice(0, EVENTS)).toEqual(Array.from({ length: EVENTS }, (_, index) => index))
    expect(folder.person('d0')?.properties['last']).toBe(EVENTS - 7)
    expect(folder.rows('select name, value from ingest_counters order by name')).toEqual([
      { name: 'accepted', value: 2.5 * EVENTS },
      { name: 'duplicate', value: EVENTS / 2 },
    ])
    expect(journal()).toEqual([])
  }, 60_000)

  test('is counted once, whatever number of transactions it takes', () => {
    const process = start()
    const pairs = (index: number) => ({
      event: '$identify',
      properties: { $anon_distinct_id: `a${index}` },
    })
    process.committer.receive([
      capture(1, { api_key: TOKEN, batch: events(50, pairs) }),
      capture(2, { api_key: OTHER_TOKEN, batch: events(50, pairs) }),
    ])
    process.turns(FOREVER)
    process.kill()
    expect(
      folder.rows('select project_id, name, value from ingest_counters order by project_id, name'),
    ).toEqual(
      [1, 2].flatMap((project_id) => [
        { project_id, name: 'accepted', value: 50 },
        { project_id, name: 'merged', value: 50 },
      ]),
    )
  })

  test('is checkpointed while it is stored: what its slices write is reported before its answer', () => {
    const process = start()
    process.committer.receive([large(1, (index) => ({ distinct_id: `new ${index}` }))])
    process.turns(FOREVER)
    process.kill()
    expect(process.answers.size).toBe(1)
    // A new person changes two pages: its own, and that of its distinct id.
    const pages = EVENTS * 2 * 4096
    expect(process.reports.length).toBeGreaterThan(10)
    expect(Math.max(...process.reports)).toBeLessThan(pages / 5)
    expect(process.reports.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(pages)
  })

  test('lets those of others pass', () => {
    const process = start()
    const small = capture(2, { api_key: OTHER_TOKEN, event: 'e', distinct_id: 'd' })
    process.committer.receive([large(1), small])
    process.turns(20)
    expect(Object.fromEntries(process.answers)).toEqual({ 2: STORED_ONE })
    process.kill()
  })

  test.each([
    ['new persons', (index: number) => ({ distinct_id: `new ${index}` }), 700],
    ['known persons', () => ({}), 2000],
    ['large events', (index: number) => ({ properties: { index, text: 'x'.repeat(4000) } }), 550],
    [
      'large persons',
      (index: number) => ({
        properties: { index, $set: { [`p${index % 60}`]: 'x'.repeat(4000) } },
      }),
      550,
    ],
  ])(
    'of %s is stored in transactions of bounded rows and bytes, however much time there is',
    (_, more, events_max) => {
      // Time bounds nothing here.
      const process = start(600_000)
      const small = (id: number) =>
        capture(id, { api_key: OTHER_TOKEN, event: 'e', distinct_id: 'd' })
      process.committer.receive([large(1, more)])
      const stored: number[] = []
      let passed = 0
      for (let id = 2; process.answers.get(1) === undefined; id += 1) {
        const before = process.countEvents()
        process.turns(1)
        stored.push(process.countEvents() - before)
        process.committer.receive([small(id)])
        if (process.answers.get(id - 1) !== undefined && process.answers.get(1) === undefined)
          passed += 1
      }
      process.turns(FOREVER)
      process.kill()
      expect(process.answers.get(1)).toMatchObject({ kind: 'stored', accepted: EVENTS })
      expect(Math.max(...stored)).toBeLessThanOrEqual(events_max)
      expect(stored.filter((count) => count > 100).length).toBeGreaterThanOrEqual(
        EVENTS / events_max,
      )
      expect(passed).toBeGreaterThan(0)
    },
    60_000,
  )

  // Parsed in the first turn.
  test.each([2, 3])(
    'that is not all written down at a crash (after turn %d) is not stored',
    (turns) => {
      const killed = start()
      killed.committer.receive([large(1)])
      killed.turns(turns)
      expect(killed.answers.size).toBe(0)
      killed.kill()
      expect(journal()).not.toEqual([])
      const next = start()
      next.turns(FOREVER)
      next.kill()
      expect([countEvents(), journal()]).toEqual([0, []])
    },
  )

  test.each([10, 300, 2500])(
    'that is all written down at a crash (after turn %d) is finished by the next process, once',
    (turns) => {
      const killed = start()
      killed.committer.receive([large(1)])
      killed.turns(turns)
      expect(killed.answers.size).toBe(0)
      killed.kill()
      expect(countEvents()).toBeLessThan(EVENTS)
      const next = start()
      next.turns(FOREVER)
      next.kill()
      expect(folder.events().map((event) => event.properties['index'])).toEqual(
        Array.from({ length: EVENTS }, (_, index) => index),
      )
      expect(journal()).toEqual([])
    },
    60_000,
  )

  test('that is sent again after a crash is stored once where it has uuids', () => {
    const again = large(1, (index) => ({ uuid: uuidOf(index) }))
    const killed = start()
    killed.committer.receive([again])
    killed.turns(200)
    killed.kill()
    const next = start(10_000)
    next.committer.receive([again])
    next.turns(FOREVER)
    next.kill()
    expect(next.answers.get(1)).toMatchObject({ kind: 'stored' })
    expect(countEvents()).toBe(EVENTS)
  })

  test('of a migration is stored before what follows it', () => {
    const process = start()
    const part = (id: number) =>
      capture(id, {
        api_key: TOKEN,
        historical_migration: true,
        batch: events(30, (index) => ({ properties: { index: id * 100 + index } })),
      })
    process.committer.receive([part(1), part(2), part(3)])
    process.turns(FOREVER)
    process.kill()
    const indexes = folder.events().map((event) => Number(event.properties['index']))
    expect(indexes).toHaveLength(90)
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b))
  })

  test('with a refused event at its end leaves nothing', () => {
    const process = start()
    process.committer.receive([large(1, (index) => (index === EVENTS - 1 ? { uuid: 'x' } : {}))])
    process.turns(FOREVER)
    process.kill()
    expect(process.answers.get(1)).toMatchObject({ kind: 'refused', code: 'invalid_payload' })
    expect([countEvents(), journal()]).toEqual([0, []])
  })

  test('whose project is deleted meanwhile is refused', () => {
    const process = start()
    process.committer.receive([large(1)])
    process.turns(100)
    process.committer.refuseProject(1)
    process.turns(FOREVER)
    process.kill()
    expect(process.answers.get(1)).toMatchObject({ kind: 'refused', code: 'invalid_api_key' })
    expect(journal()).toEqual([])
  })

  test('that meets a bug is answered, and is not tried for ever', () => {
    const process = start()
    folder.run(
      "create trigger poison before insert on events when new.distinct_id = 'poison' begin select raise(abort, 'poison'); end",
    )
    const poisoned = large(1, (index) => (index === 2000 ? { distinct_id: 'poison' } : {}))
    const small = capture(2, { api_key: TOKEN, event: 'e', distinct_id: 'd' })
    process.committer.receive([poisoned, small])
    process.turns(FOREVER)
    process.kill()
    expect(process.answers.get(1)).toMatchObject({ kind: 'failed' })
    expect(process.answers.get(2)).toEqual(STORED_ONE)
    expect(journal()).toEqual([])
  }, 60_000)
})

describe('requests that wait', () => {
  const request = (id: number, project_id: number, count = 1): PreparedRequest => ({
    id,
    project_id,
    now: 0,
    is_historical: false,
    events: Array(count),
    dropped: [],
    warnings: [],
    names: { events: [], properties: {} },
  })
  const none = () => false
  const idsOf = (requests: readonly PreparedRequest[]) => requests.map(({ id }) => id)

  test('are taken one of each project in turn, in the order of each', () => {
    const lane = new CommitQueue()
    for (let id = 1; id <= 6; id += 1) lane.add(request(id, 1))
    lane.add(request(7, 2))
    lane.add(request(8, 3))
    lane.add(request(9, 3))
    expect(idsOf(lane.take(5, none))).toEqual([1, 7, 8, 2, 9])
    const next = lane.take(2, none)
    expect(idsOf(next)).toEqual([3, 4])
    lane.putBack(next)
    lane.add(request(10, 2))
    expect(idsOf(lane.take(3, none))).toEqual([3, 10, 4])
    expect(idsOf(lane.take(100, none))).toEqual([5, 6])
    expect([lane.isEmpty(none), lane.take(1, none)]).toEqual([true, []])
  })

  test('are taken at least one at a time, and no further one beyond what fits', () => {
    const lane = new CommitQueue()
    lane.add(request(1, 1, 50))
    lane.add(request(2, 2, 3))
    expect(idsOf(lane.take(10, none))).toEqual([1])
    expect(idsOf(lane.take(10, none))).toEqual([2])
  })

  test('wait while their project is held, and others do not', () => {
    const lane = new CommitQueue()
    lane.add(request(1, 1))
    lane.add(request(2, 2))
    const isHeld = (project_id: number) => project_id === 1
    expect(idsOf(lane.take(10, isHeld))).toEqual([2])
    expect([lane.isEmpty(isHeld), lane.isEmpty(none)]).toEqual([true, false])
    expect(idsOf(lane.take(10, none))).toEqual([1])
  })
})
