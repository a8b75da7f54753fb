/**
 * Compiles one flag's `filters` to a plan: condition sets, early access, holdout and variants, with every possible
 * result.
 */

import { isObject } from '../json.ts'
import type { StoredFlag } from './definition-types.ts'
import { FlagFailure } from './failure.ts'
import {
  type CompiledFilter,
  compileFilter,
  type FilterCompileContext,
  type PropertySource,
} from './filter.ts'
import { asText } from './operators/value.ts'
import { type FlagResult, offResult, onResult, type Reason, reasonOf } from './result.ts'

export type FlagPlan = {
  readonly kind: 'plan'
  /** The group type whose key is hashed; null means the person's identifier. */
  readonly aggregation: number | null
  readonly is_by_device: boolean
  /** Whether a set whose filters hold, but not its rollout, ends the search. */
  readonly is_early_exit: boolean
  /** Whether the flag needs stored data: without the database it fails. */
  readonly needs_store: boolean
  readonly has_variants: boolean
  readonly super_set: SuperSet | null
  readonly holdout: HoldoutPlan | null
  readonly sets: readonly ConditionSet[]
  /** Whether every set hashes the same identifier as the flag. */
  readonly is_uniform: boolean
  readonly no_identifier: FlagResult
  readonly no_match: FlagResult
  readonly depends_on: readonly number[]
}

export type ConditionSet = {
  readonly filters: readonly CompiledFilter[]
  /** The largest bucket in the rollout, inclusive; null means everyone. */
  readonly threshold: number | null
  readonly aggregation: number | null
  /** The result without a variant by hash: the set's override, or on without a variant. */
  readonly match: FlagResult
  /** The variants to pick from by hash; empty if the set overrides the variant, or the flag has none. */
  readonly variants: readonly VariantSlice[]
  readonly out_of_rollout: FlagResult
  readonly no_match: FlagResult
  readonly no_group: FlagResult
}

/** A variant's range of buckets: from the slice before it up to `until`, exclusive. */
export type VariantSlice = { readonly until: number; readonly result: FlagResult }

/** Early access: if the person has one of the keys, this set alone decides. */
export type SuperSet = {
  /** Empty: it decides for everyone. */
  readonly keys: readonly string[]
  readonly filters: readonly CompiledFilter[]
  readonly threshold: number | null
  readonly percentage: number | null
  readonly match: FlagResult
  readonly no_match: FlagResult
}

/** Persons whose bucket is at most `threshold` get the holdout's variant. */
type HoldoutPlan = {
  readonly threshold: number
  readonly percentage: number
  readonly result: FlagResult
}

/** Limits of one flag. */
const FILTERS_MAX = 2000
const SETS_MAX = 1000
/** Variants of all condition sets together: each set of 1,000 had a result for each of 20,000 variants. */
const SET_VARIANTS_MAX = 100_000

type Variant = { readonly key: string; readonly until: number }
type RawFlagFilters = Readonly<Record<string, unknown>>

/** Compiles one flag. Throws FlagFailure if the definition is invalid. */
export function planFlag(flag: StoredFlag, context: FilterCompileContext): FlagPlan {
  const filters = flag.filters
  if (!isObject(filters)) throw new FlagFailure('invalid_definition', 'filters must be an object.')
  requireFewFilters(filters)
  const aggregation = indexOf(filters['aggregation_group_type_index'], null)
  const variants = readVariants(filters['multivariate'])
  if (variants.length * setsOf(filters).length > SET_VARIANTS_MAX) {
    const detail = `A flag may have ${SET_VARIANTS_MAX} variants, times its condition sets.`
    throw new FlagFailure('invalid_definition', detail)
  }
  const makeResult = resultMaker(flag, filters['payloads'])
  const super_set = readSuperSet(flag, filters, makeResult, context)
  const sets = setsOf(filters).map((raw, index) =>
    readSet(raw, { index, flag, aggregation, variants, makeResult, context }),
  )
  const all_filters = [...(super_set?.filters ?? []), ...sets.flatMap((set) => set.filters)]
  return {
    kind: 'plan',
    aggregation,
    is_by_device: flag.bucketing_identifier === 'device_id',
    is_early_exit: filters['early_exit'] === true,
    needs_store:
      flag.ensure_experience_continuity ||
      sets.some((set) => set.aggregation !== null) ||
      all_filters.some((filter) => filter.kind === 'property' && filter.source !== 'person'),
    has_variants: variants.length > 0,
    super_set,
    holdout: readHoldout(filters, makeResult),
    sets,
    is_uniform: sets.every((set) => set.aggregation === aggregation),
    no_identifier: offResult(flag, reasonOf('no_group_type', null)),
    no_match: offResult(flag, reasonOf('no_condition_match', null)),
    depends_on: all_filters.flatMap((filter) => (filter.kind === 'flag' ? filter.flag_index : [])),
  }
}

/** Refuses a flag with too many conditions: bounds the time of its compilation and evaluation. */
function requireFewFilters(filters: RawFlagFilters): void {
  const sets = setsOf(filters)
  if (sets.length > SETS_MAX) {
    throw new FlagFailure('invalid_definition', `A flag may have ${SETS_MAX} condition sets.`)
  }
  const filters_count = sets.reduce<number>(
    (sum, set) => sum + (isObject(set) ? filtersIn(set).length : 0),
    0,
  )
  if (filters_count <= FILTERS_MAX) return
  throw new FlagFailure('invalid_definition', `A flag may have ${FILTERS_MAX} conditions.`)
}

/** The stored condition sets. The oldest form has one set, whose members are those of `filters`. */
export function setsOf(filters: RawFlagFilters): readonly unknown[] {
  const groups = filters['groups'] ?? [
    {
      properties: filters['properties'] ?? [],
      rollout_percentage: filters['rollout_percentage'] ?? null,
    },
  ]
  return listIn(groups, 'groups')
}

/** The stored condition sets; none of an invalid definition. */
export function findSets(filters: RawFlagFilters): readonly unknown[] {
  return Array.isArray(filters['groups'] ?? []) ? setsOf(filters) : []
}

/** Whether filters say who gets a flag: without conditions it is on for all persons. */
export function hasConditions(filters: unknown): boolean {
  if (!isObject(filters)) return false
  const { groups, properties, rollout_percentage } = filters
  return (groups ?? properties ?? rollout_percentage ?? null) !== null
}

/** The property with a person's choice about a flag's early access. */
export function enrollmentKey(flag_key: string): string {
  return `$feature_enrollment/${flag_key}`
}

type MakeResult = (variant: string | null, reason: Reason) => FlagResult

function resultMaker(flag: StoredFlag, payloads: unknown): MakeResult {
  return (variant, reason) => {
    const key = variant ?? 'true'
    const payload = isObject(payloads) && Object.hasOwn(payloads, key) ? payloads[key] : null
    return onResult(flag, variant, payload ?? null, reason)
  }
}

type SetContext = {
  readonly index: number
  readonly flag: StoredFlag
  readonly aggregation: number | null
  readonly variants: readonly Variant[]
  readonly makeResult: MakeResult
  readonly context: FilterCompileContext
}

function readSet(raw: unknown, set: SetContext): ConditionSet {
  if (!isObject(raw)) throw new FlagFailure('invalid_definition', 'A set must be an object.')
  const { flag, index, makeResult, variants } = set
  // A missing index means the flag's; null means the person, also in a flag of groups.
  const aggregation = indexOf(raw['aggregation_group_type_index'], set.aggregation)
  const source: PropertySource = aggregation ?? 'person'
  const override = variants.find((variant) => variant.key === raw['variant'])
  const percentage = percentageOf(raw['rollout_percentage'])
  const reason = reasonOf('condition_match', index)
  const slices = variants.map(({ key, until }) => ({ until, result: makeResult(key, reason) }))
  return {
    filters: filtersIn(raw).map((filter) => compileFilter(filter, { ...set.context, source })),
    threshold: percentage === null ? null : percentage / 100,
    aggregation,
    match: makeResult(override?.key ?? null, reason),
    variants: override ? [] : slices,
    out_of_rollout: offResult(flag, reasonOf('out_of_rollout_bound', index)),
    no_match: offResult(flag, reasonOf('no_condition_match', index)),
    no_group: offResult(flag, reasonOf('no_group_type', index)),
  }
}

function readSuperSet(
  flag: StoredFlag,
  filters: RawFlagFilters,
  makeResult: MakeResult,
  context: FilterCompileContext,
): SuperSet | null {
  const raw = superGroupOf(flag, filters)
  if (raw === null) return null
  if (!isObject(raw)) throw new FlagFailure('invalid_definition', 'A super group is an object.')
  const parts = filtersIn(raw).slice(0, FILTERS_MAX)
  const reason = reasonOf('super_condition_value', 0)
  const percentage = percentageOf(raw['rollout_percentage'])
  return {
    keys: parts.flatMap((part) => (isObject(part) ? asText(part['key']) : [])),
    filters: parts.map((part) => compileFilter(part, { ...context, source: 'person' })),
    threshold: percentage === null ? null : percentage / 100,
    percentage,
    match: makeResult(null, reason),
    no_match: offResult(flag, reason),
  }
}

function superGroupOf(flag: StoredFlag, filters: RawFlagFilters): unknown {
  if (filters['feature_enrollment'] === true) {
    return { properties: [{ key: enrollmentKey(flag.key), type: 'person', value: ['true'] }] }
  }
  return listIn(filters['super_groups'] ?? [], 'super_groups')[0] ?? null
}

function readHoldout(filters: RawFlagFilters, makeResult: MakeResult): HoldoutPlan | null {
  const holdout = filters['holdout']
  if (isObject(holdout)) {
    const percentage = percentageOf(holdout['exclusion_percentage'])
    const id = holdout['id'] ?? null
    if (percentage === null || id === null) return null
    const variant = `holdout-${asText(id)}`
    return newHoldout(variant, Math.min(Math.max(percentage, 0), 100), makeResult)
  }
  const group = listIn(filters['holdout_groups'] ?? [], 'holdout_groups')[0]
  if (!isObject(group)) return null
  const variant = typeof group['variant'] === 'string' ? group['variant'] : null
  return newHoldout(variant, percentageOf(group['rollout_percentage']) ?? 100, makeResult)
}

function newHoldout(
  variant: string | null,
  percentage: number,
  makeResult: MakeResult,
): HoldoutPlan {
  const result = makeResult(variant, reasonOf('holdout_condition_value', null))
  return { threshold: percentage / 100, percentage, result }
}

function readVariants(multivariate: unknown): readonly Variant[] {
  if (multivariate === null || multivariate === undefined) return []
  if (!isObject(multivariate)) {
    throw new FlagFailure('invalid_definition', 'multivariate must be an object.')
  }
  let until = 0
  return listIn(multivariate['variants'] ?? [], 'variants').map((raw) => {
    if (!isObject(raw) || typeof raw['key'] !== 'string') {
      throw new FlagFailure('invalid_definition', 'A variant needs a key.')
    }
    until += (percentageOf(raw['rollout_percentage']) ?? 0) / 100
    return { key: raw['key'], until }
  })
}

function filtersIn(raw: RawFlagFilters): readonly unknown[] {
  return listIn(raw['properties'] ?? [], 'properties')
}

function listIn(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new FlagFailure('invalid_definition', `${name} must be a list.`)
}

/** Reads a percentage; null (everyone) if it is missing. */
function percentageOf(percentage: unknown): number | null {
  if (percentage === null || percentage === undefined) return null
  if (typeof percentage === 'number') return percentage
  throw new FlagFailure('invalid_definition', 'A percentage must be a number.')
}

/** Reads a group type index: `fallback` if it is missing, null if it is null. */
function indexOf(index: unknown, fallback: number | null): number | null {
  if (index === undefined) return fallback
  if (index === null || (typeof index === 'number' && Number.isInteger(index))) return index
  throw new FlagFailure('invalid_definition', 'A group type index must be an integer.')
}
