/** Fold: the furthest step of one actor in an ordered or strict funnel, and when each step was taken. */
import {
  bitsDown,
  endOfMoment,
  isOtherValue,
  type StepAttribution,
  type Timeline,
} from './timeline.ts'

/** Parameters of an ordered funnel. */
export type OrderedFunnel = {
  readonly step_count: number
  /** From the first step's event, inclusive. */
  readonly window_us: number
  readonly is_strict: boolean
  /** Bits of optional steps. */
  readonly optional: number
  /** Only events with this value count as this step. */
  readonly attribution: StepAttribution
}

/** The steps an actor took: their bits, and when (null for optional steps not taken). */
export type TakenSteps = {
  readonly furthest: number
  readonly bits: number
  /** Microseconds after the origin, from the first step to the furthest. */
  readonly at_us: readonly (number | null)[]
  /** Indexes of the events. */
  readonly events: readonly (number | null)[]
}

/** The events of a chain as a linked list, the last one first. */
type StepLink = { readonly event: number; readonly step: number; readonly before: StepLink | null }

/** The newest chain at a level; level k has taken step k − 1, level 0 none. */
type FunnelLevel = {
  /** Time of its first step; null without a chain. */
  readonly start_us: number | null
  readonly is_excluded: boolean
  readonly link: StepLink | null
}

const NO_CHAIN: FunnelLevel = { start_us: null, is_excluded: false, link: null }

type FunnelWalk = {
  readonly funnel: OrderedFunnel
  readonly timeline: Timeline
  readonly levels: FunnelLevel[]
  best: { readonly level: number; readonly reached: FunnelLevel }
}

/** The furthest progress of an actor; null for one who never begins, or is excluded. */
export function foldSteps(timeline: Timeline, funnel: OrderedFunnel): TakenSteps | null {
  const levels = Array.from({ length: funnel.step_count + 1 }, () => NO_CHAIN)
  const walk: FunnelWalk = { funnel, timeline, levels, best: { level: 0, reached: NO_CHAIN } }
  for (let from = 0; from < timeline.at_us.length; ) {
    const end = endOfMoment(timeline, from)
    levels[0] = { start_us: timeline.at_us[from] ?? 0, is_excluded: false, link: null }
    if (isOneKind(timeline, from, end)) walkInOrder(walk, from, end)
    else walkMoment(walk, from, end)
    if (levels[funnel.step_count] !== NO_CHAIN) break
    from = end
  }
  const { level, reached } = walk.best
  return level === 0 || reached.is_excluded ? null : takenSteps(timeline, level, reached.link)
}

/** Whether all events of a moment have the same steps and exclusions, so that their order is irrelevant. */
function isOneKind({ steps, exclusions }: Timeline, from: number, end: number): boolean {
  for (let event = from + 1; event < end; event += 1) {
    if (steps[event] !== steps[from] || exclusions[event] !== exclusions[from]) return false
  }
  return true
}

function walkInOrder(walk: FunnelWalk, from: number, end: number): void {
  const { timeline, funnel, levels } = walk
  for (let event = from; event < end; event += 1) {
    // Later steps first: one event cannot be two steps of a chain.
    for (const bit of bitsDown(timeline.exclusions[event] ?? 0)) exclude(walk, event, bit + 1)
    const steps = timeline.steps[event] ?? 0
    for (const step of bitsDown(steps)) advance(walk, event, step, false)
    if (!funnel.is_strict) continue
    for (let step = 0; step < funnel.step_count; step += 1) {
      if ((steps & (1 << step)) === 0) levels[step + 1] = NO_CHAIN
    }
  }
}

/** Different events at one moment may take steps in any order; each is used once per chain. */
function walkMoment(walk: FunnelWalk, from: number, end: number): void {
  const { timeline, funnel } = walk
  for (let step = 0; step < funnel.step_count; step += 1) {
    for (let event = from; event < end; event += 1) {
      if (((timeline.steps[event] ?? 0) & (1 << step)) !== 0) advance(walk, event, step, true)
    }
  }
}

/** The level that precedes `step`, skipping optional steps, and its chain, if it is within the window. */
function findChainBefore({ levels, funnel }: FunnelWalk, step: number, at_us: number) {
  let level = step
  while (!isInTime(levels[level], at_us, funnel.window_us)) {
    if (level === 0 || (funnel.optional & (1 << (level - 1))) === 0) return null
    level -= 1
  }
  return { level, chain: levels[level] ?? NO_CHAIN }
}

function isInTime(level: FunnelLevel | undefined, at_us: number, window_us: number): boolean {
  const start_us = level?.start_us ?? null
  return start_us !== null && at_us - start_us <= window_us
}

function advance(walk: FunnelWalk, event: number, step: number, is_moment: boolean): void {
  const { timeline, funnel, levels, best } = walk
  const before = findChainBefore(walk, step, timeline.at_us[event] ?? 0)
  if (before === null) return
  const { level, chain } = before
  // The same chain is already at that level: its earlier event remains.
  if (levels[step + 1]?.start_us === chain.start_us) return
  if (isOtherValue(timeline, funnel.attribution, level, event)) return
  if (is_moment && hasUsed(chain.link, event)) return
  const next: FunnelLevel = { ...chain, link: { event, step, before: chain.link } }
  if (!chain.is_excluded) levels[step + 1] = next
  if (step + 1 > best.level || (step + 1 === best.level && best.reached.is_excluded)) {
    walk.best = { level: step + 1, reached: next }
  }
}

function hasUsed(link: StepLink | null, event: number): boolean {
  for (let used = link; used !== null; used = used.before) if (used.event === event) return true
  return false
}

/**
 * Breaks the chain that waits for `step` within the window; an actor whose furthest chain it is, is
 * excluded.
 */
function exclude(walk: FunnelWalk, event: number, step: number): void {
  const { timeline, levels, funnel, best } = walk
  const at_us = timeline.at_us[event] ?? 0
  const before = findChainBefore(walk, step, at_us)
  if (before === null || before.chain.is_excluded) return
  if (levels[step + 1]?.start_us === before.chain.start_us) return
  levels[before.level] = { ...before.chain, is_excluded: true }
  if (best.level === before.level && isInTime(best.reached, at_us, funnel.window_us)) {
    walk.best = { level: best.level, reached: { ...best.reached, is_excluded: true } }
  }
}

function takenSteps(timeline: Timeline, level: number, link: StepLink | null): TakenSteps {
  const events: (number | null)[] = Array.from({ length: level }, () => null)
  let bits = 0
  for (let one = link; one !== null; one = one.before) {
    events[one.step] = one.event
    bits |= 1 << one.step
  }
  const at_us = events.map((event) => (event === null ? null : (timeline.at_us[event] ?? 0)))
  return { furthest: level - 1, bits, at_us, events }
}
