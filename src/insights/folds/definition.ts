/** Parameters of a fold: a constant of the query, passed as JSON text. */
import type { BucketRun } from './entrances.ts'

/** A funnel as its folds receive it. */
export type FunnelFold = {
  readonly order: 'ordered' | 'strict' | 'unordered'
  /** Steps to fold: the first ones of those packed. */
  readonly step_count: number
  readonly packed_steps: number
  /** Low bits of a packed event that are steps and exclusions. */
  readonly bits: number
  readonly window_us: number
  /** Bits of optional steps. */
  readonly optional: number
  /** The step whose event's value is the breakdown; null where it is of the whole actor. */
  readonly attribution_step: number | null
  /** Bits of the steps whose events have a value: that step's, or in an unordered funnel all. */
  readonly valued: number
  /** Entrances only. */
  readonly from_step: number
  readonly buckets: readonly BucketRun[]
}

/** Memoizes the last text: our compiler passes the same one for every row. */
export function readOnce<Spec>(parse: (text: string) => Spec): (text: string) => Spec {
  let last: { readonly text: string; readonly spec: Spec } | null = null
  return (text) => {
    if (last?.text !== text) last = { text, spec: parse(text) }
    return last.spec
  }
}
