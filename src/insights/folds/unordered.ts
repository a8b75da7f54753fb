/** Fold: the most steps one actor takes of an unordered funnel within its window. */
import type { TakenSteps } from './steps.ts'
import {
  bitsDown,
  endOfMoment,
  isOtherValue,
  type StepAttribution,
  type Timeline,
} from './timeline.ts'

/** Parameters of an unordered funnel. */
export type UnorderedFunnel = {
  readonly step_count: number
  /** Between the first and the last of the steps, inclusive. */
  readonly window_us: number
  /** After this many steps, the next one counts only with this value. */
  readonly attribution: StepAttribution
}

/** Events in order of time; those before `from` are removed. */
type StepQueue = { readonly events: number[]; from: number }

/** Per step the events that may still be used, oldest first. */
export type GatheredSteps = { readonly by_step: readonly StepQueue[] }

export function gatherNothing(step_count: number): GatheredSteps {
  return { by_step: Array.from({ length: step_count }, () => ({ events: [], from: 0 })) }
}

const isEmpty = ({ events, from }: StepQueue): boolean => from >= events.length

/** The number of steps with an event. */
export function gatheredCount({ by_step }: GatheredSteps): number {
  let count = 0
  for (const queue of by_step) if (!isEmpty(queue)) count += 1
  return count
}

/**
 * The most steps within one window, at the times of their first events; null without any. Steps count once no exclusion
 * within the window of the first of them can follow: when all are taken, when the window is over, or at the end.
 */
export function foldUnordered(timeline: Timeline, funnel: UnorderedFunnel): TakenSteps | null {
  const gathered = gatherNothing(funnel.step_count)
  let best: readonly number[] = []
  const settle = (since_us: number): void => {
    for (;;) {
      const oldest = oldestStep(gathered, timeline)
      if (oldest === null) return
      const count = gatheredCount(gathered)
      if (count < funnel.step_count && oldest.at_us >= since_us) return
      if (count > best.length) best = oldestOf(gathered, timeline)
      oldest.queue.from += 1
    }
  }
  for (let from = 0; from < timeline.at_us.length; ) {
    const end = endOfMoment(timeline, from)
    for (const event of orderOfMoment(timeline, from, end)) {
      settle((timeline.at_us[event] ?? 0) - funnel.window_us)
      if (best.length === funnel.step_count) return takenSteps(best, timeline)
      gatherEvent(gathered, event, timeline, funnel)
    }
    from = end
  }
  settle(Number.POSITIVE_INFINITY)
  return best.length === 0 ? null : takenSteps(best, timeline)
}

function takenSteps(events: readonly number[], timeline: Timeline): TakenSteps {
  const at_us = events.map((event) => timeline.at_us[event] ?? 0)
  return { furthest: events.length - 1, bits: 2 ** events.length - 1, at_us, events }
}

/** The queue whose first event is the oldest; null when all are empty. */
export function oldestStep({ by_step }: GatheredSteps, { at_us }: Timeline) {
  let oldest: { readonly queue: StepQueue; readonly first: number; readonly at_us: number } | null =
    null
  for (const queue of by_step) {
    const first = queue.events[queue.from]
    if (first === undefined) continue
    const at = at_us[first] ?? 0
    if (oldest === null || at < oldest.at_us) oldest = { queue, first, at_us: at }
  }
  return oldest
}

/**
 * The events of a moment in the order to gather them. An exclusion at the same time as a step may precede it, so the
 * steps of that moment are gathered again after it.
 */
export function orderOfMoment(timeline: Timeline, from: number, end: number): readonly number[] {
  const events = Array.from({ length: end - from }, (_, index) => from + index)
  if (events.length === 1) return events
  const exclusions_here = events.filter((event) => isExclusion(timeline, event))
  if (exclusions_here.length === 0) return events
  const steps = events.filter((event) => !isExclusion(timeline, event))
  return [...steps, ...exclusions_here, ...steps]
}

const isExclusion = ({ steps, exclusions }: Timeline, event: number): boolean =>
  (exclusions[event] ?? 0) > 0 && (steps[event] ?? 0) === 0

/** Adds an event to the step whose last event is the oldest; an exclusion discards all that is gathered. */
export function gatherEvent(
  gathered: GatheredSteps,
  event: number,
  timeline: Timeline,
  { attribution }: Pick<UnorderedFunnel, 'attribution'>,
): void {
  const { by_step } = gathered
  if (isExclusion(timeline, event)) {
    for (const queue of by_step) queue.from = queue.events.length
    return
  }
  if (attribution !== null && isOtherValue(timeline, attribution, gatheredCount(gathered), event)) {
    return
  }
  let chosen: StepQueue | null = null
  for (const step of bitsDown(timeline.steps[event] ?? 0)) {
    const queue = by_step[step]
    if (queue === undefined) continue
    // Of equal ones the first step is chosen; it is visited last.
    if (chosen === null || lastAt(queue, timeline) <= lastAt(chosen, timeline)) chosen = queue
  }
  chosen?.events.push(event)
}

const lastAt = (queue: StepQueue, { at_us }: Timeline): number =>
  isEmpty(queue) ? -1 : (at_us[queue.events.at(-1) ?? -1] ?? -1)

/** The oldest event of each step that has one, in order of time. */
function oldestOf({ by_step }: GatheredSteps, { at_us }: Timeline): readonly number[] {
  const events = by_step.flatMap(({ events: all, from }) => all[from] ?? [])
  return events.toSorted((a, b) => (at_us[a] ?? 0) - (at_us[b] ?? 0))
}
