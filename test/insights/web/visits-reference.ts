/** Visits over rows in memory, as plainly as it can be said: nothing of it is shared with what is tested. */
import { localMs } from '../retention/reference.ts'

export type Row = {
  readonly session: string
  readonly person: number
  readonly at_ms: number
  readonly event: string
  readonly path: string | null
  readonly browser: string | null
}

/** Days of a zone's calendar, both inclusive: `2024-03-09`. */
export type Days = { readonly timezone: string; readonly from: string; readonly to: string }

const DAY_MS = 86_400_000

/** When a day begins on the clocks of a zone. */
function startOfDay(day: string, timezone: string): number {
  const as_utc = Date.parse(`${day}T00:00:00Z`)
  const first_ms = as_utc - (localMs(as_utc, timezone) - as_utc)
  return as_utc - (localMs(first_ms, timezone) - first_ms)
}

const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)

/** As many days just before. */
export function daysBefore({ timezone, from, to }: Days): Days {
  const length = (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS + 1
  return { timezone, from: dayAfter(from, -length), to: dayAfter(to, -length) }
}

/** One session as it is told: what happened in it at all, and its views within the days. */
type Visit = {
  readonly person: number
  readonly seconds: number
  readonly bounced: boolean | null
  readonly entry: string | null
  readonly views: readonly Row[]
}

const isView = ({ event }: Row): boolean => event === '$pageview' || event === '$screen'

/** Sessions that began and were viewed within the days. */
export function visitsOf(rows: readonly Row[], days: Days): readonly Visit[] {
  const begins_ms = startOfDay(days.from, days.timezone)
  const ends_ms = startOfDay(dayAfter(days.to, 1), days.timezone)
  const isWithin = (at_ms: number): boolean => at_ms >= begins_ms && at_ms < ends_ms
  const names = new Set(rows.map(({ session }) => session).filter((session) => session !== ''))
  return [...names].flatMap((name) => {
    const own = rows.filter(({ session }) => session === name).toSorted((a, b) => a.at_ms - b.at_ms)
    const [first] = own
    const views = own.filter((row) => isView(row) && isWithin(row.at_ms))
    if (first === undefined || !isWithin(first.at_ms) || views.length === 0) return []
    const seconds = wholeSeconds(own.at(-1)?.at_ms ?? 0) - wholeSeconds(first.at_ms)
    const seen = own.filter(isView).length
    const clicked = own.some(({ event }) => event === '$autocapture')
    const visit = {
      person: first.person,
      seconds,
      bounced: seen === 0 ? null : !(seen > 1 || clicked || seconds >= 10),
      entry: own.find(({ path }) => path !== null)?.path ?? null,
      views,
    }
    return [visit]
  })
}

const wholeSeconds = (at_ms: number): number => Math.floor(at_ms / 1000)

/** Visitors, views, sessions, mean seconds, percentage that bounced. */
export function overviewOf(visits: readonly Visit[]): readonly (number | null)[] {
  return [
    new Set(visits.map(({ person }) => person)).size,
    visits.reduce((sum, { views }) => sum + views.length, 0),
    visits.length,
    mean(visits.map(({ seconds }) => seconds)),
    percentage(mean(visits.map(bounce))),
  ]
}

const bounce = ({ bounced }: Visit): number => (bounced === true ? 1 : 0)
const percentage = (part: number | null): number | null => (part === null ? null : part * 100)

function mean(values: readonly number[]): number | null {
  if (values.length === 0) return null
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Rows of value, visitors, views and how many bounced, by a property of views; sorted as text. */
export function tableOf(
  visits: readonly Visit[],
  by: 'browser' | 'path',
): readonly (readonly unknown[])[] {
  const values = new Set(visits.flatMap(({ views }) => views.flatMap((view) => view[by] ?? [])))
  return [...values].toSorted().map((value) => {
    const of = visits.filter(({ views }) => views.some((view) => view[by] === value))
    // A page bounces those that began there.
    const asked = by === 'path' ? of.filter(({ entry }) => entry === value) : of
    return [
      value,
      new Set(of.map(({ person }) => person)).size,
      of.reduce((sum, { views }) => sum + views.filter((view) => view[by] === value).length, 0),
      mean(asked.map(bounce)),
    ]
  })
}
