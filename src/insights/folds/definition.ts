/** Parameters of a fold: a constant of the query, passed as JSON text; callers may write such a text. */

import { ScalarRefusal } from '../../hogql/scalars/definition.ts'
import { isObject } from '../../json.ts'
import type { BucketRun } from './entrances.ts'
import { FUNNEL_STEPS_MAX } from './timeline.ts'

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

/** Bits of a packed event: an actor_timeline has at most 61 conditions. */
const BITS_MAX = 61
/** The longest window: far longer than the years 1 to 9999. Some windows are beyond the largest exact number. */
export const WINDOW_MAX_US = 2 ** 70
/** Buckets of all runs together. */
const BUCKETS_MAX = 10_000

type FoldMembers = Readonly<Record<string, unknown>>

/** Reads the members of a fold's text. Refuses a text that is no JSON object. */
export function readMembers(text: string): FoldMembers {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = null
  }
  if (isObject(value)) return value
  throw new ScalarRefusal('The parameters of a fold are a JSON object.')
}

/** A whole number within bounds. Refuses anything else, with the member's name. */
export function readInteger(
  members: FoldMembers,
  name: string,
  [min, max]: readonly [min: number, max: number],
): number {
  const value = members[name]
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value
  }
  throw refuseMember(name)
}

/** The refusal of a member of a fold's parameters. */
export const refuseMember = (name: string): ScalarRefusal =>
  new ScalarRefusal(`A fold does not take such a ${name}.`)

/** Reads a funnel's fold. Refuses numbers that no funnel has. */
export function readFunnelFold(text: string): FunnelFold {
  const members = readMembers(text)
  const packed_steps = readInteger(members, 'packed_steps', [1, FUNNEL_STEPS_MAX])
  const step_bits = [0, 2 ** packed_steps - 1] as const
  const last_step = [0, packed_steps - 1] as const
  return {
    order: readOrder(members['order']),
    packed_steps,
    step_count: readInteger(members, 'step_count', [1, packed_steps]),
    bits: readInteger(members, 'bits', [packed_steps, BITS_MAX]),
    window_us: readInteger(members, 'window_us', [0, WINDOW_MAX_US]),
    optional: readInteger(members, 'optional', step_bits),
    attribution_step:
      members['attribution_step'] === null
        ? null
        : readInteger(members, 'attribution_step', last_step),
    valued: readInteger(members, 'valued', step_bits),
    from_step: readInteger(members, 'from_step', last_step),
    buckets: readRuns(members['buckets']),
  }
}

function readOrder(value: unknown): FunnelFold['order'] {
  if (value === 'ordered' || value === 'strict' || value === 'unordered') return value
  throw refuseMember('order')
}

function readRuns(value: unknown): readonly BucketRun[] {
  if (!Array.isArray(value) || value.length > BUCKETS_MAX) throw refuseMember('buckets')
  const { MAX_SAFE_INTEGER: most } = Number
  const runs = value.map((run: unknown) => {
    if (!isObject(run)) throw refuseMember('buckets')
    return {
      start_us: readInteger(run, 'start_us', [-most, most]),
      width_us: readInteger(run, 'width_us', [1, most]),
      count: readInteger(run, 'count', [1, BUCKETS_MAX]),
    }
  })
  const count = runs.reduce((sum, run) => sum + run.count, 0)
  if (count > BUCKETS_MAX) throw refuseMember('buckets')
  return runs
}
