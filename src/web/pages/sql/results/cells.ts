/** Cells of an answer as text. */

export type SqlRow = readonly unknown[]

/** The text of a cell: JSON for lists and objects, nothing for null. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The sort key of a cell: numbers as numbers, everything else as text. */
export function cellOrder(value: unknown): number | string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return Number(value)
  return cellText(value)
}
