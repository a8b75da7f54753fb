/** The funnel folds as scalars of the engine: one row is one actor. */
import {
  type ScalarFunction,
  ScalarRefusal,
  type ScalarType,
} from '../../hogql/scalars/definition.ts'
import { foldEntrancesByOrder, foldStepsByOrder } from './by-order.ts'
import { type FunnelFold, readFunnelFold, readOnce } from './definition.ts'
import { type PackedLayout, readTimeline, type StepAttribution, type Timeline } from './timeline.ts'

const readFold = readOnce(readFunnelFold)

/**
 * Limit of steps × events × values per actor, beyond any person; a robot's history must not block
 * the worker.
 */
const FOLD_WORK_MAX = 100_000_000

/** The result of an actor who took no step. */
const NO_STEPS: readonly number[] = [-1, 0]

/**
 * Furthest step, bits of the steps taken, and when; −1 for actors who never began and for optional
 * steps not taken.
 */
function encodeSteps(
  timeline: Timeline,
  fold: FunnelFold,
  attribution: StepAttribution,
): readonly number[] {
  const taken = foldStepsByOrder(timeline, { ...fold, attribution })
  return taken === null
    ? NO_STEPS
    : [taken.furthest, taken.bits, ...taken.at_us.map((at_us) => at_us ?? -1)]
}

/** Per entrance: twice the bucket, plus one if it converted. */
function encodeEntrances(
  timeline: Timeline,
  fold: FunnelFold,
  attribution: StepAttribution,
): readonly number[] {
  return foldEntrancesByOrder(timeline, { ...fold, attribution }).map(
    ({ bucket, is_converted }) => 2 * bucket + (is_converted ? 1 : 0),
  )
}

const layoutOf = ({ bits, packed_steps, step_count, valued }: FunnelFold): PackedLayout => ({
  bits,
  valued_steps: valued,
  steps: packed_steps,
  used_steps: step_count,
})

type Fold = (
  timeline: Timeline,
  fold: FunnelFold,
  attribution: StepAttribution,
) => readonly number[]
type PackedEvent = bigint | number
type SizedList = { readonly ending: '' | '_wide'; readonly packed: ScalarType }

const SIZES: readonly SizedList[] = [
  { ending: '', packed: 'number' },
  { ending: '_wide', packed: 'wide' },
]

/** A fold over one actor's packed events. */
function scalarOf(name: string, fold: Fold, { ending, packed }: SizedList): ScalarFunction {
  return {
    name: `js_${name}${ending}`,
    takes: ['text', { list: packed }],
    fixed: 1,
    gives: { list: 'number' },
    compute: (text: string, events: readonly PackedEvent[]) => {
      const spec = readFold(text)
      return fold(readTimeline(events, layoutOf(spec)), spec, null)
    },
  }
}

/** The same for each breakdown value; the events' values are a separate list. */
function scalarByValue(name: string, fold: Fold, { ending, packed }: SizedList): ScalarFunction {
  return {
    name: `js_${name}_by_value${ending}`,
    takes: ['text', { list: packed }, { list: 'text' }],
    fixed: 1,
    gives: { list: { tuple: ['text', { list: 'number' }] } },
    compute: (text: string, events: readonly PackedEvent[], sent_values: readonly string[]) => {
      const spec = readFold(text)
      const values = [...new Set(sent_values)]
      if (values.length * events.length > FOLD_WORK_MAX) {
        throw new ScalarRefusal('One actor has too many values to be broken down by.')
      }
      const timeline = readTimeline(events, layoutOf(spec), sent_values)
      const step = spec.attribution_step ?? 0
      return values
        .map((value) => [value, fold(timeline, spec, { step, value })] as const)
        .filter(([, result]) => result !== NO_STEPS && result.length > 0)
    },
  }
}

/** Every fold in every size. */
export const FUNNEL_SCALARS: readonly ScalarFunction[] = SIZES.flatMap((size) => [
  scalarOf('funnel_steps', encodeSteps, size),
  scalarOf('funnel_entrances', encodeEntrances, size),
  scalarByValue('funnel_steps', encodeSteps, size),
  scalarByValue('funnel_entrances', encodeEntrances, size),
])
