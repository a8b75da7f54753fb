/** Fold: the most steps one actor takes of an unordered funnel within its window. */
import type { TakenSteps } from './steps.ts'
import { bitsDown, endOfMoment, type Timeline } from './timeline.ts'

/** Parameters of an unordered funnel. */
export type UnorderedFunnel = {
  readonly step_count: number
  /** Between the first and the last of the steps, inclusive. */
  readonly window_us: number
  /** When this many steps are taken, the next counts only with this value. */
  readonly attribution: { readonly step: number; readonly value: string } | null
}

/** Events in order of time; those before `from` are removed. */
export type StepQueue = { readonly events: number[]; from: number }

/** Per step the events that may still be used, oldest first. */
export type GatheredSteps = { readonly by_step: readonly StepQueue[] }

export function gatherNothing(step_count: number): GatheredSteps {
  return { by_step: Array.from({ length: step_count }, () => ({ events: [], from: 0 })) }
}

const isEmpty = ({ events, from }: StepQueue): boolean => from >= events.length

/** How many steps have an event. */
export function gatheredCount({ by_step }: GatheredSteps): number {
  let count = 0
  for (const queue of by_step) if (!isEmpty(queue)) count += 1
  return count
}

/** The most steps within one window, at the times of the first events that reach it; null without any. */
export function foldUnordered(timeline: Timeline, funnel: UnorderedFunnel): TakenSteps | null {
  const gathered = gatherNothing(funnel.step_count)
  let best: readonly number[] = []
  for (let from = 0; from < timeline.at_us.length; ) {
    const end = endOfMoment(timeline, from)
    for (const event of orderOfMoment(timeline, from, end)) {
      if (!gatherEvent(gathered, event, timeline, funnel)) continue
      forgetOld(gathered, timeline, (timeline.at_us[event] ?? 0) - funnel.window_us)
      if (gatheredCount(gathered) > best.length) best = oldestOf(gathered, timeline)
    }
    from = end
  }
  if (best.length === 0) return null
  const at_us = best.map((event) => timeline.at_us[event] ?? 0)
  return { furthest: best.length - 1, bits: 2 ** best.length - 1, at_us, events: best }
}

/**
 * An exclusion at the very time of a step may precede it, so the steps of that moment are gathered
 * again after it.
 */
function orderOfMoment(timeline: Timeline, from: number, end: number): readonly number[] {
  const events = Array.from({ length: end - from }, (_, index) => from + index)
  if (events.length === 1) return events
  const forbidding = events.filter((event) => isExclusion(timeline, event))
  if (forbidding.length === 0) return events
  const steps = events.filter((event) => !isExclusion(timeline, event))
  return [...steps, ...forbidding, ...steps]
}

const isExclusion = ({ steps, exclusions }: Timeline, event: number): boolean =>
  (exclusions[event] ?? 0) > 0 && (steps[event] ?? 0) === 0

/** Adds an event to the step whose last event is the oldest. False when it cannot be used. */
export function gatherEvent(
  gathered: GatheredSteps,
  event: number,
  timeline: Timeline,
  { attribution }: Pick<UnorderedFunnel, 'attribution'>,
): boolean {
  const { by_step } = gathered
  if (isExclusion(timeline, event)) {
    for (const queue of by_step) queue.from = queue.events.length
    return false
  }
  if (
    attribution !== null &&
    attribution.step === gatheredCount(gathered) &&
    timeline.values?.[event] !== attribution.value
  ) {
    return false
  }
  let chosen: StepQueue | null = null
  for (const step of bitsDown(timeline.steps[event] ?? 0)) {
    const queue = by_step[step]
    if (queue === undefined) continue
    // Of equal ones the first step is chosen; it is visited last.
    if (chosen === null || lastAt(queue, timeline) <= lastAt(chosen, timeline)) chosen = queue
  }
  chosen?.events.push(event)
  return chosen !== null
}

const lastAt = (queue: StepQueue, { at_us }: Timeline): number =>
  isEmpty(queue) ? -1 : (at_us[queue.events.at(-1) ?? -1] ?? -1)

function forgetOld({ by_step }: GatheredSteps, { at_us }: Timeline, since_us: number): void {
  for (const queue of by_step) {
    while (!isEmpty(queue) && (at_us[queue.events[queue.from] ?? 0] ?? 0) < since_us) {
      queue.from += 1
    }
  }
}

/** The oldest event of each step that has one, in order of time. */
function oldestOf({ by_step }: GatheredSteps, { at_us }: Timeline): readonly number[] {
  const events = by_step.flatMap(({ events: all, from }) => all[from] ?? [])
  return events.toSorted((a, b) => (at_us[a] ?? 0) - (at_us[b] ?? 0))
}
