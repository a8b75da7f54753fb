/** What a fold is told besides the events: a constant of the query, as one JSON text. */
import type { BucketRun } from './entrances.ts'

/** A funnel as its folds take it. */
export type FunnelFold = {
  readonly order: 'ordered' | 'strict' | 'unordered'
  /** Steps that are folded: the first ones of those packed. */
  readonly step_count: number
  readonly packed_steps: number
  /** How many of a packed event's lowest bits say what it is. */
  readonly bits: number
  readonly window_us: number
  /** Bits of the steps that may be left out. */
  readonly optional: number
  /** The step whose value people are broken down by; null where the whole person is. */
  readonly attribution_step: number | null
  /** Bits of the steps whose events have a value: of that step, or in an unordered funnel of all. */
  readonly valued: number
  /** Only for entrances. */
  readonly from_step: number
  readonly buckets: readonly BucketRun[]
}

/** Reads texts that our own compiler wrote; the same text again and again is read once. */
export function readOnce<Spec>(parse: (text: string) => Spec): (text: string) => Spec {
  let last: { readonly text: string; readonly spec: Spec } | null = null
  return (text) => {
    if (last?.text !== text) last = { text, spec: parse(text) }
    return last.spec
  }
}
