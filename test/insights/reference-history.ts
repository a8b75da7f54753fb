/** Histories of made-up people, and a plain calendar to count them by: what insights are compared with. No SQL. */
import * as fc from 'fast-check'

/** One event of a history. */
export type Seen = {
  readonly person: number
  readonly name: 'a' | 'b'
  /** Milliseconds since 1970. */
  readonly at_ms: number
  readonly properties: Readonly<Record<string, unknown>>
}

export type History = {
  readonly events: readonly Seen[]
  /** Persons that became others: who they were and who they are. */
  readonly merges: readonly (readonly [old: number, now: number])[]
}

/** How days are counted. */
export type Calendar = {
  readonly timezone: string
  readonly week_start_day: 0 | 1
  readonly interval: 'day' | 'hour' | 'month' | 'week'
  /** Local dates, both inclusive. */
  readonly from: string
  readonly to: string
}

const QUARTER_MS = 900_000
/** The clocks change in New York on 10 March, in Berlin on 31 March, on Lord Howe by half an hour on 7 April. */
const FIRST_MS = Date.UTC(2024, 1, 20)
const DAYS = 55

export const HISTORY: fc.Arbitrary<History> = fc.record({
  events: fc.array(
    fc.record({
      person: fc.integer({ min: 0, max: 6 }),
      name: fc.constantFrom('a' as const, 'a' as const, 'b' as const),
      // Many at the same instant, many within minutes of midnight somewhere.
      at_ms: fc.oneof(
        fc.integer({ min: 0, max: DAYS * 96 }).map((quarter) => FIRST_MS + quarter * QUARTER_MS),
        fc.integer({ min: 0, max: DAYS * 86_400_000 }).map((ms) => FIRST_MS + ms),
      ),
      properties: fc.record(
        {
          plan: fc.constantFrom('pro', 'free', 'team', '', null),
          n: fc.constantFrom(1, 2.5, -3, '7.5', 'none', null),
          $session_id: fc.constantFrom('s1', 's2', 's3'),
        },
        { requiredKeys: [] },
      ),
    }),
    { maxLength: 40 },
  ),
  merges: fc.uniqueArray(fc.tuple(fc.integer({ min: 4, max: 6 }), fc.integer({ min: 0, max: 3 })), {
    selector: ([old]) => old,
    maxLength: 2,
  }),
})

const dateOf = (day: number): string =>
  new Date(FIRST_MS + day * 86_400_000).toISOString().slice(0, 10)

export const CALENDAR: fc.Arbitrary<Calendar> = fc
  .record({
    timezone: fc.constantFrom(
      'UTC',
      'America/New_York',
      'Europe/Berlin',
      'Asia/Kathmandu',
      // Here the clocks change at midnight: a day begins at one o'clock.
      'Asia/Beirut',
      'Australia/Lord_Howe',
      'Pacific/Kiritimati',
    ),
    week_start_day: fc.constantFrom(0 as const, 1 as const),
    interval: fc.constantFrom('day' as const, 'week' as const, 'month' as const, 'hour' as const),
    first: fc.integer({ min: 5, max: DAYS }),
    length: fc.integer({ min: 0, max: 20 }),
  })
  .map(({ first, length, interval, ...calendar }) => ({
    ...calendar,
    interval,
    from: dateOf(first),
    to: dateOf(first + (interval === 'hour' ? Math.min(length, 3) : length)),
  }))

const clocks = new Map<string, Intl.DateTimeFormat>()

/** What a zone's clocks show: `2024-03-10 03:00:00`. */
export function localTime(at_ms: number, timezone: string): string {
  const options = { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' } as const
  const clock = clocks.get(timezone) ?? new Intl.DateTimeFormat('sv-SE', options)
  clocks.set(timezone, clock)
  return clock.format(at_ms)
}

/** The step an instant lies in, under a name of its own. */
export function stepOf(at_ms: number, calendar: Calendar): string {
  const local = localTime(at_ms, calendar.timezone)
  const date = local.slice(0, 10)
  switch (calendar.interval) {
    case 'hour': {
      const into_ms = Number(local.slice(14, 16)) * 60_000 + Number(local.slice(17, 19)) * 1000
      return new Date(at_ms - into_ms - (at_ms % 1000)).toISOString()
    }
    case 'day':
      return date
    case 'month':
      return `${date.slice(0, 7)}-01`
    case 'week': {
      const day = new Date(`${date}T00:00:00Z`)
      const back = (day.getUTCDay() - calendar.week_start_day + 7) % 7
      return addDays(date, -back)
    }
  }
}

export function addDays(date: string, days: number): string {
  const moved = new Date(`${date}T00:00:00Z`)
  moved.setUTCDate(moved.getUTCDate() + days)
  return moved.toISOString().slice(0, 10)
}

/** Every step of the calendar, found by looking at each quarter of an hour. */
export function stepsOf(calendar: Calendar): readonly string[] {
  const start_ms = Date.parse(`${addDays(calendar.from, -2)}T00:00:00Z`)
  const end_ms = Date.parse(`${addDays(calendar.to, 3)}T00:00:00Z`)
  const steps = new Set<string>()
  for (let at_ms = start_ms; at_ms < end_ms; at_ms += QUARTER_MS) {
    const date = localTime(at_ms, calendar.timezone).slice(0, 10)
    if (date >= calendar.from && date <= calendar.to) steps.add(stepOf(at_ms, calendar))
  }
  return [...steps]
}

/** Whether an event is counted: it lies in one of the steps, and not after the last day. */
export function isCounted(event: Seen, calendar: Calendar, steps: readonly string[]): boolean {
  const date = localTime(event.at_ms, calendar.timezone).slice(0, 10)
  return date <= calendar.to && steps.includes(stepOf(event.at_ms, calendar))
}

/** Who somebody is today. */
export function personOf(event: Seen, { merges }: History): number {
  return merges.find(([old]) => old === event.person)?.[1] ?? event.person
}
