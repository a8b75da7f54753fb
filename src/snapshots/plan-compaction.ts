/** Which files are to become one: a project's small files of a month, in tiers, so that questions open few (design.md §4). */
import type { FileRow } from '../storage/event-log.ts'

export type CompactionRule = {
  /** Files of about one size that become one; also how much larger the next tier's files are. */
  readonly fan_in: number
  /** The most bytes that files have together to become one. */
  readonly bytes_max: number
  /** A month without new files for so long is put together as far as it goes. */
  readonly quiet_us: number
}

export const COMPACTION_RULE: CompactionRule = {
  fan_in: 8,
  bytes_max: 256 * 1024 * 1024,
  quiet_us: 3_600_000_000,
}

/** Files up to this size are of the lowest tier. */
const LOWEST_TIER_BYTES = 128 * 1024

/** What older files have where newer ones have lists: of property columns, of the forms of their own columns. */
const NEVER_CHOSEN = ''

/** The next files to put together, all of one project and month; null when every month is as it should be. */
export function planCompaction(
  files: readonly FileRow[],
  now_us: number,
  rule: CompactionRule = COMPACTION_RULE,
): readonly FileRow[] | null {
  const months = Map.groupBy(files, ({ project_id, month }) => `${project_id} ${month}`)
  for (const month of months.values()) {
    const sorted = month.toSorted((one, other) => one.byte_count - other.byte_count)
    const found = findTier(sorted, rule) ?? findRest(sorted, now_us, rule)
    if (found !== null) return found
  }
  return null
}

/** Enough files of one tier. */
function findTier(sorted: readonly FileRow[], rule: CompactionRule): readonly FileRow[] | null {
  const tiers = Map.groupBy(sorted, ({ byte_count }) => tierOf(byte_count, rule))
  for (const tier of tiers.values()) {
    if (tier.length < rule.fan_in) continue
    const fitting = takeFitting(tier, rule)
    if (fitting.length >= rule.fan_in / 2) return fitting
  }
  return null
}

/** Whatever small files a month that gets no more has; and a file that was written before there were columns. */
function findRest(
  sorted: readonly FileRow[],
  now_us: number,
  rule: CompactionRule,
): readonly FileRow[] | null {
  const newest = Math.max(...sorted.map(({ created_at }) => created_at))
  // A clock that was put back must not keep a month waiting until it has caught up.
  if (Math.abs(now_us - newest) < rule.quiet_us) return null
  const small = sorted.filter(({ byte_count }) => byte_count * 2 < rule.bytes_max)
  const fitting = takeFitting(small, rule)
  if (fitting.length > 1) return fitting
  const old = sorted.find(({ columns, own }) => columns === NEVER_CHOSEN || own === NEVER_CHOSEN)
  return old === undefined ? null : [old]
}

function tierOf(byte_count: number, { fan_in }: CompactionRule): number {
  const times = Math.max(1, byte_count / LOWEST_TIER_BYTES)
  return Math.floor(Math.log(times) / Math.log(fan_in))
}

/** The smallest ones, as many as may become one file. */
function takeFitting(
  sorted: readonly FileRow[],
  { bytes_max }: CompactionRule,
): readonly FileRow[] {
  let bytes = 0
  return sorted.filter(({ byte_count }) => {
    bytes += byte_count
    return bytes <= bytes_max
  })
}
