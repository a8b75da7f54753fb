/** The numbers of an answer as rows, whatever draws them: for tables and CSV. */
import type { ClickedNumber } from './clicked-number.ts'

export type AnswerCell = {
  readonly value: string | number | null
  /** The text to show; the value itself without it. */
  readonly text?: string
  readonly clicked?: ClickedNumber
}

export type AnswerTable = {
  readonly columns: readonly string[]
  /** Headings for programs, where they differ: days as `2026-11-23`. */
  readonly csv_columns?: readonly string[]
  readonly rows: readonly (readonly AnswerCell[])[]
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
