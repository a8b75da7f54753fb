/** Batches of edges on the data thread: none of them holds it until its end, and none waits for another edge's. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packInSlices } from '../../../src/ingest/threads/event-packing.ts'
import { ForwardedBatches } from '../../../src/ingest/threads/forwarded-batches.ts'
import { readEntry } from '../../../src/ingest/threads/forwarded-entry.ts'
import {
  CAPTURE_LIMITS,
  type ForwardedBatch,
  type ForwardedOutcome,
  type LongEntryLines,
  UNAVAILABLE,
} from '../../../src/ingest/threads/messages.ts'
import { type IngestStores, openStores } from '../../../src/ingest/write/apply.ts'
import { EDGE, entryOf } from '../../http/edges/wire.ts'

const EPOCH = 'a1'.repeat(16)

let data_dir = ''
let stores: IngestStores
let batches: ForwardedBatches
let outcomes: (readonly [call: number, outcome: ForwardedOutcome])[] = []
/** Entries that another thread is to parse. */
let long: LongEntryLines[] = []

beforeEach(() => {
  data_dir = mkdtempSync(join(tmpdir(), 'tidemark-forwarded-'))
  stores = openStores(data_dir)
  outcomes = []
  long = []
  batches = openBatches()
})
afterEach(() => {
  stores.log.close()
  rmSync(data_dir, { recursive: true, force: true })
})

/** Each turn does as little as it may. */
const openBatches = (): ForwardedBatches =>
  new ForwardedBatches({
    stores,
    limits: { ...CAPTURE_LIMITS, slice_ms_max: 0 },
    isDeleted: () => false,
    recover: () => null,
    answer: (call, outcome) => outcomes.push([call, outcome]),
    fail: (_call, error) => {
      throw error
    },
    readElsewhere: (lines) => long.push(lines),
  })

const receive = (
  call: number,
  text: string,
  edge = EDGE,
  changes: Partial<ForwardedBatch> = {},
): void =>
  batches.receive(call, {
    user_id: 1,
    edge,
    epoch: EPOCH,
    entries: new TextEncoder().encode(text),
    after: null,
    allowed: [1],
    forbidden: [2],
    moved: [],
    report: '{}',
    now: Date.UTC(2026, 10, 23) * 1000,
    ...changes,
  })

/** Runs turns until nothing is left to do; returns their number. */
function run(turns_max = Number.POSITIVE_INFINITY): number {
  let turns = 0
  for (; batches.has_work && turns < turns_max; turns += 1) batches.turn()
  return turns
}

/** Parses the first waiting entry, as the decode thread does. */
function readOne(): void {
  const lines = long.shift()
  if (lines === undefined) throw new Error('no entry waits')
  const { events, ...entry } = readEntry(lines.head, lines.texts, CAPTURE_LIMITS)
  batches.continueWith(lines.call, {
    kind: 'read',
    entry: { ...entry, slices: packInSlices(events) },
  })
}

const seen = (count: number, length = 1) =>
  Array.from({ length: count }, () => ({
    event: 'seen',
    distinct_id: 'ann',
    properties: { text: 'x'.repeat(length) },
  }))

const stored = (call: number, seq: number, accepted: number) =>
  [call, { kind: 'forwarded', seq, accepted, repeated: 0, dropped: 0 }] as const

const countEvents = (): number =>
  stores.log.db.query<{ count: number }, []>('select count(*) as count from events').get()?.count ??
  0

test('a batch of entries that are stored already is skipped in slices', () => {
  receive(1, '0 \n\n'.repeat(10_000))
  expect(run()).toBeGreaterThan(10)
  expect(outcomes).toEqual([stored(1, 0, 0)])
})

test('a long entry is parsed elsewhere, and applied in slices between others of its batch', () => {
  receive(1, entryOf(1, seen(1)) + entryOf(2, seen(3000, 100)) + entryOf(3, seen(2)))
  run()
  expect([outcomes.length, long.length, countEvents()]).toEqual([0, 1, 1])
  readOne()
  run()
  expect(outcomes).toEqual([stored(1, 3, 3003)])
  expect(countEvents()).toBe(3003)
})

test('a batch waits for a long entry of its edge before it, and those of other edges do not', () => {
  receive(1, entryOf(1, seen(2000, 100)))
  receive(2, entryOf(2, seen(2)))
  receive(3, entryOf(1, seen(3)), 'e1'.repeat(16))
  run()
  expect(outcomes).toEqual([stored(3, 1, 3)])
  readOne()
  run()
  expect(outcomes.slice(1)).toEqual([stored(1, 1, 2000), stored(2, 2, 2)])
})

test('a long entry that was stored in part is continued where it was', () => {
  const entry = entryOf(1, seen(3000, 100))
  receive(1, entry)
  run()
  readOne()
  run(1500)
  const before = countEvents()
  expect(before).toBeWithin(1000, 2000)
  batches = openBatches()
  receive(2, entry)
  run()
  readOne()
  run()
  expect(outcomes).toEqual([stored(2, 1, 3000 - before)])
  expect(countEvents()).toBe(3000)
})

test('an entry of a project that moved after a part of it was stored is left, and the next is stored whole', () => {
  const entry = entryOf(1, seen(3000, 100))
  receive(1, entry)
  run()
  readOne()
  run(1500)
  batches = openBatches()
  const moved = { allowed: [3], moved: [1] }
  const next = entryOf(2, seen(5), { project: 3 })
  receive(2, entry + next, EDGE, moved)
  run()
  readOne()
  run()
  const none = { kind: 'forwarded', seq: 0, accepted: 0, repeated: 0, dropped: 0 } as const
  expect(outcomes).toEqual([[2, { ...none, moved: 1 }]])
  receive(3, next, EDGE, moved)
  run()
  expect(outcomes.slice(1)).toEqual([stored(3, 2, 5)])
})

test('a long entry is refused as a short one is: for a fault in it, and for its project', () => {
  receive(1, entryOf(1, seen(2000, 100)))
  run()
  const refusal = { code: 'invalid_payload', detail: 'no', attr: null } as const
  batches.continueWith(1, { kind: 'refused', ...refusal })
  run()
  expect(outcomes).toEqual([[1, { kind: 'refused', ...refusal }]])
  receive(2, entryOf(1, seen(2000, 100), { project: 2 }))
  run()
  long.shift()
  readOne()
  run()
  expect(outcomes[1]).toMatchObject([2, { kind: 'refused', code: 'permission_denied' }])
  expect(countEvents()).toBe(0)
})

test('a batch whose entry is parsed when ingestion ends is to be sent again', () => {
  receive(1, entryOf(1, seen(2000, 100)))
  run()
  batches.giveUpReading()
  expect(outcomes).toEqual([[1, UNAVAILABLE]])
  readOne()
  expect(batches.has_work).toBe(false)
})
