/** Parses a funnel: checked members, and steps as conditions on events. */
import type { FunnelsFilter, FunnelsQuery } from '../../contract/insights/funnels.ts'
import { Refusal, refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { or } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import { type InsightDateRange, readRange } from '../dates/date-range.ts'
import { WINDOW_MAX_US } from '../folds/definition.ts'
import { FUNNEL_STEPS_MAX } from '../folds/timeline.ts'
import type { InsightContext } from '../insight.ts'
import { actorOf, hasActor } from '../members/actor.ts'
import { type Breakdowns, readBreakdowns } from '../members/breakdown.ts'
import { readExpression } from '../members/expression.ts'
import { requireActions } from '../members/series.ts'
import { readExclusions } from './exclusions.ts'
import { stepCondition } from './first-time.ts'

type FunnelOrder = 'ordered' | 'strict' | 'unordered'

/** The rule that chooses the breakdown among an actor's values. */
type Attribution =
  | { readonly kind: 'all_events' | 'first_touch' | 'last_touch' }
  | { readonly kind: 'step'; readonly step: number }

/** A checked funnel. */
export type Funnel = {
  readonly query: FunnelsQuery
  readonly context: InsightContext
  readonly range: InsightDateRange
  readonly order: FunnelOrder
  /** The condition of each step. */
  readonly steps: readonly Expr[]
  /** The condition of an exclusion after each step but the last; empty without exclusions. */
  readonly exclusions: readonly Expr[]
  /** Bits of optional steps. */
  readonly optional: number
  readonly window_us: number
  /** The actor of an event, and the condition that it has one. */
  readonly actor: Expr
  readonly has_actor: Expr | null
  readonly breakdowns: Breakdowns | null
  readonly attribution: Attribution
  /** Bin edges per breakdown, null for one without; null until they are queried. */
  readonly bins: {
    readonly edges: readonly (readonly number[] | null)[]
    /** There are numbers outside the edges, which are a separate value. */
    readonly has_others: boolean
  } | null
}

const WINDOW_DEFAULT = 14

const UNITS_S = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_678_400,
} as const satisfies Record<NonNullable<FunnelsFilter['funnelWindowIntervalUnit']>, number>

const FILTER = 'query__funnelsFilter'
/** Start of a query over all time when the first event was not looked up, microseconds since 1970. */
const EARLIEST_US = BigInt(Date.UTC(2015, 0, 1)) * 1000n

/** Parses a funnel. Refuses too few or too many steps, and members that do not fit its steps or order. */
export function readFunnel(
  query: FunnelsQuery,
  context: InsightContext,
  earliest_us: bigint | null = null,
): Funnel {
  const { series, breakdownFilter } = query
  const filter = query.funnelsFilter ?? {}
  requireSteps(query)
  requireActions(series, context)
  const order = filter.funnelOrderType ?? 'ordered'
  const range = readRange(query, context, { earliest_us: earliest_us ?? EARLIEST_US })
  return {
    query,
    context,
    range,
    order,
    steps: series.map((one, index) =>
      stepCondition({ series: one, index }, { query, range, context }),
    ),
    exclusions: readExclusions(query, context),
    optional: optionalSteps(query),
    window_us: windowOf(filter),
    ...actorOfFunnel(query),
    breakdowns: readBreakdowns(breakdownFilter),
    attribution: readAttribution(filter, series.length),
    bins: null,
  }
}

/** Parses a funnel inside another query, under `member`: refusals name that member. */
export function readInnerFunnel(
  query: FunnelsQuery,
  context: InsightContext,
  member: string,
): Funnel {
  try {
    return readFunnel(query, context)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const attr = error.attr?.replace(/^query(?=__|$)/, `query__${member}`) ?? null
    throw new Refusal(error.code, error.detail, { attr })
  }
}

/** Microseconds from the first step within which all others must be taken. */
export function windowOf({
  funnelWindowInterval,
  funnelWindowIntervalUnit,
}: FunnelsFilter): number {
  const unit_s = UNITS_S[funnelWindowIntervalUnit ?? 'day']
  return Math.min((funnelWindowInterval ?? WINDOW_DEFAULT) * unit_s * 1_000_000, WINDOW_MAX_US)
}

function requireSteps({ series, funnelsFilter }: FunnelsQuery): void {
  if (series.length === 0) throw refuseMember('A funnel needs at least one step.', 'query__series')
  if (series.length > FUNNEL_STEPS_MAX) {
    throw refuseMember(`A funnel has at most ${FUNNEL_STEPS_MAX} steps.`, 'query__series')
  }
  const { funnelFromStep = null, funnelToStep = null } = funnelsFilter ?? {}
  const last = series.length - 1
  if (funnelFromStep !== null && funnelFromStep > last) {
    throw refuseMember(`The last step is ${last}.`, `${FILTER}__funnelFromStep`)
  }
  if (funnelToStep !== null && (funnelToStep > last || funnelToStep < (funnelFromStep ?? 0))) {
    throw refuseMember(
      `It must be a step between funnelFromStep and ${last}.`,
      `${FILTER}__funnelToStep`,
    )
  }
}

function optionalSteps({ series }: FunnelsQuery): number {
  let bits = 0
  for (const [index, { optionalInFunnel }] of series.entries()) {
    if (optionalInFunnel !== true) continue
    if (index === 0) {
      throw refuseMember('The first step cannot be optional.', 'query__series__0__optionalInFunnel')
    }
    bits |= 1 << index
  }
  return bits
}

function readAttribution(filter: FunnelsFilter, step_count: number): Attribution {
  const kind = filter.breakdownAttributionType ?? 'first_touch'
  if (kind !== 'step') return { kind }
  const attr = `${FILTER}__breakdownAttributionValue`
  const step = filter.breakdownAttributionValue ?? 0
  if (step >= step_count) throw refuseMember(`The last step is ${step_count - 1}.`, attr)
  if (filter.funnelOrderType === 'unordered' && step !== 0) {
    const detail = 'Only the first step can be used for breakdown attribution in unordered funnels.'
    throw refuseMember(detail, attr)
  }
  return { kind, step }
}

function actorOfFunnel({ funnelsFilter, aggregation_group_type_index }: FunnelsQuery) {
  const text = funnelsFilter?.funnelAggregateByHogQL ?? null
  if (text === null || text === '' || text === 'person_id') {
    return {
      actor: actorOf(aggregation_group_type_index),
      has_actor: hasActor(aggregation_group_type_index),
    }
  }
  const actor = readExpression(text, `${FILTER}__funnelAggregateByHogQL`)
  return { actor, has_actor: expr`notEmpty(toString(${actor}))` }
}

/**
 * The condition that an event is relevant to an ordered or unordered funnel; null for a strict one,
 * where all are.
 */
export function isRelevant({ steps, exclusions, order }: Funnel): Expr | null {
  return order === 'strict' ? null : or([...steps, ...exclusions])
}
