/** When one actor enters an ordered or strict funnel, by bucket of time, and whether they come through. */
import { ScalarRefusal } from '../../hogql/scalars/definition.ts'
import type { OrderedFunnel } from './steps.ts'
import { bitsDown, type Timeline } from './timeline.ts'

/** Buckets of time: runs of the same width, in order. */
export type BucketRun = {
  /** Microseconds after the origin. */
  readonly start_us: number
  readonly width_us: number
  readonly count: number
}

/** A funnel counted by the time it is entered. */
export type EntranceFunnel = OrderedFunnel & {
  /** Who came as far as this step (0 the first) counts as somebody who entered. */
  readonly from_step: number
  readonly buckets: readonly BucketRun[]
}

/** One bucket an actor entered in. */
export type Entrance = {
  readonly bucket: number
  readonly is_through: boolean
  /** The event that came through, or furthest. */
  readonly event: number
}

type Chain = { readonly start_us: number; readonly is_excluded: boolean }
type Best = {
  readonly level: number
  readonly event: number
  /** Partly: an exclusion came after the furthest step; fully: and a step came after that. */
  readonly excluded: 'fully' | 'no' | 'partly'
}
type Bucket = {
  readonly id: number
  /** The newest chain at each level, level k has taken step k − 1. */
  readonly levels: (Chain | null)[]
  best: Best
}

type Walk = {
  readonly timeline: Timeline
  readonly funnel: EntranceFunnel
  /** Buckets whose chains may still go on. */
  readonly open: Map<number, Bucket>
  /** Buckets whose time is over. */
  readonly parked: Map<number, Bucket>
  readonly through: Map<number, number>
  /** How often a bucket was looked at. */
  looks: number
}

/** Enough for any person; a machine with more events than that would hold everybody else up. */
const LOOKS_MAX = 100_000_000

/** The buckets in which an actor enters; those of a chain that an exclusion broke are left out. */
export function foldEntrances(timeline: Timeline, funnel: EntranceFunnel): readonly Entrance[] {
  const walk: Walk = {
    timeline,
    funnel,
    open: new Map(),
    parked: new Map(),
    through: new Map(),
    looks: 0,
  }
  for (let event = 0; event < timeline.at_us.length; event += 1) walkEvent(walk, event)
  const entered = [...walk.open.values(), ...walk.parked.values()]
  const through = [...walk.through].map(([bucket, event]) => ({ bucket, is_through: true, event }))
  if (entered.some(({ best }) => best.excluded === 'fully')) return through
  const left = entered
    .filter(({ best }) => best.level > funnel.from_step && best.excluded !== 'partly')
    .map(({ id, best }) => ({ bucket: id, is_through: false, event: best.event }))
  return [...through, ...left]
}

function walkEvent(walk: Walk, event: number): void {
  const { timeline, funnel } = walk
  const steps = timeline.steps[event] ?? 0
  walk.looks += walk.open.size
  if (walk.looks > LOOKS_MAX)
    throw new ScalarRefusal('One actor has too many events for a funnel of so many intervals.')
  parkOld(walk, (timeline.at_us[event] ?? 0) - funnel.window_us)
  for (const bit of bitsDown(timeline.exclusions[event] ?? 0)) {
    for (const bucket of walk.open.values()) exclude(walk, bucket, event, bit + 1)
  }
  for (const step of bitsDown(steps)) {
    if (isOtherValue(walk, event, step)) continue
    if (step === 0) enter(walk, event)
    else for (const bucket of walk.open.values()) advance(walk, bucket, event, step)
  }
  if (!funnel.is_strict) return
  for (const { levels } of walk.open.values()) {
    for (let step = 0; step < funnel.step_count; step += 1) {
      if ((steps & (1 << step)) === 0) levels[step + 1] = null
    }
  }
}

/** A chain that began too long ago goes on no more; where a bucket's newest did, all did. */
function parkOld({ open, parked }: Walk, since_us: number): void {
  for (const bucket of open.values()) {
    if (bucket.levels.some((chain) => chain !== null && chain.start_us >= since_us)) continue
    open.delete(bucket.id)
    parked.set(bucket.id, bucket)
  }
}

function isOtherValue({ funnel, timeline }: Walk, event: number, step: number): boolean {
  const { attribution } = funnel
  return (
    attribution !== null &&
    attribution.step === step &&
    timeline.values?.[event] !== attribution.value
  )
}

function enter(walk: Walk, event: number): void {
  const { open, parked, funnel } = walk
  const at_us = walk.timeline.at_us[event] ?? 0
  const id = bucketOfEvent(walk.timeline, event, funnel.buckets)
  if (id === null || walk.through.has(id)) return
  const chain: Chain = { start_us: at_us, is_excluded: false }
  const known = open.get(id) ?? parked.get(id)
  if (known === undefined || (known.best.level === 1 && known.best.excluded !== 'no')) {
    const levels = Array.from({ length: funnel.step_count + 1 }, (_, level) =>
      level === 1 ? chain : null,
    )
    open.set(id, { id, levels, best: { level: 1, event, excluded: 'no' } })
    parked.delete(id)
    // A funnel of one step is over when it begins.
    if (funnel.step_count === 1) come(walk, id, event)
    return
  }
  known.levels[1] = chain
  open.set(id, known)
  parked.delete(id)
}

function come({ open, through }: Walk, id: number, event: number): void {
  open.delete(id)
  through.set(id, event)
}

function advance(walk: Walk, bucket: Bucket, event: number, step: number): void {
  const { funnel, timeline } = walk
  const at_us = timeline.at_us[event] ?? 0
  const { levels, best } = bucket
  const before = inTime(levels, step, at_us - funnel.window_us)
  if (before === null) return
  const next = step + 1
  if (!before.is_excluded) levels[next] = before
  if (levels[funnel.step_count] !== null) return come(walk, bucket.id, event)
  if (next > best.level || (next === best.level && best.excluded === 'partly')) {
    const excluded = before.is_excluded ? 'fully' : 'no'
    bucket.best = { level: next, event, excluded }
  }
}

/** Who waits for `step`, unless they are late or took it already. */
function inTime(levels: readonly (Chain | null)[], step: number, since_us: number): Chain | null {
  const before = levels[step] ?? null
  if (before === null || before.start_us < since_us) return null
  return levels[step + 1]?.start_us === before.start_us ? null : before
}

function exclude(walk: Walk, bucket: Bucket, event: number, step: number): void {
  const { levels, best } = bucket
  const since_us = (walk.timeline.at_us[event] ?? 0) - walk.funnel.window_us
  const before = inTime(levels, step, since_us)
  if (before === null || before.is_excluded) return
  levels[step] = { ...before, is_excluded: true }
  if (best.level === step && (walk.timeline.at_us[best.event] ?? 0) >= since_us) {
    bucket.best = { ...best, excluded: 'partly' }
  }
}

/** The bucket an event lies in: as it is told, or by its time; null outside all of them. */
export function bucketOfEvent(
  { at_us, buckets }: Timeline,
  event: number,
  runs: readonly BucketRun[],
): number | null {
  return buckets?.[event] ?? bucketOf(runs, at_us[event] ?? 0)
}

/** The bucket an instant lies in; null outside all of them. */
export function bucketOf(buckets: readonly BucketRun[], at_us: number): number | null {
  let first = 0
  for (const { start_us, width_us, count } of buckets) {
    const index = Math.floor((at_us - start_us) / width_us)
    if (index >= 0 && index < count) return first + index
    first += count
  }
  return null
}

/** Consecutive buckets as few runs, from where each begins; the last ends at `end_us`. */
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
