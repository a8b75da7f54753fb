/** Times that come back, as the five fields of a crontab say them: minute, hour, day of the month, month, weekday. */
import { instantOf, wallClockAt } from './wall-clock.ts'

/** A text that has been read. `null` days mean that the field does not choose. */
export type Cron = {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: ReadonlySet<number> | null
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number> | null
}

type Field = { readonly min: number; readonly max: number; readonly names: readonly string[] }

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const FIELDS: readonly [Field, Field, Field, Field, Field] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: MONTHS },
  // Sunday is 0 and 7.
  { min: 0, max: 7, names: WEEKDAYS },
]

/** The 29th of February may be eight years away. */
const DAYS_MAX = 366 * 8 + 2
const DAY_MS = 86_400_000
const PARTS_MAX = 64

/** Reads five fields; null when they are none. */
export function parseCron(text: string): Cron | null {
  const fields = text.trim().toLowerCase().split(/\s+/)
  if (fields.length !== FIELDS.length) return null
  const [minutes, hours, days, months, weekdays] = FIELDS.map((field, index) =>
    readField(fields[index] ?? '', field),
  )
  if (!minutes || !hours || !days || !months || !weekdays) return null
  return {
    minutes,
    hours,
    days: fields[2]?.startsWith('*') === true && days.length === 31 ? null : new Set(days),
    months: new Set(months),
    weekdays:
      fields[4]?.startsWith('*') === true && weekdays.length === 8
        ? null
        : new Set(weekdays.map((day) => day % 7)),
  }
}

/** The first time after an instant, by the clocks of the zone; null when there is none. */
export function nextCronTime(cron: Cron, after: Date, zone: string): Date | null {
  const midnight = Math.floor(wallClockAt(after, zone).getTime() / DAY_MS) * DAY_MS
  for (let number = 0; number < DAYS_MAX; number += 1) {
    const day = new Date(midnight + number * DAY_MS)
    if (!isDay(cron, day)) continue
    for (const wall_ms of timesOf(cron, day.getTime())) {
      const instant = instantOf(new Date(wall_ms), zone)
      if (instant > after) return instant
    }
  }
  return null
}

function* timesOf({ hours, minutes }: Cron, midnight_ms: number): Generator<number> {
  for (const hour of hours) {
    for (const minute of minutes) yield midnight_ms + (hour * 60 + minute) * 60_000
  }
}

/** Where both kinds of day choose, either will do, as in every crontab. */
function isDay({ days, months, weekdays }: Cron, day: Date): boolean {
  if (!months.has(day.getUTCMonth() + 1)) return false
  const is_day = days?.has(day.getUTCDate()) ?? null
  const is_weekday = weekdays?.has(day.getUTCDay()) ?? null
  if (is_day === null) return is_weekday ?? true
  return is_weekday === null ? is_day : is_day || is_weekday
}

/** The values of a field in order; null when it cannot be read. */
function readField(text: string, field: Field): readonly number[] | null {
  const parts = text.split(',')
  if (parts.length > PARTS_MAX) return null
  const values = new Set<number>()
  for (const part of parts) {
    const range = readRange(part, field)
    if (range === null) return null
    for (let value = range.from; value <= range.until; value += range.step) values.add(value)
  }
  return [...values].toSorted((one, other) => one - other)
}

type Range = { readonly from: number; readonly until: number; readonly step: number }

/** `*`, `3`, `1-5`, and each with a step behind a slash. */
function readRange(part: string, field: Field): Range | null {
  const [range = '', step_text, ...others] = part.split('/')
  const step = step_text === undefined ? 1 : /^\d{1,3}$/.test(step_text) ? Number(step_text) : 0
  if (others.length > 0 || step < 1) return null
  if (range === '*') return { from: field.min, until: field.max, step }
  const [from_text = '', until_text, ...more] = range.split('-')
  const from = readValue(from_text, field)
  const until = until_text === undefined ? from : readValue(until_text, field)
  if (from === null || until === null || more.length > 0 || from > until) return null
  // A single value with a step goes on to the end.
  return {
    from,
    until: until_text === undefined && step_text !== undefined ? field.max : until,
    step,
  }
}

function readValue(text: string, { min, max, names }: Field): number | null {
  const named = names.indexOf(text)
  const value = named >= 0 ? named + min : /^\d{1,2}$/.test(text) ? Number(text) : -1
  return value >= min && value <= max ? value : null
}
