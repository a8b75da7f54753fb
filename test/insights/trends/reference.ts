/** Trends counted plainly, row by row. No SQL. */
import {
  addDays,
  type Calendar,
  type History,
  isCounted,
  localTime,
  personOf,
  type Seen,
  stepOf,
  stepsOf,
} from '../reference-history.ts'

export const NONE = '$$_posthog_breakdown_null_$$'
export const OTHER = '$$_posthog_breakdown_other_$$'

/** Lines by what they are split by ('' when they are not). */
export type Lines = ReadonlyMap<string, readonly number[]>

/** What is worked out of the events of a step; `all` is the history. */
export type Counting = (events: readonly Seen[], history: History) => number

const numbers = (events: readonly Seen[]): number[] =>
  events.flatMap(({ properties }) => {
    const value = properties['n']
    if (typeof value === 'number') return [value]
    return value === '7.5' ? [7.5] : []
  })

const perPerson = (events: readonly Seen[], history: History): number[] =>
  [...Map.groupBy(events, (event) => personOf(event, history)).values()].map((own) => own.length)

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : sum(values) / values.length

/** Between two neighbours in proportion. */
function quantile(values: readonly number[], level: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * level
  const [low, high] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0]
  return low + (high - low) * (place - Math.floor(place))
}

/** Maths that look at the events of one step alone. */
export const COUNTINGS: Readonly<Record<string, Counting>> = {
  total: (events) => events.length,
  dau: (events, history) => new Set(events.map((event) => personOf(event, history))).size,
  unique_session: (events) =>
    new Set(events.map(({ properties }) => properties['$session_id'] ?? '')).size,
  sum: (events) => sum(numbers(events)),
  avg: (events) => mean(numbers(events)),
  min: (events) => (numbers(events).length === 0 ? 0 : Math.min(...numbers(events))),
  max: (events) => (numbers(events).length === 0 ? 0 : Math.max(...numbers(events))),
  median: (events) => (numbers(events).length === 0 ? 0 : quantile(numbers(events), 0.5)),
  p90: (events) => (numbers(events).length === 0 ? 0 : quantile(numbers(events), 0.9)),
  avg_count_per_actor: (events, history) => mean(perPerson(events, history)),
  max_count_per_actor: (events, history) => Math.max(0, ...perPerson(events, history)),
  median_count_per_actor: (events, history) =>
    events.length === 0 ? 0 : quantile(perPerson(events, history), 0.5),
}

const planOf = ({ properties }: Seen): string => {
  const plan = properties['plan']
  return typeof plan === 'string' && plan !== '' ? plan : NONE
}

/** Every step's number, by plan or not. */
export function countedLines(
  history: History,
  calendar: Calendar,
  counting: Counting,
  by_plan: boolean,
): Lines {
  const steps = stepsOf(calendar)
  const counted = history.events.filter(
    (event) => event.name === 'a' && isCounted(event, calendar, steps),
  )
  const split = Map.groupBy(counted, (event) => (by_plan ? planOf(event) : ''))
  if (!by_plan && !split.has('')) split.set('', [])
  return new Map(
    [...split].map(([plan, events]) => [
      plan,
      steps.map((step) => {
        const own = events.filter((event) => stepOf(event.at_ms, calendar) === step)
        return own.length === 0 ? 0 : counting(own, history)
      }),
    ]),
  )
}

/** The same by plan, for plans that anybody had in that time. */
export function recentPeopleByPlan(
  history: History,
  calendar: Calendar,
  days: number,
): ReadonlyMap<string, readonly number[]> {
  const plans = new Set(history.events.map(planOf))
  const lines = [...plans].map((plan) => {
    const events = history.events.filter((event) => planOf(event) === plan)
    return [plan, recentPeople({ ...history, events }, calendar, days)] as const
  })
  return new Map(lines.filter(([, data]) => data.some((count) => count > 0)))
}

/** The number of people active within a number of days before the end of each step. */
export function recentPeople(
  history: History,
  calendar: Calendar,
  days: number,
): readonly number[] {
  return stepsOf(calendar).map((step) => {
    const last = lastDay(step, calendar)
    const first = addDays(last, 1 - days)
    const active = history.events.filter((event) => {
      const date = localTime(event.at_ms, calendar.timezone).slice(0, 10)
      return event.name === 'a' && date >= first && date <= last
    })
    return new Set(active.map((event) => personOf(event, history))).size
  })
}

function lastDay(step: string, calendar: Calendar): string {
  const last = calendar.interval === 'week' ? addDays(step, 6) : step
  return last < calendar.to ? last : calendar.to
}

/** How many people did it for the first time of all in each step. */
export function firstTimes(history: History, calendar: Calendar): readonly number[] {
  const steps = stepsOf(calendar)
  const own = history.events.filter(({ name }) => name === 'a')
  const firsts = [...Map.groupBy(own, (event) => personOf(event, history)).values()].map(
    (events) => events.toSorted((a, b) => a.at_ms - b.at_ms)[0],
  )
  const counted = firsts.filter((event) => event !== undefined && isCounted(event, calendar, steps))
  return steps.map(
    (step) =>
      counted.filter((event) => event !== undefined && stepOf(event.at_ms, calendar) === step)
        .length,
  )
}

/** The lines as answers order them, all but the first few summed as one. */
export function ranked(
  lines: Lines,
  limit: number,
): readonly (readonly [string, readonly number[]])[] {
  const rank = (a: readonly [string, readonly number[]], b: readonly [string, readonly number[]]) =>
    Number(a[0] === NONE) - Number(b[0] === NONE) || sum(b[1]) - sum(a[1]) || (a[0] < b[0] ? -1 : 1)
  const sorted = [...lines].toSorted(rank)
  const rest = sorted.slice(limit).map(([, data]) => data)
  if (rest.length === 0) return sorted
  const [length] = rest.map((data) => data.length)
  const summed = Array.from({ length: length ?? 0 }, (_, step) =>
    sum(rest.map((data) => data[step] ?? 0)),
  )
  return [...sorted.slice(0, limit), [OTHER, summed]]
}

/** One person's days, for stickiness and lifecycles. */
export function stepsByPerson(
  history: History,
  calendar: Calendar,
): ReadonlyMap<number, Set<string>> {
  const days = new Map<number, Set<string>>()
  for (const event of history.events.filter(({ name }) => name === 'a')) {
    const person = personOf(event, history)
    const own = days.get(person) ?? new Set<string>()
    own.add(stepOf(event.at_ms, calendar))
    days.set(person, own)
  }
  return days
}
