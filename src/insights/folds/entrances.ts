/** Fold: one actor's entrances to an ordered or strict funnel, by bucket, and whether each converts. */
import type { OrderedFunnel } from './steps.ts'
import { bitsDown, isOtherValue, type Timeline } from './timeline.ts'

/** Buckets of equal width, in order (run-length encoded). */
export type BucketRun = {
  /** Microseconds after the origin. */
  readonly start_us: number
  readonly width_us: number
  readonly count: number
}

/** An ordered funnel counted by entrance time. */
type EntranceFunnel = OrderedFunnel & {
  /** Reaching this step (0 the first) counts as entering. */
  readonly from_step: number
  readonly buckets: readonly BucketRun[]
}

/** One bucket in which an actor entered. */
export type Entrance = {
  readonly bucket: number
  readonly is_converted: boolean
  /** The event that converted, or of the furthest step. */
  readonly event: number
}

type StepChain = { readonly start_us: number; readonly is_excluded: boolean }
type BestChain = {
  readonly level: number
  readonly event: number
  /** Partly: an exclusion came after the furthest step; fully: and a further step after that. */
  readonly excluded: 'fully' | 'no' | 'partly'
}
type EntranceBucket = {
  readonly id: number
  /** The newest chain at each level; level k has taken step k − 1. */
  readonly levels: (StepChain | null)[]
  best: BestChain
}

type EntranceWalk = {
  readonly timeline: Timeline
  readonly funnel: EntranceFunnel
  /** Entered buckets without a conversion. */
  readonly entered: Map<number, EntranceBucket>
  /**
   * Per level, entered buckets whose chain there has not advanced; an event of the next step visits
   * only these.
   */
  readonly waiting: readonly Set<EntranceBucket>[]
  /** Per bucket with a conversion, the event that converted. */
  readonly conversions: Map<number, number>
}

/** The buckets in which an actor enters, except those whose chain an exclusion broke. */
export function foldEntrances(timeline: Timeline, funnel: EntranceFunnel): readonly Entrance[] {
  const walk: EntranceWalk = {
    timeline,
    funnel,
    entered: new Map(),
    waiting: Array.from({ length: funnel.step_count + 1 }, () => new Set<EntranceBucket>()),
    conversions: new Map(),
  }
  for (let event = 0; event < timeline.at_us.length; event += 1) walkEvent(walk, event)
  const entered = [...walk.entered.values()]
  const converted = [...walk.conversions].map(([bucket, event]) => ({
    bucket,
    is_converted: true,
    event,
  }))
  if (entered.some(({ best }) => best.excluded === 'fully')) return converted
  const entered_buckets = entered
    .filter(({ best }) => best.level > funnel.from_step && best.excluded !== 'partly')
    .map(({ id, best }) => ({ bucket: id, is_converted: false, event: best.event }))
  return [...converted, ...entered_buckets]
}

function walkEvent(walk: EntranceWalk, event: number): void {
  const { timeline, funnel, waiting } = walk
  const steps = timeline.steps[event] ?? 0
  for (const bit of bitsDown(timeline.exclusions[event] ?? 0)) {
    for (const bucket of waiting[bit + 1] ?? []) exclude(walk, bucket, event, bit + 1)
  }
  for (const step of bitsDown(steps)) {
    if (isOtherValue(timeline, funnel.attribution, step, event)) continue
    if (step === 0) enter(walk, event)
    else for (const bucket of waiting[step] ?? []) advance(walk, bucket, event, step)
  }
  if (funnel.is_strict) breakChains(walk, steps)
}

/** In a strict funnel every event breaks chains, except at the steps it is itself. */
function breakChains({ waiting, funnel }: EntranceWalk, steps: number): void {
  const touched = new Set(waiting.flatMap((buckets) => [...buckets]))
  for (const bucket of touched) {
    for (let level = 1; level <= funnel.step_count; level += 1) {
      const survives = (steps & (1 << (level - 1))) !== 0
      if (!survives) bucket.levels[level] = null
      if (bucket.levels[level] === null) waiting[level]?.delete(bucket)
      else waiting[level]?.add(bucket)
    }
  }
}

function enter(walk: EntranceWalk, event: number): void {
  const { entered, funnel, timeline, waiting } = walk
  const id = bucketOfEvent(timeline, event, funnel.buckets)
  if (id === null || walk.conversions.has(id)) return
  const chain: StepChain = { start_us: timeline.at_us[event] ?? 0, is_excluded: false }
  const entry = entered.get(id)
  if (entry !== undefined && (entry.best.level !== 1 || entry.best.excluded === 'no')) {
    entry.levels[1] = chain
    waiting[1]?.add(entry)
    return
  }
  if (entry !== undefined) stopWaiting(walk, entry)
  const levels = Array.from({ length: funnel.step_count + 1 }, (_, level) =>
    level === 1 ? chain : null,
  )
  const bucket: EntranceBucket = { id, levels, best: { level: 1, event, excluded: 'no' } }
  entered.set(id, bucket)
  waiting[1]?.add(bucket)
  // A funnel of one step converts when it is entered.
  if (funnel.step_count === 1) convert(walk, bucket, event)
}

function convert(walk: EntranceWalk, bucket: EntranceBucket, event: number): void {
  stopWaiting(walk, bucket)
  walk.entered.delete(bucket.id)
  walk.conversions.set(bucket.id, event)
}

function stopWaiting({ waiting }: EntranceWalk, bucket: EntranceBucket): void {
  for (const buckets of waiting) buckets.delete(bucket)
}

function advance(walk: EntranceWalk, bucket: EntranceBucket, event: number, step: number): void {
  const { funnel, waiting } = walk
  const { levels, best } = bucket
  const before = takeWaitingChain(walk, bucket, event, step)
  if (before === null) return
  const next = step + 1
  if (!before.is_excluded) {
    levels[next] = before
    waiting[step]?.delete(bucket)
    waiting[next]?.add(bucket)
  }
  if (levels[funnel.step_count] !== null) return convert(walk, bucket, event)
  if (next > best.level || (next === best.level && best.excluded === 'partly')) {
    bucket.best = { level: next, event, excluded: before.is_excluded ? 'fully' : 'no' }
  }
}

/** The chain that waits for `step`; late chains, and those that have taken it, are removed. */
function takeWaitingChain(
  walk: EntranceWalk,
  bucket: EntranceBucket,
  event: number,
  step: number,
): StepChain | null {
  const { levels } = bucket
  const before = levels[step] ?? null
  const since_us = (walk.timeline.at_us[event] ?? 0) - walk.funnel.window_us
  const is_late = before === null || before.start_us < since_us
  if (!is_late && levels[step + 1]?.start_us !== before.start_us) return before
  walk.waiting[step]?.delete(bucket)
  return null
}

function exclude(walk: EntranceWalk, bucket: EntranceBucket, event: number, step: number): void {
  const { levels, best } = bucket
  const before = takeWaitingChain(walk, bucket, event, step)
  if (before === null || before.is_excluded) return
  levels[step] = { ...before, is_excluded: true }
  const { at_us } = walk.timeline
  const best_us = at_us[best.event] ?? 0
  if (best.level === step && (at_us[event] ?? 0) - best_us <= walk.funnel.window_us) {
    bucket.best = { ...best, excluded: 'partly' }
  }
}

/** The bucket of an event: as given, or by its time; null outside all of them. */
export function bucketOfEvent(
  { at_us, buckets }: Timeline,
  event: number,
  runs: readonly BucketRun[],
): number | null {
  return buckets?.[event] ?? bucketOf(runs, at_us[event] ?? 0)
}

/** The bucket of an instant; null outside all of them. */
export function bucketOf(buckets: readonly BucketRun[], at_us: number): number | null {
  let first = 0
  for (const { start_us, width_us, count } of buckets) {
    const index = Math.floor((at_us - start_us) / width_us)
    if (index >= 0 && index < count) return first + index
    first += count
  }
  return null
}

/** Run-length encodes consecutive buckets from their starts; the last ends at `end_us`. */
export function bucketRuns(starts_us: readonly number[], end_us: number): readonly BucketRun[] {
  const runs: { start_us: number; width_us: number; count: number }[] = []
  for (const [index, start_us] of starts_us.entries()) {
    const width_us = (starts_us[index + 1] ?? end_us) - start_us
    const last = runs.at(-1)
    if (last?.width_us === width_us) last.count += 1
    else runs.push({ start_us, width_us, count: 1 })
  }
  return runs
}
