/** Rows of trends as numbers: a list over the steps for each value, smoothed, summed up and scaled as was asked. */

import { NO_VALUE, OTHER_VALUES } from '../breakdown.ts'
import { type Bucket, bucketFinder, bucketsOf } from '../buckets.ts'
import { scaled } from '../conditions.ts'
import { requireNumbers } from '../numbers.ts'
import { type Asked, isCumulative } from './asked.ts'
import { isScaled, mathOf } from './math.ts'
import { recentBuckets } from './recent.ts'

/** The numbers of a line, or of one value that it is split by. */
export type Line = {
  /** What the events are split by; empty when they are not. */
  readonly values: readonly string[]
  /** One per step; of totals none. */
  readonly data: readonly number[]
  readonly total: number
}

/**
 * The lines that the rows of `trendsTree` hold: largest first, then what has no value, then all others together.
 * Refuses more than an answer may hold.
 */
export function linesOfRows(asked: Asked, rows: readonly (readonly unknown[])[]): readonly Line[] {
  const lines = asked.is_total ? totalsOf(asked, rows) : seriesOf(asked, rows)
  return asked.split.length === 0 ? lines : lines.toSorted(byRank)
}

function totalsOf(asked: Asked, rows: readonly (readonly unknown[])[]): readonly Line[] {
  const counted = rows.length === 0 && asked.split.length === 0 ? [[0]] : rows
  return counted.map((row) => ({
    values: row.slice(0, -1).map(String),
    data: [],
    total: inFull(asked, numberOf(row.at(-1))),
  }))
}

function seriesOf(asked: Asked, rows: readonly (readonly unknown[])[]): readonly Line[] {
  const buckets = bucketsOf(asked.range)
  const find = stepFinder(asked, buckets)
  const empty = (): number[] => Array.from({ length: buckets.length }, () => 0)
  const found = new Map<string, { readonly values: readonly string[]; readonly data: number[] }>()
  if (asked.split.length === 0) found.set('[]', { values: [], data: empty() })
  for (const row of rows) {
    const values = row.slice(1, -1).map(String)
    const key = JSON.stringify(values)
    if (!found.has(key)) requireNumbers((found.size + 1) * buckets.length)
    const line = found.get(key) ?? { values, data: empty() }
    found.set(key, line)
    const step = find(row[0])
    if (step !== null) line.data[step] = (line.data[step] ?? 0) + numberOf(row.at(-1))
  }
  return [...found.values()].map(({ values, data }) => {
    const shown = shownData(
      asked,
      data.map((value) => inFull(asked, value)),
    )
    const total = isCumulative(asked.question) ? (shown.at(-1) ?? 0) : sumOf(shown)
    return { values, data: shown, total }
  })
}

/** Finds the step of a row; rows of windows that move by days say which day. */
function stepFinder(asked: Asked, buckets: readonly Bucket[]): (value: unknown) => number | null {
  const math = mathOf(asked.series, asked.range.interval)
  if (math.kind !== 'recent_actors') return bucketFinder(buckets)
  const steps = new Map(recentBuckets(asked).map((bucket, step) => [bucket, step]))
  return (value) => steps.get(Number(value)) ?? null
}

function shownData({ question }: Asked, data: readonly number[]): readonly number[] {
  const smooth = smoothed(data, question.trendsFilter?.smoothingIntervals ?? 1)
  if (!isCumulative(question)) return smooth
  let sum = 0
  return smooth.map((value) => (sum += value))
}

/** Each the mean of so many, itself the last, without its fraction; the first ones of as many as there are. */
function smoothed(data: readonly number[], count: number): readonly number[] {
  if (count <= 1) return data
  return data.map((_, index) => {
    const window = data.slice(Math.max(0, index - count + 1), index + 1)
    return Math.floor(sumOf(window) / window.length)
  })
}

function inFull({ question, series, range }: Asked, value: number): number {
  return isScaled(mathOf(series, range.interval)) ? scaled(value, question) : value
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function numberOf(value: unknown): number {
  const number = Number(value ?? 0)
  return Number.isFinite(number) ? number : 0
}

/** Larger sums first, then by name; no value and all others come last. */
function byRank(a: Line, b: Line): number {
  return (
    placeOf(a.values) - placeOf(b.values) ||
    b.total - a.total ||
    compareTexts(a.values.join('::'), b.values.join('::'))
  )
}

/** 0 for ordinary values, 1 for what has none, 2 for all others together. */
export function placeOf(values: readonly string[]): number {
  if (values.includes(OTHER_VALUES)) return 2
  return values.includes(NO_VALUE) ? 1 : 0
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
