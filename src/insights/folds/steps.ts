/** How far one actor comes in an ordered or strict funnel, and when they take its steps. */
import { bitsDown, endOfMoment, type Timeline } from './timeline.ts'

/** What an ordered funnel asks for. */
export type OrderedFunnel = {
  readonly step_count: number
  /** From the first step's event, the last microsecond included. */
  readonly window_us: number
  readonly is_strict: boolean
  /** Bits of the steps that may be left out. */
  readonly optional: number
  /** Only events of this step with this value count as that step. */
  readonly attribution: { readonly step: number; readonly value: string } | null
}

/** The steps somebody took: their bits, and when each was taken (null where it was left out). */
export type TakenSteps = {
  readonly furthest: number
  readonly bits: number
  /** Microseconds after the origin, from the first step to the furthest. */
  readonly at_us: readonly (number | null)[]
  /** Which events took them, by their index. */
  readonly events: readonly (number | null)[]
}

/** The events of a chain, the last one first. */
type StepLink = { readonly event: number; readonly step: number; readonly before: StepLink | null }

/** The newest chain that came to a level; level k has taken step k − 1, level 0 is before all steps. */
type FunnelLevel = {
  /** When its first step was; null where no chain is here. */
  readonly start_us: number | null
  readonly is_excluded: boolean
  readonly link: StepLink | null
}

const NOBODY: FunnelLevel = { start_us: null, is_excluded: false, link: null }

type FunnelWalk = {
  readonly funnel: OrderedFunnel
  readonly timeline: Timeline
  readonly levels: FunnelLevel[]
  best: { readonly level: number; readonly reached: FunnelLevel }
}

/** The furthest an actor comes; null for somebody who never begins, or whom an exclusion takes out. */
export function foldSteps(timeline: Timeline, funnel: OrderedFunnel): TakenSteps | null {
  const levels = Array.from({ length: funnel.step_count + 1 }, () => NOBODY)
  const walk: FunnelWalk = { funnel, timeline, levels, best: { level: 0, reached: NOBODY } }
  for (let from = 0; from < timeline.at_us.length; ) {
    const end = endOfMoment(timeline, from)
    levels[0] = { start_us: timeline.at_us[from] ?? 0, is_excluded: false, link: null }
    if (isOneKind(timeline, from, end)) walkInOrder(walk, from, end)
    else walkMoment(walk, from, end)
    if (levels[funnel.step_count] !== NOBODY) break
    from = end
  }
  const { level, reached } = walk.best
  return level === 0 || reached.is_excluded ? null : takenOf(timeline, level, reached.link)
}

/** Whether all events of a moment mean the same, so that their order does not matter. */
function isOneKind({ steps, exclusions }: Timeline, from: number, end: number): boolean {
  for (let event = from + 1; event < end; event += 1) {
    if (steps[event] !== steps[from] || exclusions[event] !== exclusions[from]) return false
  }
  return true
}

function walkInOrder(walk: FunnelWalk, from: number, end: number): void {
  const { timeline, funnel, levels } = walk
  for (let event = from; event < end; event += 1) {
    // An event is tried as its last step first: it cannot be two steps of one chain.
    for (const bit of bitsDown(timeline.exclusions[event] ?? 0)) exclude(walk, event, bit + 1)
    const steps = timeline.steps[event] ?? 0
    for (const step of bitsDown(steps)) advance(walk, event, step, false)
    if (!funnel.is_strict) continue
    for (let step = 0; step < funnel.step_count; step += 1) {
      if ((steps & (1 << step)) === 0) levels[step + 1] = NOBODY
    }
  }
}

/** Different events at the same time may have happened in the order that suits the chain; each serves it once. */
function walkMoment(walk: FunnelWalk, from: number, end: number): void {
  const { timeline, funnel } = walk
  for (let step = 0; step < funnel.step_count; step += 1) {
    for (let event = from; event < end; event += 1) {
      if (((timeline.steps[event] ?? 0) & (1 << step)) !== 0) advance(walk, event, step, true)
    }
  }
}

/** The level a chain must have come to before `step`, and who is there in time; steps that may be left out are. */
function beforeStep({ levels, funnel }: FunnelWalk, step: number, at_us: number) {
  let level = step
  while (!isInTime(levels[level], at_us, funnel.window_us)) {
    if (level === 0 || (funnel.optional & (1 << (level - 1))) === 0) return null
    level -= 1
  }
  return { level, who: levels[level] ?? NOBODY }
}

function isInTime(level: FunnelLevel | undefined, at_us: number, window_us: number): boolean {
  const start_us = level?.start_us ?? null
  return start_us !== null && at_us - start_us <= window_us
}

function advance(walk: FunnelWalk, event: number, step: number, is_moment: boolean): void {
  const { timeline, levels, best } = walk
  const before = beforeStep(walk, step, timeline.at_us[event] ?? 0)
  if (before === null) return
  const { level, who } = before
  // The same chain was here before: the earlier event is kept.
  if (levels[step + 1]?.start_us === who.start_us) return
  if (isOtherValue(walk, level, event) || (is_moment && hasUsed(who.link, event))) return
  const next: FunnelLevel = { ...who, link: { event, step, before: who.link } }
  if (!who.is_excluded) levels[step + 1] = next
  if (step + 1 > best.level || (step + 1 === best.level && best.reached.is_excluded)) {
    walk.best = { level: step + 1, reached: next }
  }
}

function isOtherValue({ funnel, timeline }: FunnelWalk, level: number, event: number): boolean {
  const { attribution } = funnel
  return (
    attribution !== null &&
    attribution.step === level &&
    timeline.values?.[event] !== attribution.value
  )
}

function hasUsed(link: StepLink | null, event: number): boolean {
  for (let one = link; one !== null; one = one.before) if (one.event === event) return true
  return false
}

/** Whoever waits for `step` in time does not go on; who came furthest there is out. */
function exclude(walk: FunnelWalk, event: number, step: number): void {
  const { timeline, levels, funnel, best } = walk
  const at_us = timeline.at_us[event] ?? 0
  const before = beforeStep(walk, step, at_us)
  if (before === null || before.who.is_excluded) return
  if (levels[step + 1]?.start_us === before.who.start_us) return
  levels[before.level] = { ...before.who, is_excluded: true }
  if (best.level === before.level && isInTime(best.reached, at_us, funnel.window_us)) {
    walk.best = { level: best.level, reached: { ...best.reached, is_excluded: true } }
  }
}

function takenOf(timeline: Timeline, level: number, link: StepLink | null): TakenSteps {
  const events: (number | null)[] = Array.from({ length: level }, () => null)
  let bits = 0
  for (let one = link; one !== null; one = one.before) {
    events[one.step] = one.event
    bits |= 1 << one.step
  }
  const at_us = events.map((event) => (event === null ? null : (timeline.at_us[event] ?? 0)))
  return { furthest: level - 1, bits, at_us, events }
}
