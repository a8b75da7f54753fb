/** Chooses a funnel's fold by the order in which its steps must be taken: a new order is a branch in both functions. */
import { type BucketRun, type Entrance, foldEntrances } from './entrances.ts'
import { foldSteps, type OrderedFunnel, type TakenSteps } from './steps.ts'
import type { Timeline } from './timeline.ts'
import { foldUnordered } from './unordered.ts'
import { foldUnorderedEntrances } from './unordered-entrances.ts'

/** A funnel of any order; an order that is neither `strict` nor `unordered` is `ordered`. */
type AnyFunnel = Omit<OrderedFunnel, 'is_strict'> & { readonly order: string }

/** The steps that an actor took; null without any. */
export function foldStepsByOrder(timeline: Timeline, funnel: AnyFunnel): TakenSteps | null {
  if (funnel.order === 'unordered') return foldUnordered(timeline, funnel)
  return foldSteps(timeline, { ...funnel, is_strict: funnel.order === 'strict' })
}

/** An actor's entrances into the funnel, each with its bucket and whether it converted. */
export function foldEntrancesByOrder(
  timeline: Timeline,
  funnel: AnyFunnel & { readonly from_step: number; readonly buckets: readonly BucketRun[] },
): readonly Entrance[] {
  if (funnel.order === 'unordered') return foldUnorderedEntrances(timeline, funnel)
  return foldEntrances(timeline, { ...funnel, is_strict: funnel.order === 'strict' })
}
