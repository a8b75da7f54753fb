/** The window of exactly-once: old uuids go, young ones stay, whatever the size of a step. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DedupPosition,
  deleteUuids,
  findFirstDay,
} from '../../../src/ingest/write/dedup-window.ts'
import { EventLog } from '../../../src/storage/log/event-log.ts'

let folder: string
let log: EventLog
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-window-'))
  log = new EventLog(folder)
})
afterEach(() => {
  log.close()
  rmSync(folder, { recursive: true })
})

const DAY_US = 86_400_000_000

test('the window begins so many days before today, however far ahead of the files the clock is', () => {
  const now = Date.parse('1970-02-15T23:59:59Z') * 1000
  expect(findFirstDay([], now, 30)).toBe(15)
  const first = (now_us: number, ...days: readonly number[]): number =>
    findFirstDay(
      days.map((day) => ({ created_at: day * DAY_US })),
      now_us,
      30,
    )
  expect(first(now, 44, 45)).toBe(15)
  expect(first(now + 40 * 365 * DAY_US, 44, 45)).toBe(15)
  // A file that was written under that clock proves nothing; files of a week do.
  expect(first(15_000 * DAY_US, 44, 45, 15_000)).toBe(15)
  expect(first(15_008 * DAY_US, 44, 45, 15_000, 15_008)).toBe(14_978)
})

test.each([1, 3, 7, 1000])(
  'forgetUuids in steps of %i rows deletes what is older, in all projects',
  (rows) => {
    const uuids = Array.from({ length: 50 }, () => crypto.getRandomValues(new Uint8Array(16)))
    for (const [index, uuid] of uuids.entries()) log.claimUuid((index % 3) + 1, uuid, index)
    let after: DedupPosition | null = null
    let steps = 0
    do {
      after = deleteUuids(log, { after, received_before: 20, rows })
      steps += 1
    } while (after !== null)
    expect(steps).toBeGreaterThanOrEqual(Math.floor(50 / rows))
    const again = uuids.map((uuid, index) => log.claimUuid((index % 3) + 1, uuid, 60))
    expect(again).toEqual(uuids.map((_, index) => index < 20))
  },
)

test('forgetUuids on an empty log is at the end at once', () => {
  expect(deleteUuids(log, { after: null, received_before: 20, rows: 10 })).toBeNull()
})
