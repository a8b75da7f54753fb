/** Timestamps of bodies mean the same on every machine. */
import { afterEach, expect, test } from 'bun:test'
import { readTimestamp } from '../../../src/http/bodies/timestamps.ts'

const ZONE = process.env['TZ'] ?? 'Etc/UTC'
afterEach(() => {
  process.env['TZ'] = ZONE
})

test.each(['Etc/UTC', 'America/New_York', 'Asia/Tokyo'])(
  'a time without a zone is of UTC on a machine in %s',
  (zone) => {
    process.env['TZ'] = zone
    expect(new Date(2026, 2, 1).getTimezoneOffset()).toBe(
      { 'Etc/UTC': 0, 'America/New_York': 300, 'Asia/Tokyo': -540 }[zone],
    )
    for (const [text, moment] of [
      ['2026-03-01', '2026-03-01T00:00:00.000Z'],
      ['2026-03-01 10:00', '2026-03-01T10:00:00.000Z'],
      ['2026-03-01T10:00:00.123456', '2026-03-01T10:00:00.123Z'],
      ['2026-03-01t10:00:00z', '2026-03-01T10:00:00.000Z'],
      ['2026-03-01 10:00:00 +0200', '2026-03-01T08:00:00.000Z'],
      ['2026-03-01T10:00:00-05:30', '2026-03-01T15:30:00.000Z'],
      ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ] as const) {
      expect([text, readTimestamp(text)?.toISOString()]).toEqual([text, moment])
    }
  },
)

test.each(['', 'soon', '2026-02-29', '2026-02-30T10:00:00Z', '2026-13-01', '2026-03-01T25:00'])(
  '%p is no time',
  (text) => {
    expect(readTimestamp(text)).toBeNull()
  },
)
