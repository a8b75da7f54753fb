/** Whether a flag still does something: for how long nobody has asked, whether everybody gets the same. */
import { isRecord } from '../flags/value.ts'
import type { Flag } from './flag.ts'

export type FlagStatus = {
  readonly status: 'ACTIVE' | 'DELETED' | 'INACTIVE' | 'STALE'
  readonly reason: string
}

/** A flag younger than this is not stale, whatever it does. */
const STALE_AFTER_MS = 30 * 86_400_000

/** Days of `$feature_flag_called` that tell whether a flag is in use. */
export const USAGE_DAYS = 30

/** A flag's status; `last_called_at` is null when nobody has asked in `USAGE_DAYS`, undefined when that is unknown. */
export function statusOf(
  flag: Flag,
  last_called_at: Date | null | undefined,
  now: Date,
): FlagStatus {
  if (flag.deleted) return { status: 'DELETED', reason: 'Flag has been deleted' }
  if (!flag.active) return { status: 'INACTIVE', reason: 'Flag is disabled' }
  const is_old = now.getTime() - flag.created_at.getTime() >= STALE_AFTER_MS
  const constant = is_old ? constantOf(flag.filters) : null
  if (constant !== null) return { status: 'STALE', reason: constant }
  if (is_old && last_called_at === null) {
    const reason = `Flag has not been evaluated in the last ${USAGE_DAYS} days`
    return { status: 'STALE', reason }
  }
  return { status: 'ACTIVE', reason: 'Flag is not fully rolled out and may still be active' }
}

/** What everybody gets, in words; null when people get different things. */
function constantOf(filters: unknown): string | null {
  if (!isRecord(filters)) return null
  const sets = listOf(filters['groups'])
  const is_special = [filters['super_groups'], filters['holdout_groups']].some(
    (part) => listOf(part).length > 0,
  )
  if (is_special || isRecord(filters['holdout'])) return null
  const full = sets.find(isForAll)
  if (full === undefined) return null
  const multivariate = filters['multivariate']
  const variants = isRecord(multivariate) ? listOf(multivariate['variants']) : []
  if (variants.length === 0) return 'This boolean flag will always evaluate to "true"'
  // Earlier sets may hand out other variants.
  const [first] = sets
  const own = full === first ? full['variant'] : null
  const whole = variants.find((variant) => variant['rollout_percentage'] === 100)
  const variant = typeof own === 'string' ? own : whole?.['key']
  if (typeof variant !== 'string') return null
  return `This flag will always use the variant "${variant}"`
}

function isForAll(set: Readonly<Record<string, unknown>>): boolean {
  const percentage = set['rollout_percentage'] ?? 100
  return percentage === 100 && listOf(set['properties']).length === 0
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}
