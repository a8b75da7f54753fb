/** Retention over rows in memory, as plainly as it can be said: nothing of it is shared with what is tested. */

export type Row = {
  readonly event: string
  readonly person: number
  readonly at_ms: number
  readonly plan?: string
}

export type Period = 'Day' | 'Hour' | 'Month' | 'Week'

export type Retention = {
  readonly timezone: string
  readonly week_start_day: 0 | 1
  readonly now_ms: number
  readonly period: Period
  readonly intervals: number
  readonly start: 'each' | 'first' | 'first_ever'
  readonly cumulative: boolean
  readonly minimum: number
  readonly brackets: readonly number[]
  readonly rolling: boolean
  readonly isTarget: (row: Row) => boolean
  /** The target whatever its properties. */
  readonly isTargetEvent: (row: Row) => boolean
  readonly isReturn: (row: Row) => boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** What the clocks of a zone show, as if it were UTC. */
export function localMs(at_ms: number, timezone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at_ms)
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value)
  return Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  )
}

/** The number of the step an instant lies in, counted from anywhere. */
function stepNumber(at_ms: number, asked: Retention): number {
  const local = localMs(at_ms, asked.timezone)
  const day = Math.floor(local / DAY_MS)
  switch (asked.period) {
    case 'Hour': {
      // Hours are lengths of time, counted from the full hour that "now" lies in.
      const start_ms = asked.now_ms - (localMs(asked.now_ms, asked.timezone) % HOUR_MS)
      return Math.floor((at_ms - start_ms) / HOUR_MS)
    }
    case 'Day':
      return day
    case 'Week':
      // Day 0 was a Thursday, so day 3 was a Sunday.
      return Math.floor((day - 3 - asked.week_start_day) / 7)
    case 'Month':
      return new Date(local).getUTCFullYear() * 12 + new Date(local).getUTCMonth()
  }
}

const LENGTHS_MS: Readonly<Record<Period, number>> = {
  Hour: HOUR_MS,
  Day: DAY_MS,
  Week: 7 * DAY_MS,
  Month: 30 * DAY_MS,
}

/** Counts by start and by offset, `[start][offset]`. */
export function retentionOf(rows: readonly Row[], asked: Retention): number[][] {
  const ahead = asked.brackets.length
    ? asked.brackets.reduce((sum, length) => sum + length, 0)
    : asked.intervals - 1
  const last = asked.intervals - 1 + (asked.brackets.length ? ahead : 0) + (asked.rolling ? 1 : 0)
  const first_step = stepNumber(asked.now_ms, asked) - asked.intervals + 1
  const stepOf = (row: Row): number => stepNumber(row.at_ms, asked) - first_step
  const seen = rows.filter((row) => stepOf(row) <= last)
  const counts = Array.from({ length: asked.intervals }, (_, start) =>
    Array<number>(cellCount(asked, start)).fill(0),
  )
  for (const person of new Set(seen.map((row) => row.person))) {
    const own = seen.filter((row) => row.person === person)
    for (const start of startsOf(own, asked, stepOf)) {
      const line = counts[start] ?? []
      for (const cell of cellsOf(own, start, { asked, ahead, stepOf }))
        line[cell] = (line[cell] ?? 0) + 1
      // What lies beyond the last step is not shown.
      line.length = cellCount(asked, start)
    }
  }
  return counts
}

const cellCount = ({ brackets, intervals }: Retention, start: number): number =>
  brackets.length ? brackets.length + 1 : intervals - start

type Steps = {
  readonly asked: Retention
  readonly ahead: number
  readonly stepOf: (row: Row) => number
}

/** The cells in which one person who starts in a step is counted. */
function cellsOf(own: readonly Row[], start: number, { asked, ahead, stepOf }: Steps): Set<number> {
  const started = own.filter((row) => asked.isTarget(row) && stepOf(row) === start)
  const base_ms = Math.min(...started.map((row) => row.at_ms))
  const often = new Map<number, number>()
  for (const row of own.filter((one) => asked.isReturn(one) && stepOf(one) >= 0)) {
    const length_ms = LENGTHS_MS[asked.period]
    const passed = asked.rolling
      ? Math.floor((row.at_ms - base_ms) / length_ms)
      : stepOf(row) - start
    if (passed > 0 && passed <= ahead) often.set(passed, (often.get(passed) ?? 0) + 1)
  }
  const enough = [...often].filter(([, times]) => times >= asked.minimum)
  const cells = new Set([0, ...enough.map(([passed]) => cellOf(passed, asked))])
  if (!asked.cumulative) return cells
  return new Set(Array.from({ length: Math.max(...cells) + 1 }, (_, cell) => cell))
}

function cellOf(offset: number, { brackets }: Retention): number {
  if (brackets.length === 0) return offset
  let end = 0
  for (const [index, length] of brackets.entries()) {
    end += length
    if (offset <= end) return index + 1
  }
  throw new Error('beyond all brackets')
}

function startsOf(
  own: readonly Row[],
  asked: Retention,
  stepOf: (row: Row) => number,
): readonly number[] {
  const isAsked = (step: number): boolean => step >= 0 && step < asked.intervals
  const targets = own.filter(asked.isTarget)
  if (asked.start === 'each') return [...new Set(targets.map(stepOf))].filter(isAsked)
  const of_event = asked.start === 'first' ? targets : own.filter(asked.isTargetEvent)
  const first_ms = Math.min(...of_event.map((row) => row.at_ms))
  // Of rows at the same instant none is before the others.
  const first = targets.find((row) => row.at_ms === first_ms)
  return first === undefined ? [] : [stepOf(first)].filter(isAsked)
}
