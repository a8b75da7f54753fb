/** Reasons why an SDK cannot evaluate a flag locally, or would get another result than the server. */

import type { CompiledFilter, PropertyFilter } from '../filter.ts'
import { parseDateBound } from '../operators/date.ts'
import { asNumber, asText } from '../operators/value.ts'
import type { FlagPlan, SuperSet } from '../plan.ts'

/** A reason against local evaluation. */
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

/** Operators of the current SDKs. */
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
 * The reasons in a flag itself, without its cohorts and dependencies. One set is enough for the whole flag: SDKs skip a
 * set that they cannot evaluate, and may take a later set's variant.
 */
export function planReasons(plan: FlagPlan): readonly LocalReason[] {
  const reasons: LocalReason[] = []
  if (plan.super_set && !isExpressible(plan, plan.super_set)) reasons.push('early_access')
  if (plan.holdout && !/^holdout-\d+$/.test(plan.holdout.result.variant ?? '')) {
    reasons.push('unsupported_value')
  }
  // SDKs look up the flag's group first and stop without it, whatever the sets need.
  if (plan.aggregation !== null && !plan.is_uniform) reasons.push('mixed_targeting')
  for (const filter of plan.super_set?.filters ?? []) reasons.push(...filterReasons(filter))
  for (const { filters, aggregation } of plan.sets) {
    for (const filter of filters) {
      if (isElsewhere(filter, aggregation)) reasons.push('mixed_targeting')
      reasons.push(...filterReasons(filter))
    }
  }
  return reasons
}

/** Early access can be expressed as condition sets only without variants, holdout and groups, which come between. */
function isExpressible(plan: FlagPlan, super_set: SuperSet): boolean {
  const is_plain = !plan.has_variants && plan.holdout === null
  const is_personal = plan.aggregation === null && plan.is_uniform
  return is_plain && is_personal && super_set.filters.every(isOfPerson)
}

function isOfPerson(filter: CompiledFilter): boolean {
  return filter.kind === 'property' && filter.source === 'person'
}

/** SDKs read all properties of a set from one owner: the set's group, or the person. */
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

/** The reasons why an SDK would evaluate a filter differently; empty if it would not. */
export function filterReasons(filter: CompiledFilter): readonly LocalReason[] {
  if (filter.kind === 'broken') return ['unsupported_operator']
  if (filter.kind !== 'property') return []
  if (!CLIENT_OPERATORS.has(filter.operator)) return ['unsupported_operator']
  return readsSame(filter) ? [] : ['unsupported_value']
}

/** Whether SDKs read the filter's value as the server does: they compare non-numbers as text, and guess at dates. */
function readsSame({ operator, value }: PropertyFilter): boolean {
  if (operator === 'is_set' || operator === 'is_not_set') return true
  if (value === null) return false
  if (operator === 'exact' || operator === 'is_not') return true
  if (typeof value === 'object') return false
  if (/^[gl]te?$/.test(operator)) return asNumber(value) !== null
  if (operator.startsWith('is_date')) return parseDateBound(value) !== null
  // The engines agree on patterns that both accept; RE2 allows fewer repetitions.
  if (operator.endsWith('regex')) return !/\\v|\{\d{4}/.test(asText(value))
  return true
}
