/** Rows of trends → numbers: a list over the buckets per value, smoothed, summed and scaled. */

import { Slices } from '../../threads/slices.ts'
import { bucketFinder, bucketsOf, type TimeBucket } from '../dates/buckets.ts'
import { NO_VALUE, OTHER_VALUES } from '../members/breakdown.ts'
import { scaleSample } from '../members/conditions.ts'
import { requireNumbers } from '../numbers.ts'
import { isScaled, mathOf } from './math.ts'
import { isCumulative, type TrendsPlan } from './plan.ts'
import { recentBuckets } from './recent.ts'

/** The numbers of a line, or of one breakdown value. */
export type TrendsLine = {
  /** Breakdown values; empty without a breakdown. */
  readonly values: readonly string[]
  /** One per bucket; empty for totals. */
  readonly data: readonly number[]
  readonly total: number
}

/**
 * Reads the rows of `trendsTree`: largest first, then events without a value, then all others.
 * Refuses more numbers than an answer may hold.
 */
export async function linesOfRows(
  plan: TrendsPlan,
  rows: readonly (readonly unknown[])[],
): Promise<readonly TrendsLine[]> {
  const lines = plan.is_total ? totalsOf(plan, rows) : await seriesOf(plan, rows)
  return plan.split.length === 0 ? lines : lines.toSorted(byRank)
}

function totalsOf(plan: TrendsPlan, rows: readonly (readonly unknown[])[]): readonly TrendsLine[] {
  const total_rows = rows.length === 0 && plan.split.length === 0 ? [[0]] : rows
  const scale = scaleOf(plan)
  return total_rows.map((row) => ({
    values: row.slice(0, -1).map(String),
    data: [],
    total: scale(numberOf(row.at(-1))),
  }))
}

/** Works in slices: an answer may have tens of thousands of rows, and numbers with means of a thousand others. */
async function seriesOf(
  plan: TrendsPlan,
  rows: readonly (readonly unknown[])[],
): Promise<readonly TrendsLine[]> {
  const slices = new Slices()
  const buckets = bucketsOf(plan.range)
  const find = stepFinder(plan, buckets)
  const empty = (): number[] => Array.from({ length: buckets.length }, () => 0)
  const by_values = new Map<
    string,
    { readonly values: readonly string[]; readonly data: number[] }
  >()
  if (plan.split.length === 0) by_values.set('[]', { values: [], data: empty() })
  for (const row of rows) {
    const values = row.slice(1, -1).map(String)
    const key = JSON.stringify(values)
    if (!by_values.has(key)) requireNumbers((by_values.size + 1) * buckets.length)
    const line = by_values.get(key) ?? { values, data: empty() }
    by_values.set(key, line)
    const step = find(row[0])
    if (step !== null) line.data[step] = (line.data[step] ?? 0) + numberOf(row.at(-1))
    if (slices.isOver()) await slices.end()
  }
  const scale = scaleOf(plan)
  const lines: TrendsLine[] = []
  for (const { values, data } of by_values.values()) {
    const shown = await shownData(plan, data.map(scale), slices)
    const total = isCumulative(plan.query) ? (shown.at(-1) ?? 0) : sumOf(shown)
    lines.push({ values, data: shown, total })
    if (slices.isOver()) await slices.end()
  }
  return lines
}

/** Finds the bucket of a row; rows of moving windows have its index. */
function stepFinder(
  plan: TrendsPlan,
  buckets: readonly TimeBucket[],
): (value: unknown) => number | null {
  const math = mathOf(plan.series, plan.range.interval)
  if (math.kind !== 'recent_actors') return bucketFinder(buckets)
  const steps = new Map(recentBuckets(plan).map((bucket, step) => [bucket, step]))
  return (value) => steps.get(Number(value)) ?? null
}

async function shownData(
  { query }: TrendsPlan,
  data: readonly number[],
  slices: Slices,
): Promise<readonly number[]> {
  const smooth = await movingAverage(data, query.trendsFilter?.smoothingIntervals ?? 1, slices)
  if (!isCumulative(query)) return smooth
  let sum = 0
  return smooth.map((value) => (sum += value))
}

/** Moving average of the last `count` values, truncated; fewer at the beginning. */
async function movingAverage(
  data: readonly number[],
  count: number,
  slices: Slices,
): Promise<readonly number[]> {
  if (count <= 1) return data
  const means: number[] = []
  for (const index of data.keys()) {
    const first = Math.max(0, index - count + 1)
    let sum = 0
    for (let at = first; at <= index; at += 1) sum += data[at] ?? 0
    means.push(Math.floor(sum / (index - first + 1)))
    if (slices.isOver()) await slices.end()
  }
  return means
}

/** The scaling of a plan's values. Finding a math parses templates, 40 µs, which for each value took most of an answer. */
function scaleOf({ query, series, range }: TrendsPlan): (value: number) => number {
  if (!isScaled(mathOf(series, range.interval))) return (value) => value
  return (value) => scaleSample(value, query)
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function numberOf(value: unknown): number {
  const number = Number(value ?? 0)
  return Number.isFinite(number) ? number : 0
}

/** Larger sums first, then by name; no value and all others are last. */
function byRank(a: TrendsLine, b: TrendsLine): number {
  return (
    rankOf(a.values) - rankOf(b.values) ||
    b.total - a.total ||
    compareTexts(a.values.join('::'), b.values.join('::'))
  )
}

/** 0 for ordinary values, 1 for none, 2 for all others. */
export function rankOf(values: readonly string[]): number {
  if (values.includes(OTHER_VALUES)) return 2
  return values.includes(NO_VALUE) ? 1 : 0
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
