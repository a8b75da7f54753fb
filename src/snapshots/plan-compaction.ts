/** Plans compaction, size-tiered: small files of a month in tiers, then small past months into shared files. */

import { canShareFile, firstMonthOf, isShared, monthOf } from '../storage/files/file-months.ts'
import type { FileRow } from '../storage/log/event-log.ts'

export type CompactionRule = {
  /** Number of files of a tier that are merged; also the size ratio of tiers. */
  readonly fan_in: number
  /** Maximum bytes of the inputs of one file. */
  readonly bytes_max: number
  /** A month without new files for this time is merged completely. */
  readonly quiet_us: number
}

export const COMPACTION_RULE: CompactionRule = {
  fan_in: 8,
  bytes_max: 256 * 1024 * 1024,
  quiet_us: 3_600_000_000,
}

/** Maximum size of the lowest tier. */
const LOWEST_TIER_BYTES = 128 * 1024

/** A file of several months has at most a quarter of a file's maximum, since a late event rewrites all of it. */
const SHARED_FILE_DIVISOR = 4
/** A month must be quiet this many times as long before it shares a file as before its own files are merged. */
const QUIET_FACTOR = 24

/** An empty list of property columns or encodings marks a file that was written before these were chosen. */
const NEVER_CHOSEN = ''

/** Projects with a retention, whose months stay in separate files. */
type MonthsApart = (project_id: number) => boolean

/**
 * Chooses the next files to merge, all of one project and of consecutive months; null when there are none. One file
 * alone is to be written again: with today's columns and encodings, or as a file per month.
 */
export function planCompaction(
  files: readonly FileRow[],
  now_us: number,
  rule: CompactionRule = COMPACTION_RULE,
  areApart: MonthsApart = () => false,
): readonly FileRow[] | null {
  for (const [project_id, all] of Map.groupBy(files, (file) => file.project_id)) {
    const shared = areApart(project_id) ? all.find(isShared) : undefined
    if (shared !== undefined) return [shared]
    const spans = spansOf(all)
    for (const span of spans) {
      const sorted = span.toSorted((one, other) => one.byte_count - other.byte_count)
      const found = findTier(sorted, rule) ?? findRest(sorted, now_us, rule)
      if (found !== null) return found
    }
    const months = areApart(project_id) ? null : findMonths(spans, now_us, rule)
    if (months !== null) return months
  }
  return null
}

/** Groups a project's files by month, the oldest first; late files of shared months are grouped with the shared file. */
function spansOf(files: readonly FileRow[]): readonly (readonly FileRow[])[] {
  const spans: { last: string; readonly files: FileRow[] }[] = []
  for (const file of files.filter(canShareFile).toSorted(byMonth)) {
    const span = spans.at(-1)
    if (span === undefined || span.last < firstMonthOf(file)) {
      spans.push({ last: file.month, files: [file] })
    } else {
      span.files.push(file)
      if (span.last < file.month) span.last = file.month
    }
  }
  const others = files.filter((file) => !canShareFile(file))
  const alone = Map.groupBy(others, ({ month }) => month)
  return [...spans.map((span) => span.files), ...alone.values()]
}

function byMonth(one: FileRow, other: FileRow): number {
  const [first, second] = [firstMonthOf(one), firstMonthOf(other)]
  if (first !== second) return first < second ? -1 : 1
  return one.month < other.month ? -1 : Number(one.month > other.month)
}

/** Plans a shared file of past small months, because opening a file costs a query as much as many rows. */
function findMonths(
  spans: readonly (readonly FileRow[])[],
  now_us: number,
  rule: CompactionRule,
): readonly FileRow[] | null {
  let run: readonly FileRow[] = []
  for (const [file, ...others] of spans) {
    const may_share = file !== undefined && others.length === 0 && isOver(file, now_us, rule)
    if (may_share && sum([...run, file]) * SHARED_FILE_DIVISOR <= rule.bytes_max) {
      run = [...run, file]
      continue
    }
    if (run.length > 1) return run
    run = may_share ? [file] : []
  }
  return run.length > 1 ? run : null
}

function isOver(file: FileRow, now_us: number, { quiet_us }: CompactionRule): boolean {
  const is_quiet = Math.abs(now_us - file.created_at) >= quiet_us * QUIET_FACTOR
  return is_quiet && canShareFile(file) && file.month < monthOf(now_us)
}

const sum = (files: readonly FileRow[]): number =>
  files.reduce((bytes, { byte_count }) => bytes + byte_count, 0)

/** Plans a merge of a full tier. */
function findTier(sorted: readonly FileRow[], rule: CompactionRule): readonly FileRow[] | null {
  const tiers = Map.groupBy(sorted, ({ byte_count }) => tierOf(byte_count, rule))
  for (const tier of tiers.values()) {
    if (tier.length < rule.fan_in) continue
    const fitting = takeFitting(tier, rule)
    if (fitting.length >= rule.fan_in / 2) return fitting
  }
  return null
}

/** Finds the small files of a month that gets no more events; or a file from before there were property columns. */
function findRest(
  sorted: readonly FileRow[],
  now_us: number,
  rule: CompactionRule,
): readonly FileRow[] | null {
  const newest = Math.max(...sorted.map(({ created_at }) => created_at))
  // After the clock was set back, a month must not wait until it has caught up.
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

/** Selects the smallest files, up to the maximum bytes. */
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
