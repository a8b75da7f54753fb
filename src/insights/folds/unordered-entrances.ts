/** Fold: one actor's entrances to an unordered funnel, by bucket, and whether each converts. */
import { type BucketRun, bucketOfEvent, type Entrance } from './entrances.ts'
import { endOfMoment, type Timeline } from './timeline.ts'
import {
  type GatheredSteps,
  gatherEvent,
  gatheredCount,
  gatherNothing,
  oldestStep,
  orderOfMoment,
  type UnorderedFunnel,
} from './unordered.ts'

/** An unordered funnel counted by entrance time. */
type UnorderedEntranceFunnel = UnorderedFunnel & {
  /** Taking more steps than this counts as entering. */
  readonly from_step: number
  readonly buckets: readonly BucketRun[]
}

type UnorderedWalk = {
  readonly timeline: Timeline
  readonly funnel: UnorderedEntranceFunnel
  readonly gathered: GatheredSteps
  /** Per bucket, the most steps gathered with an oldest event in it. */
  readonly furthest: Map<number, { readonly steps: number; readonly event: number }>
}

/** The buckets in which an actor enters: those of the oldest event among the steps gathered together. */
export function foldUnorderedEntrances(
  timeline: Timeline,
  funnel: UnorderedEntranceFunnel,
): readonly Entrance[] {
  const gathered = gatherNothing(funnel.step_count)
  const walk: UnorderedWalk = { timeline, funnel, gathered, furthest: new Map() }
  const last = timeline.at_us.length - 1
  for (let from = 0; from <= last; ) {
    const end = endOfMoment(timeline, from)
    for (const event of orderOfMoment(timeline, from, end)) {
      settle(walk, event, false)
      gatherEvent(gathered, event, timeline, funnel)
    }
    from = end
  }
  if (last >= 0) settle(walk, last, true)
  return [...walk.furthest]
    .filter(([, { steps }]) => steps > funnel.from_step)
    .map(([bucket, { steps, event }]) => ({
      bucket,
      is_converted: steps >= funnel.step_count,
      event,
    }))
}

/**
 * Records and removes the oldest events: those out of the window, one when the funnel is complete,
 * and all at the end.
 */
function settle(walk: UnorderedWalk, event: number, is_end: boolean): void {
  const { timeline, funnel, gathered, furthest } = walk
  const since_us = (timeline.at_us[event] ?? 0) - funnel.window_us
  for (;;) {
    const oldest = oldestStep(gathered, timeline)
    if (oldest === null) return
    const { queue, first, at_us } = oldest
    const steps = gatheredCount(gathered)
    if (!is_end && steps < funnel.step_count && at_us >= since_us) return
    const bucket = bucketOfEvent(timeline, first, funnel.buckets)
    if (bucket !== null && steps > (furthest.get(bucket)?.steps ?? 0)) {
      furthest.set(bucket, { steps, event })
    }
    queue.from += 1
  }
}
