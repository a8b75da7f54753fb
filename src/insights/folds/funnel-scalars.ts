/** The folds of funnels as functions of the engine: one row is one actor. */
import {
  type ScalarFunction,
  ScalarRefusal,
  type ScalarType,
} from '../../hogql/scalars/definition.ts'
import { type FunnelFold, readOnce } from './definition.ts'
import { type Entrance, foldEntrances } from './entrances.ts'
import { foldSteps, type TakenSteps } from './steps.ts'
import { type Packing, readTimeline, type Timeline } from './timeline.ts'
import { foldUnordered } from './unordered.ts'
import { foldUnorderedEntrances } from './unordered-entrances.ts'

const readFold = readOnce<FunnelFold>((text) => JSON.parse(text))

/** Enough for any person; a machine with more events and values would hold everybody else up. */
const LOOKS_MAX = 100_000_000

/** Came no further than before the first step, and took none. */
const NOBODY: readonly number[] = [-1, 0]

type FoldedStep = { readonly step: number; readonly value: string } | null

/** The furthest step, the bits of those taken, and when each was taken; −1 for who never begins and what is left out. */
function stepsOf(timeline: Timeline, fold: FunnelFold, attribution: FoldedStep): readonly number[] {
  const taken = takenSteps(timeline, fold, attribution)
  return taken === null
    ? NOBODY
    : [taken.furthest, taken.bits, ...taken.at_us.map((at_us) => at_us ?? -1)]
}

function takenSteps(
  timeline: Timeline,
  fold: FunnelFold,
  attribution: FoldedStep,
): TakenSteps | null {
  if (fold.order === 'unordered') return foldUnordered(timeline, { ...fold, attribution })
  return foldSteps(timeline, { ...fold, is_strict: fold.order === 'strict', attribution })
}

/** Twice the bucket, and one more where the actor comes through. */
function entrancesOf(
  timeline: Timeline,
  fold: FunnelFold,
  attribution: FoldedStep,
): readonly number[] {
  return entrances(timeline, fold, attribution).map(
    ({ bucket, is_through }) => 2 * bucket + (is_through ? 1 : 0),
  )
}

function entrances(
  timeline: Timeline,
  fold: FunnelFold,
  attribution: FoldedStep,
): readonly Entrance[] {
  if (fold.order === 'unordered') return foldUnorderedEntrances(timeline, { ...fold, attribution })
  return foldEntrances(timeline, { ...fold, is_strict: fold.order === 'strict', attribution })
}

const packingOf = ({ bits, packed_steps, step_count, valued }: FunnelFold): Packing => ({
  bits,
  valued,
  steps: packed_steps,
  kept: step_count,
})

type Fold = (timeline: Timeline, fold: FunnelFold, attribution: FoldedStep) => readonly number[]
type Packed = bigint | number
type SizedList = { readonly ending: '' | '_wide'; readonly packed: ScalarType }

const SIZES: readonly SizedList[] = [
  { ending: '', packed: 'number' },
  { ending: '_wide', packed: 'wide' },
]

/** A fold over one actor's packed events. */
function overAll(name: string, fold: Fold, { ending, packed }: SizedList): ScalarFunction {
  return {
    name: `js_${name}${ending}`,
    takes: ['text', { list: packed }],
    fixed: 1,
    gives: { list: 'number' },
    compute: (text: string, events: readonly Packed[]) => {
      const spec = readFold(text)
      return fold(readTimeline(events, packingOf(spec)), spec, null)
    },
  }
}

/** The same for each value of the events that people are broken down by; their values stand in a list of their own. */
function overValues(name: string, fold: Fold, { ending, packed }: SizedList): ScalarFunction {
  return {
    name: `js_${name}_by_value${ending}`,
    takes: ['text', { list: packed }, { list: 'text' }],
    fixed: 1,
    gives: { list: { tuple: ['text', { list: 'number' }] } },
    compute: (text: string, events: readonly Packed[], sent_values: readonly string[]) => {
      const spec = readFold(text)
      const values = [...new Set(sent_values)]
      if (values.length * events.length > LOOKS_MAX) {
        throw new ScalarRefusal('One actor has too many values to be broken down by.')
      }
      const timeline = readTimeline(events, packingOf(spec), sent_values)
      const step = spec.attribution_step ?? 0
      return values
        .map((value) => [value, fold(timeline, spec, { step, value })] as const)
        .filter(([, result]) => result !== NOBODY && result.length > 0)
    },
  }
}

/** All sizes and forms of both folds. */
export const FUNNEL_SCALARS: readonly ScalarFunction[] = SIZES.flatMap((size) => [
  overAll('funnel_steps', stepsOf, size),
  overAll('funnel_entrances', entrancesOf, size),
  overValues('funnel_steps', stepsOf, size),
  overValues('funnel_entrances', entrancesOf, size),
])
