/** Instants as texts with microseconds: answers of queries have the zone of their project. */
import { DAY_MS } from '../../time.ts'

const INSTANT =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d(?::?(\d\d))?)?)?$/

/** `2026-03-01T01:00:00.5+01:00` → `2026-03-01T00:00:00.500000Z`; null for what is no instant of the years 1 to 9999. */
export function readInstant(value: unknown): string | null {
  const [, day, time, fraction = '', zone = 'Z', zone_s = '0'] =
    typeof value === 'string' ? (INSTANT.exec(value) ?? []) : []
  if (day === undefined || time === undefined) return null
  const offset =
    zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '').slice(0, 2) || '00'}`
  // Local time before time zones has seconds: -00:44:30 in Liberia until 1972.
  const ms =
    Date.parse(`${day}T${time}${offset}`) - Number(`${zone[0] === '-' ? '-' : ''}${zone_s}`) * 1000
  if (Number.isNaN(ms)) return null
  const text = new Date(ms).toISOString()
  return /^\d{4}-/.test(text)
    ? `${text.slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
    : null
}

/** The instant `ms` milliseconds later, at most the end of the year 9999. */
export function addMillis(instant: string, ms: number): string {
  const END_MS = Date.UTC(9999, 11, 31)
  return new Date(Math.min(END_MS, Date.parse(instant) + ms)).toISOString().replace('Z', '000Z')
}

/**
 * Nearly empty windows in a row before the window grows again, once an answer did not come in time. Each further time-out
 * doubles their number, up to the maximum.
 */
const PATIENCE = 8
const PATIENCE_MAX = 256

/** The window of time that one query reads: longer while it comes back nearly empty. */
export class TimeWindow {
  static readonly MIN_MS = DAY_MS / 24
  static readonly MAX_MS = 365 * DAY_MS
  /** A source that runs out of time may need windows that are shorter than rows alone ask for. */
  static readonly SLOW_MIN_MS = 60_000
  ms = DAY_MS
  #patience = 1
  #sparse = 0

  /** Shortens the window after an answer that did not come in time; false when it is as short as it gets. */
  shorten(): boolean {
    const before_ms = this.ms
    this.ms = Math.min(before_ms, Math.max(TimeWindow.SLOW_MIN_MS, before_ms / 4))
    this.#patience = Math.min(PATIENCE_MAX, Math.max(PATIENCE, this.#patience * 2))
    this.#sparse = 0
    return this.ms < before_ms
  }

  fit(rows: number, limit: number): void {
    if (rows === limit) this.ms = Math.max(Math.min(this.ms, TimeWindow.MIN_MS), this.ms / 2)
    this.#sparse = rows < limit / 4 ? this.#sparse + 1 : 0
    if (this.#sparse < this.#patience) return
    this.ms = Math.min(TimeWindow.MAX_MS, this.ms * 2)
    this.#sparse = 0
  }
}
