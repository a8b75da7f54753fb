/** Instants as texts with microseconds: answers of queries have the zone of their project. */
import { DAY_MS } from '../../time.ts'

const INSTANT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?)?$/

/** `2026-03-01T01:00:00.5+01:00` → `2026-03-01T00:00:00.500000Z`; null for what is no instant of the years 1 to 9999. */
export function readInstant(value: unknown): string | null {
  const [, day, time, fraction = '', zone = 'Z'] =
    typeof value === 'string' ? (INSTANT.exec(value) ?? []) : []
  if (day === undefined || time === undefined) return null
  const offset =
    zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
  const ms = Date.parse(`${day}T${time}${offset}`)
  if (Number.isNaN(ms)) return null
  const text = new Date(ms).toISOString()
  return /^\d{4}-/.test(text)
    ? `${text.slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
    : null
}

/** The instant so many milliseconds later, at most the end of the year 9999. */
export function addMillis(instant: string, ms: number): string {
  const END_MS = Date.UTC(9999, 11, 31)
  return new Date(Math.min(END_MS, Date.parse(instant) + ms)).toISOString().replace('Z', '000Z')
}

/** The window of time that one query reads: longer while it comes back nearly empty. */
export class TimeWindow {
  static readonly MIN_MS = DAY_MS / 24
  static readonly MAX_MS = 365 * DAY_MS
  ms = DAY_MS

  fit(rows: number, limit: number): void {
    if (rows < limit / 4) this.ms = Math.min(TimeWindow.MAX_MS, this.ms * 2)
    else if (rows === limit) this.ms = Math.max(TimeWindow.MIN_MS, this.ms / 2)
  }
}
