/** What clocks on walls show in a time zone: plans are made by them, and they jump twice a year. */

const MS_PER_HOUR = 3_600_000

/** What a wall clock in the zone shows at an instant, as if it were UTC. */
export function wallClockAt(instant: Date, zone: string): Date {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(instant)
  const numbers = new Map(parts.map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes) => numbers.get(type) ?? 0
  const { year, month, day } = { year: part('year'), month: part('month'), day: part('day') }
  return new Date(Date.UTC(year, month - 1, day, part('hour'), part('minute'), part('second')))
}

/**
 * The instant at which a wall clock in the zone shows this; the earlier one when it shows it twice. What it never shows,
 * since it jumps over it, is as much later as it jumps.
 */
export function instantOf(wall: Date, zone: string): Date {
  const offsetAt = (ms: number) => wallClockAt(new Date(ms), zone).getTime() - trunc(ms)
  // No clock jumps twice within two days: one of the two offsets is in force.
  const before = offsetAt(wall.getTime() - 24 * MS_PER_HOUR)
  const after = offsetAt(wall.getTime() + 24 * MS_PER_HOUR)
  const candidates = [before, after].map((offset) => wall.getTime() - offset)
  const shown = candidates.filter(
    (ms) => wallClockAt(new Date(ms), zone).getTime() === trunc(wall.getTime()),
  )
  return new Date(shown.length > 0 ? Math.min(...shown) : wall.getTime() - before)
}

/** Clocks show whole seconds. */
function trunc(ms: number): number {
  return Math.floor(ms / 1000) * 1000
}
