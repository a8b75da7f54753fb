/** Cells of an answer as text. */
import { formatNumber } from '../../../parts/format.ts'

export type SqlRow = readonly unknown[]

/** The text of a cell: JSON for lists and objects, nothing for null. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A cell as it is shown: numbers with separators of thousands. */
export const shownText = (value: unknown): string =>
  typeof value === 'number' ? formatNumber(value) : cellText(value)

/** The sort key of a cell: numbers as numbers, everything else as text. */
export function cellOrder(value: unknown): number | string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return Number(value)
  return cellText(value)
}
