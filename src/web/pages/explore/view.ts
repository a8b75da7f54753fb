/** What every kind's answer becomes: a chart, and a table of the same numbers. */
import type { ChartAnnotation } from '../../api/insights.ts'
import type { ChartMark } from '../../parts/charts/chart-data.ts'
import { inZone } from '../../parts/charts/chart-data.ts'
import { readProjectTime } from '../../parts/format.ts'
import type { ClickedNumber } from './numbers.ts'
import type { ExploreQuestion } from './question.ts'

export type AnswerCell = {
  readonly value: string | number | null
  /** How it is shown; the value itself without it. */
  readonly text?: string
  readonly clicked?: ClickedNumber
}

export type AnswerTable = {
  readonly columns: readonly string[]
  /** Headings for programs, where they differ: days as `2026-11-23`. */
  readonly csv_columns?: readonly string[]
  readonly rows: readonly (readonly AnswerCell[])[]
}

/** What the views of all kinds get. */
export type ViewProps<Results> = {
  readonly question: ExploreQuestion
  readonly results: Results
  readonly timezone: string
  readonly annotations: readonly ChartAnnotation[]
  readonly onPick: (clicked: ClickedNumber) => void
  readonly onMark: (annotation: ChartAnnotation) => void
}

/** The annotations within the buckets, at the bucket in which their instant lies in the project's zone. */
export function marksOf(
  annotations: readonly ChartAnnotation[],
  days: readonly string[],
  timezone: string,
): readonly ChartMark[] {
  const starts = days.map((day) => readProjectTime(day)?.getTime() ?? 0)
  const [first = 0] = starts
  const last = starts.at(-1) ?? 0
  const length_ms = starts.length > 1 ? last - (starts.at(-2) ?? 0) : 86_400_000
  return annotations.flatMap(({ id, content, date_marker }) => {
    if (date_marker === null) return []
    const at = inZone(new Date(date_marker), timezone).getTime()
    if (at < first || at >= last + length_ms) return []
    const bucket = starts.findLastIndex((start) => start <= at)
    return [{ key: String(id), bucket, text: content ?? '' }]
  })
}

/** Writes the table as CSV. Texts that a spreadsheet would run as a formula begin with an apostrophe. */
export function csvOf({ columns, csv_columns = columns, rows }: AnswerTable): string {
  return [csv_columns, ...rows.map((row) => row.map(({ value }) => value))]
    .map(csvLine)
    .join('\r\n')
}

const csvLine = (cells: readonly (string | number | null)[]): string => cells.map(csvCell).join(',')

function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
