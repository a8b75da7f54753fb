/**
 * Parses constant texts as times: `2024-03-10`, `2024-03-10 12:34[:56[.789]]`, with or without an
 * offset, epoch seconds.
 */

const FORM =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2}|[+-]\d{2})?$/i

/** Seconds since 1970, perhaps with a fraction, milliseconds or microseconds. */
const EPOCH = /^(?:(\d{9,10})(?:\.(\d*))?|(\d{13})|(\d{16}))$/

/** An instant, or a local time of a zone that the caller knows; microseconds since 1970. */
type TimeText =
  | { readonly kind: 'instant'; readonly us: bigint }
  | { readonly kind: 'local'; readonly us: bigint }

/** Parses a constant text as a time; null when it is not one. */
export function parseInstant(text: string): TimeText | null {
  const trimmed = text.trim()
  const since_epoch_us = readEpoch(trimmed)
  if (since_epoch_us !== null) return { kind: 'instant', us: since_epoch_us }
  const match = FORM.exec(trimmed)
  if (match === null) return null
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset] = match
  const days = daysOf(Number(year), Number(month), Number(day))
  if (days === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  const seconds = BigInt(Number(hour) * 3600 + Number(minute) * 60 + Number(second))
  const us =
    (BigInt(days) * 86_400n + seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6))
  if (offset === undefined) return { kind: 'local', us }
  return { kind: 'instant', us: us - BigInt(offsetSeconds(offset)) * 1_000_000n }
}

function readEpoch(text: string): bigint | null {
  const [, seconds, decimals = '', milliseconds, microseconds] = EPOCH.exec(text) ?? []
  if (seconds !== undefined) return BigInt(seconds + decimals.padEnd(6, '0').slice(0, 6))
  if (milliseconds !== undefined) return BigInt(milliseconds) * 1000n
  return microseconds === undefined ? null : BigInt(microseconds)
}

/** Parses a constant text as a date, in days since 1970; text after the date is ignored, as in ClickHouse. */
export function parseDate(text: string): bigint | null {
  const read = parseInstant(text)
  if (read === null) return null
  const day_us = 86_400_000_000n
  const short = read.us % day_us < 0n ? 1n : 0n
  return read.us / day_us - short
}

function daysOf(year: number, month: number, day: number): number | null {
  const at = new Date(0)
  at.setUTCFullYear(year, month - 1, day)
  const same =
    at.getUTCFullYear() === year && at.getUTCMonth() === month - 1 && at.getUTCDate() === day
  return same ? Math.round(at.getTime() / 86_400_000) : null
}

function offsetSeconds(offset: string): number {
  const match = /^([+-])(\d{2}):?(\d{2})?$/.exec(offset)
  if (match === null) return 0
  const seconds = Number(match[2]) * 3600 + Number(match[3] ?? 0) * 60
  return match[1] === '-' ? -seconds : seconds
}
