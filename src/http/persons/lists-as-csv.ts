/** Lists as CSV or JSON, as `?format=` requests: a row per item, nested members flattened to dotted names. */
import { Refusal } from '../../errors.ts'
import { TEXT_FORMS } from '../../query/engine/text-forms.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { queryOf } from '../addresses.ts'
import { answerBytes } from '../answers/answers.ts'

type ListFormat = 'csv' | 'json'

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
 * Answers items as CSV, written in slices. Every member of any item is a column; cells that look like formulas are
 * escaped. Refuses (`query_too_large`) more than CELLS_MAX cells.
 */
export async function answerCsv(
  items: readonly object[],
  columns: readonly string[] = [],
): Promise<Response> {
  const names = new Set(columns)
  const flat = await mapInSlices(items, (item) => {
    const members = new Map<string, string>()
    // Dates and the like are converted as JSON converts them.
    flatten(JSON.parse(JSON.stringify(item)), '', members)
    for (const name of members.keys()) names.add(name)
    if (names.size * items.length > CELLS_MAX) throw tooManyCells()
    return members
  })
  const header = [...names]
  const form = TEXT_FORMS.csv(header)
  const lines = await mapInSlices(flat, (members) =>
    Buffer.from(form.row(header.map((name) => members.get(name) ?? 'null'))),
  )
  return answerBytes([Buffer.from(form.head), ...lines], CSV_HEADERS)
}

function tooManyCells(): Refusal {
  const detail = `The table has more than ${CELLS_MAX} cells: ask for fewer items.`
  return new Refusal('query_too_large', detail, { attr: 'limit' })
}

/** Adds members as JSON texts under their dotted names. */
function flatten(value: unknown, name: string, members: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) members.set(name, JSON.stringify(value))
  else {
    for (const [key, member] of Object.entries(value)) {
      flatten(member, name === '' ? key : `${name}.${key}`, members)
    }
  }
}
