/** Where a client's own evaluation of a flag would end, or would differ from ours. */
import { parseDateBound } from './date.ts'
import type { CompiledFilter, PropertyFilter } from './filter.ts'
import type { FlagPlan, SuperSet } from './plan.ts'
import { asNumber, asText } from './value.ts'

/** Why a flag cannot be evaluated by a client alone. */
export type LocalReason =
  | 'behavioral_cohort'
  | 'dependency'
  | 'early_access'
  | 'experience_continuity'
  | 'invalid_definition'
  | 'missing_cohort'
  | 'mixed_targeting'
  | 'static_cohort'
  | 'unsupported_operator'
  | 'unsupported_value'

/** What the current client libraries can do with a property. */
const CLIENT_OPERATORS: ReadonlySet<string> = new Set([
  'exact',
  'is_not',
  'is_set',
  'is_not_set',
  'icontains',
  'not_icontains',
  'starts_with',
  'not_starts_with',
  'ends_with',
  'not_ends_with',
  'regex',
  'not_regex',
  'gt',
  'gte',
  'lt',
  'lte',
  'is_date_before',
  'is_date_after',
  'semver_eq',
  'semver_neq',
  'semver_gt',
  'semver_gte',
  'semver_lt',
  'semver_lte',
  'semver_tilde',
  'semver_caret',
  'semver_wildcard',
])

/**
 * Everything in a flag that keeps a client from evaluating it, apart from its cohorts and dependencies. One set in doubt
 * puts the flag in doubt: clients skip a set they cannot judge and may take a later one's variant.
 */
export function planReasons(plan: FlagPlan): readonly LocalReason[] {
  const doubts: LocalReason[] = []
  if (plan.super_set && !isExpressible(plan, plan.super_set)) doubts.push('early_access')
  if (plan.holdout && !/^holdout-\d+$/.test(plan.holdout.result.variant ?? '')) {
    doubts.push('unsupported_value')
  }
  // A client looks at the flag's group first and stops without it, whatever the sets say.
  if (plan.aggregation !== null && !plan.is_uniform) doubts.push('mixed_targeting')
  for (const filter of plan.super_set?.filters ?? []) doubts.push(...filterReasons(filter))
  for (const { filters, aggregation } of plan.sets) {
    for (const filter of filters) {
      if (isElsewhere(filter, aggregation)) doubts.push('mixed_targeting')
      doubts.push(...filterReasons(filter))
    }
  }
  return doubts
}

/** Early access can be said in condition sets only where nothing else stands between. */
function isExpressible(plan: FlagPlan, super_set: SuperSet): boolean {
  const is_plain = !plan.has_variants && plan.holdout === null
  const is_personal = plan.aggregation === null && plan.is_uniform
  return is_plain && is_personal && super_set.filters.every(isOfPerson)
}

function isOfPerson(filter: CompiledFilter): boolean {
  return filter.kind === 'property' && filter.source === 'person'
}

/** A client reads all properties of a set from one place: the set's group, or the person. */
function isElsewhere(filter: CompiledFilter, aggregation: number | null): boolean {
  switch (filter.kind) {
    case 'property':
      return filter.source !== (aggregation ?? 'person')
    case 'cohort':
      return aggregation !== null
    case 'flag':
    case 'broken':
      return false
  }
}

/** Why a client would judge a filter otherwise than we do; empty when it would not. */
export function filterReasons(filter: CompiledFilter): readonly LocalReason[] {
  if (filter.kind === 'broken') return ['unsupported_operator']
  if (filter.kind !== 'property') return []
  if (!CLIENT_OPERATORS.has(filter.operator)) return ['unsupported_operator']
  return readsSame(filter) ? [] : ['unsupported_value']
}

/** Whether clients read the filter's value as we do: they compare as text what is no number, and guess at dates. */
function readsSame({ operator, value }: PropertyFilter): boolean {
  if (operator === 'is_set' || operator === 'is_not_set') return true
  if (value === null) return false
  if (operator === 'exact' || operator === 'is_not') return true
  if (typeof value === 'object') return false
  if (/^[gl]te?$/.test(operator)) return asNumber(value) !== null
  if (operator.startsWith('is_date')) return parseDateBound(value) !== null
  // The engines agree on patterns that both of them run; ours allows fewer repetitions.
  if (operator.endsWith('regex')) return !/\\v|\{\d{4}/.test(asText(value))
  return true
}
