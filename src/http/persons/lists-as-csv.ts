/** Lists as CSV or JSON, as `?format=` requests: a row per item, nested members flattened to dotted names. */
import { Refusal } from '../../errors.ts'
import { TEXT_FORMS } from '../../query/engine/text-forms.ts'
import { queryOf } from '../addresses.ts'

export type ListFormat = 'csv' | 'json'

const CSV_HEADERS = {
  'Content-Type': 'text/csv; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
} as const

/** Reads the format of a list. Refuses any other, naming the parameter. */
export function listFormat(request: Request): ListFormat {
  const named = new URLSearchParams(queryOf(request.url)).getAll('format')
  const wrong = named.find((name) => name !== 'csv' && name !== 'json')
  if (wrong !== undefined) {
    const detail = `${JSON.stringify(wrong.slice(0, 100))} is not a valid choice.`
    throw new Refusal('invalid_input', detail, { attr: 'format' })
  }
  return named.at(-1) === 'csv' ? 'csv' : 'json'
}

/** The most cells. One item with a list of thousands adds as many columns to every row. */
const CELLS_MAX = 2_000_000

/**
 * Answers items as CSV. Every member of any item is a column; cells that look like formulas are escaped.
 * Refuses (`query_too_large`) more than CELLS_MAX cells.
 */
export function answerCsv(items: readonly object[], columns: readonly string[] = []): Response {
  // Dates and the like are converted as JSON converts them.
  const flat = items.map((item) => new Map(flattened(JSON.parse(JSON.stringify(item)), '')))
  const names = [...new Set([...columns, ...flat.flatMap((members) => [...members.keys()])])]
  if (names.length * items.length > CELLS_MAX) {
    const detail = `The table has more than ${CELLS_MAX} cells: ask for fewer items.`
    throw new Refusal('query_too_large', detail, { attr: 'limit' })
  }
  const form = TEXT_FORMS.csv(names)
  const lines = flat.map((members) => form.row(names.map((name) => members.get(name) ?? 'null')))
  return new Response(form.head + lines.join(''), { headers: CSV_HEADERS })
}

/** Flattens a value to pairs of dotted name and JSON text. */
function flattened(value: unknown, name: string): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return [[name, JSON.stringify(value)]]
  return Object.entries(value).flatMap(([key, member]) =>
    flattened(member, name === '' ? key : `${name}.${key}`),
  )
}
