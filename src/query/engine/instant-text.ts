/** Writes instants and dates of an answer: ISO 8601 with the zone's offset. */

import { DAY_MS, DAY_US, saturateInstant } from '../../time.ts'
import type { ZoneClock } from './clickhouse-types.ts'

/** ISO 8601 as Python formats it, quoted: no fraction when it is zero, six digits otherwise, `Z` for UTC. */
export function instantText(micros: bigint, clock: ZoneClock | null): string {
  const instant_us = saturateInstant(micros)
  const offset_s = clock === null ? 0 : clock(instant_us)
  const local_us = saturateInstant(instant_us + BigInt(offset_s) * 1_000_000n)
  const day = local_us / DAY_US - (local_us % DAY_US < 0n ? 1n : 0n)
  const time_us = Number(local_us - day * DAY_US)
  return `"${dateText(Number(day))}T${timeText(time_us)}${offsetText(offset_s)}"`
}

function timeText(time_us: number): string {
  const seconds = Math.floor(time_us / 1e6)
  const fraction = time_us % 1e6
  const clock = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const text = clock.map((part) => String(part).padStart(2, '0')).join(':')
  return fraction === 0 ? text : `${text}.${String(fraction).padStart(6, '0')}`
}

function offsetText(offset_s: number): string {
  if (offset_s === 0) return 'Z'
  const size = Math.abs(offset_s)
  const parts = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60]
  const shown = parts[2] === 0 ? parts.slice(0, 2) : parts
  const text = shown.map((part) => String(part).padStart(2, '0')).join(':')
  return `${offset_s < 0 ? '-' : '+'}${text}`
}

/** Formats days since 1970 as `YYYY-MM-DD`; years beyond four digits have a sign, as ISO 8601 requires. */
export function dateText(days: number): string {
  const text = new Date(days * DAY_MS).toISOString()
  return text.slice(0, text.indexOf('T'))
}
