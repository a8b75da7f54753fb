/**
 * aggregate_funnel and aggregate_funnel_trends: the funnel folds as HogQL texts call them, over one
 * row's events.
 */
import {
  type ScalarFunction,
  ScalarRefusal,
  type ScalarValue,
} from '../../hogql/scalars/definition.ts'
import { foldEntrancesByOrder, foldStepsByOrder } from './by-order.ts'
import type { Entrance } from './entrances.ts'
import type { TakenSteps } from './steps.ts'
import { FUNNEL_STEPS_MAX, type Timeline, withValue } from './timeline.ts'

/** Events as parallel lists; steps count from 1, exclusions are negative. */
type FunnelRows = {
  readonly times_s: readonly number[]
  readonly uuids: readonly string[]
  readonly values: readonly string[]
  readonly steps: readonly (readonly bigint[])[]
  readonly buckets?: readonly bigint[]
}

type FunnelArguments = {
  readonly step_count: number
  readonly window_us: number
  readonly attribution: string
  readonly order: string
  /** Bits of optional steps. */
  readonly optional: number
  readonly from_step: number
}

const SECOND_US = 1_000_000

/** Sorts the events by time, as folds require. */
function timelineOf(input: FunnelRows): {
  readonly timeline: Timeline
  readonly uuids: readonly string[]
} {
  const order = input.times_s.map((_, index) => index)
  order.sort((a, b) => (input.times_s[a] ?? 0) - (input.times_s[b] ?? 0) || a - b)
  const first = input.times_s[order[0] ?? 0] ?? 0
  const timeline = {
    at_us: order.map((index) => Math.round(((input.times_s[index] ?? 0) - first) * SECOND_US)),
    steps: order.map((index) => bitsOf(input.steps[index] ?? [], 1n)),
    exclusions: order.map((index) => bitsOf(input.steps[index] ?? [], -1n)),
    values: order.map((index) => input.values[index] ?? ''),
  }
  const uuids = order.map((index) => input.uuids[index] ?? '')
  if (input.buckets === undefined) return { timeline, uuids }
  const buckets = order.map((index) => Number(input.buckets?.[index] ?? 0n))
  return { timeline: { ...timeline, buckets }, uuids }
}

/** As bits; an exclusion −(k + 2) excludes after step k. */
function bitsOf(steps: readonly bigint[], sign: -1n | 1n): number {
  let bits = 0
  for (const step of steps) {
    const bit = Number(step * sign) - (sign === 1n ? 1 : 2)
    if (bit >= 0 && bit < FUNNEL_STEPS_MAX) bits |= 1 << bit
  }
  return bits
}

const STEP = /^step_(\d+)$/

/** The timeline and attribution for one breakdown value. */
function withAttribution(timeline: Timeline, request: FunnelArguments, value: string) {
  const step = STEP.exec(request.attribution)?.[1]
  return {
    timeline: request.attribution === 'all_events' ? withValue(timeline, value) : timeline,
    attribution: step === undefined ? null : { step: Number(step), value },
  }
}

function foldStepsOf(all: Timeline, request: FunnelArguments, value: string): TakenSteps | null {
  const { timeline, attribution } = withAttribution(all, request, value)
  return foldStepsByOrder(timeline, { ...request, attribution })
}

function foldEntrancesOf(
  all: Timeline,
  request: FunnelArguments,
  value: string,
): readonly Entrance[] {
  const { timeline, attribution } = withAttribution(all, request, value)
  return foldEntrancesByOrder(timeline, { ...request, attribution, buckets: [] })
}

function requireSteps(step_count: bigint): number {
  if (step_count >= 1n && step_count <= BigInt(FUNNEL_STEPS_MAX)) return Number(step_count)
  throw new ScalarRefusal(`A funnel has 1 to ${FUNNEL_STEPS_MAX} steps.`)
}

type StepsArguments = readonly [
  step_count: bigint,
  window_s: number,
  attribution: string,
  order: string,
  values: readonly string[],
  optional: readonly bigint[],
  times_s: readonly number[],
  uuids: readonly string[],
  event_values: readonly string[],
  steps: readonly (readonly bigint[])[],
]

/**
 * Per value: furthest step (−1 for none), index of the value, seconds between steps, their events,
 * bits of steps.
 */
function computeSteps(...args: StepsArguments): readonly ScalarValue[] {
  const [
    step_count,
    window_s,
    attribution,
    order,
    values,
    optional,
    times_s,
    event_uuids,
    event_values,
    steps,
  ] = args
  const input = { times_s, uuids: event_uuids, values: event_values, steps }
  const { timeline, uuids } = timelineOf(input)
  const request: FunnelArguments = {
    step_count: requireSteps(step_count),
    window_us: window_s * SECOND_US,
    attribution,
    order,
    optional: bitsOf(optional, 1n),
    from_step: 0,
  }
  return values.map((value, index) => {
    const taken = foldStepsOf(timeline, request, value)
    if (taken === null) return [-1n, BigInt(index + 1), [], [], 0n]
    const times = taken.at_us.filter((at_us) => at_us !== null)
    return [
      BigInt(taken.furthest),
      BigInt(index + 1),
      times.slice(1).map((at_us, step) => (at_us - (times[step] ?? 0)) / SECOND_US),
      taken.events.map((event) => (event === null ? [] : [uuids[event] ?? ''])),
      BigInt(taken.bits),
    ]
  })
}

type EntrancesArguments = readonly [
  from_step: bigint,
  to_step: bigint,
  window_s: number,
  attribution: string,
  order: string,
  values: readonly string[],
  times_s: readonly number[],
  buckets: readonly bigint[],
  uuids: readonly string[],
  event_values: readonly string[],
  steps: readonly (readonly bigint[])[],
]

/** Per value and bucket: its begin, 1 for converted and −1 for others, index of the value, event. */
function computeEntrances(...args: EntrancesArguments): readonly ScalarValue[] {
  const [
    from_step,
    to_step,
    window_s,
    attribution,
    order,
    values,
    times_s,
    buckets,
    event_uuids,
    event_values,
    steps,
  ] = args
  const input = { times_s, uuids: event_uuids, values: event_values, steps, buckets }
  const { timeline, uuids } = timelineOf(input)
  const request: FunnelArguments = {
    step_count: requireSteps(to_step + 1n),
    window_us: window_s * SECOND_US,
    attribution,
    order,
    optional: 0,
    from_step: Number(from_step),
  }
  return values.flatMap((value, index) =>
    foldEntrancesOf(timeline, request, value).map(({ bucket, is_converted, event }) => [
      BigInt(bucket),
      is_converted ? 1n : -1n,
      BigInt(index + 1),
      uuids[event] ?? '',
    ]),
  )
}

const EVENTS = [{ list: 'text' }, { list: 'text' }, { list: { list: 'integer' } }] as const

/** Both functions. Values are compared as texts. */
export const AGGREGATE_FUNNELS: readonly ScalarFunction[] = [
  {
    name: 'js_aggregate_funnel',
    takes: [
      'integer',
      'number',
      'text',
      'text',
      { list: 'text' },
      { list: 'integer' },
      { list: 'number' },
      ...EVENTS,
    ],
    gives: {
      list: {
        tuple: ['integer', 'integer', { list: 'number' }, { list: { list: 'text' } }, 'integer'],
      },
    },
    compute: computeSteps,
  },
  {
    name: 'js_aggregate_funnel_trends',
    takes: [
      'integer',
      'integer',
      'number',
      'text',
      'text',
      { list: 'text' },
      { list: 'number' },
      { list: 'integer' },
      ...EVENTS,
    ],
    gives: { list: { tuple: ['integer', 'integer', 'integer', 'text'] } },
    compute: computeEntrances,
  },
]
