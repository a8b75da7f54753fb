/** Timeline: one actor's events in order, as folds read them: time, steps, exclusions. */
import { ScalarRefusal } from '../../hogql/scalars/definition.ts'

/**
 * Events sorted by time. `steps` and `exclusions` are bit sets: bit 0 is the first step; bit k of
 * an exclusion breaks chains that have reached step k.
 */
export type Timeline = {
  /** Microseconds after the query's origin. */
  readonly at_us: readonly number[]
  readonly steps: readonly number[]
  readonly exclusions: readonly number[]
  /** The breakdown value of each event; null without a breakdown. */
  readonly values: readonly string[] | null
  /** The bucket of each event, where the caller computed it. */
  readonly buckets?: readonly number[]
}

/** The step whose event must have the breakdown value, and that value; null without one. */
export type StepAttribution = { readonly step: number; readonly value: string } | null

/** Whether the event lacks the breakdown value that this step requires. */
export function isOtherValue(
  { values }: Timeline,
  attribution: StepAttribution,
  step: number,
  event: number,
): boolean {
  return attribution !== null && attribution.step === step && values?.[event] !== attribution.value
}

/** Maximum steps of a funnel: the bits of steps and exclusions fit one exact double. */
export const FUNNEL_STEPS_MAX = 25

/** The layout of packed events. */
export type PackedLayout = {
  /** Low bits with steps and exclusions. */
  readonly bits: number
  /** The number of steps among those; the others are exclusions. */
  readonly steps: number
  /** The number of steps that the fold uses, with the exclusions between them. */
  readonly used_steps: number
  /** Bits of the steps whose events have a value. */
  readonly valued_steps: number
}

/** Doubles are exact to 2^53. */
const EXACT_BITS = 53

/** Whether events over `span_us` fit doubles; longer ranges are packed in 128 bits. */
export function fitsNumbers(span_us: bigint, bits: number): boolean {
  return span_us < 2n ** BigInt(Math.max(0, EXACT_BITS - bits))
}

/**
 * Unpacks sorted events: microseconds * 2^bits + steps + exclusions * 2^steps. `values` are those
 * of the events that have one, in the same order. Refuses numbers that are no packed events.
 */
export function readTimeline(
  packed: readonly (bigint | number | null)[],
  { bits, steps, used_steps, valued_steps }: PackedLayout,
  sent_values: readonly string[] | null = null,
): Timeline {
  const at_us: number[] = []
  const step_sets: number[] = []
  const exclusions: number[] = []
  const values: string[] | null = sent_values === null ? null : []
  let next_value = 0
  const scale = 2 ** bits
  const step_scale = 2 ** steps
  const used_scale = 2 ** used_steps
  const exclusion_scale = 2 ** Math.max(0, used_steps - 1)
  for (const one of packed) {
    if (one === null) throw new ScalarRefusal(NO_TIMELINE)
    const [at, marks] = typeof one === 'number' ? split(one, scale) : splitWide(one, bits)
    const step_set = marks % step_scale
    at_us.push(at)
    step_sets.push(step_set % used_scale)
    const has_value = (step_set & valued_steps) !== 0
    values?.push(has_value ? (sent_values?.[next_value] ?? '') : '')
    if (has_value) next_value += 1
    exclusions.push(((marks - step_set) / step_scale) % exclusion_scale)
  }
  return { at_us, steps: step_sets, exclusions, values }
}

const NO_TIMELINE = 'A fold reads lists that actor_timeline made.'

function split(packed: number, scale: number): readonly [at_us: number, marks: number] {
  if (!Number.isSafeInteger(packed) || packed < 0) throw new ScalarRefusal(NO_TIMELINE)
  const at = Math.floor(packed / scale)
  return [at, packed - at * scale]
}

function splitWide(packed: bigint, bits: number): readonly [at_us: number, marks: number] {
  return [Number(packed >> BigInt(bits)), Number(BigInt.asUintN(bits, packed))]
}

/** The index after the events at the same time as the one at `from`. */
export function endOfMoment({ at_us }: Timeline, from: number): number {
  let end = from + 1
  while (end < at_us.length && at_us[end] === at_us[from]) end += 1
  return end
}

/** The bits of a set, from the highest to the lowest. */
export function bitsDown(set: number): readonly number[] {
  const bits: number[] = []
  for (let rest = set; rest > 0; ) {
    const bit = 31 - Math.clz32(rest)
    bits.push(bit)
    rest -= 2 ** bit
  }
  return bits
}

/** The timeline without events of other breakdown values. */
export function withValue(timeline: Timeline, value: string): Timeline {
  const { values } = timeline
  if (values === null) return timeline
  const indexes = values.flatMap((other, index) => (other === value ? [index] : []))
  const pick = (numbers: readonly number[]) => indexes.map((index) => numbers[index] ?? 0)
  return {
    at_us: pick(timeline.at_us),
    steps: pick(timeline.steps),
    exclusions: pick(timeline.exclusions),
    values: indexes.map(() => value),
    ...(timeline.buckets === undefined ? {} : { buckets: pick(timeline.buckets) }),
  }
}
