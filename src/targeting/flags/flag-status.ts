/** The status of a flag: whether it is in use, and whether all persons get the same value. */
import { findSets } from '../../flags/plan.ts'
import { isObject } from '../../json.ts'
import { DAY_MS } from '../../time.ts'
import type { Flag } from './flag.ts'

type FlagStatus = {
  readonly status: 'ACTIVE' | 'ARCHIVED' | 'DELETED' | 'INACTIVE' | 'STALE'
  readonly reason: string
}

/** A younger flag is never stale. */
const STALE_AFTER_MS = 30 * DAY_MS

/** The days without `$feature_flag_called` after which a flag is not in use. */
export const USAGE_DAYS = 30

/**
 * Returns a flag's status; `last_called_at` is null without calls in `USAGE_DAYS`, undefined when it is
 * unknown.
 */
export function statusOf(
  flag: Flag,
  last_called_at: Date | null | undefined,
  now: Date,
): FlagStatus {
  if (flag.deleted) return { status: 'DELETED', reason: 'Flag has been deleted' }
  if (flag.archived) return { status: 'ARCHIVED', reason: 'Flag has been archived' }
  if (!flag.active) return { status: 'INACTIVE', reason: 'Flag is disabled' }
  const is_old = now.getTime() - flag.created_at.getTime() >= STALE_AFTER_MS
  const constant = is_old ? constantOf(flag.filters) : null
  if (constant !== null) return { status: 'STALE', reason: constant.reason }
  if (is_old && last_called_at === null) {
    const reason = `Flag has not been evaluated in the last ${USAGE_DAYS} days`
    return { status: 'STALE', reason }
  }
  return { status: 'ACTIVE', reason: 'Flag is not fully rolled out and may still be active' }
}

/** The rollout of a flag over its condition sets. */
export type Rollout = {
  readonly is_fully_rolled_out: boolean
  readonly has_targeting_conditions: boolean
  /** Null without condition sets. */
  readonly max_rollout_percentage: number | null
  readonly is_multivariate: boolean
  /** The variant that all persons get; null without one. */
  readonly active_variant: string | null
}

/** Summarizes the condition sets of a flag. */
export function rolloutOf({ filters }: Pick<Flag, 'filters'>): Rollout {
  const sets = isObject(filters) ? listOf(findSets(filters)) : []
  const percentages = sets.map((set) => Number(set['rollout_percentage'] ?? 100))
  const constant = constantOf(filters)
  return {
    is_fully_rolled_out: constant !== null,
    has_targeting_conditions: sets.some((set) => listOf(set['properties']).length > 0),
    max_rollout_percentage: percentages.length === 0 ? null : Math.max(...percentages),
    is_multivariate: variantsOf(filters).length > 0,
    active_variant: constant?.variant ?? null,
  }
}

type ConstantRollout = { readonly variant: string | null; readonly reason: string }

/** The value that all persons get; null when values differ. */
function constantOf(filters: unknown): ConstantRollout | null {
  if (!isObject(filters)) return null
  const sets = listOf(findSets(filters))
  const is_special =
    filters['feature_enrollment'] === true ||
    isObject(filters['holdout']) ||
    [filters['super_groups'], filters['holdout_groups']].some((part) => listOf(part).length > 0)
  if (is_special) return null
  const full_index = sets.findIndex(isForAll)
  if (full_index < 0) return null
  const variants = variantsOf(filters)
  if (variants.length === 0) {
    return { variant: null, reason: 'This boolean flag will always evaluate to "true"' }
  }
  const full_variant = variants.find((variant) => variant['rollout_percentage'] === 100)?.['key']
  // Sets before the one for all persons may assign other variants.
  const used_variants = new Set(
    sets.slice(0, full_index + 1).map((set) => set['variant'] || full_variant),
  )
  const [variant, ...others] = used_variants
  if (typeof variant !== 'string' || others.length > 0) return null
  return { variant, reason: `This flag will always use the variant "${variant}"` }
}

/** Returns the variants of a flag's filters. */
export function variantsOf(filters: unknown): readonly Readonly<Record<string, unknown>>[] {
  const multivariate = isObject(filters) ? filters['multivariate'] : null
  return isObject(multivariate) ? listOf(multivariate['variants']) : []
}

function isForAll(set: Readonly<Record<string, unknown>>): boolean {
  const percentage = set['rollout_percentage'] ?? 100
  return percentage === 100 && listOf(set['properties']).length === 0
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
