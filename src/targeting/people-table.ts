/** Tables of people as they are uploaded: which column names them, and how. */
import { Refusal } from '../errors.ts'

/** Whom a table names, and by what. */
export type NamedPeople = {
  readonly by: 'email' | 'id'
  readonly names: readonly string[]
}

/** Heads of columns that name people, the surest first. Small letters, without what parts words. */
const HEADS: readonly (readonly [by: NamedPeople['by'], heads: ReadonlySet<string>])[] = [
  ['id', new Set(['personid', 'personuuid', 'uuid', 'person.id'])],
  ['id', new Set(['distinctid', 'distinctids'])],
  ['email', new Set(['email', 'emailaddress'])],
]

const SEPARATORS = [',', ';', '\t'] as const

/**
 * The people in a table with commas, semicolons or tabs: by the column whose head says so. A single column needs no head.
 * Refuses an empty table, and one of many columns none of which names people.
 */
export function peopleInTable(text: string): NamedPeople {
  const rows = rowsOf(text.replace(/^\uFEFF/, ''))
  const [head, ...body] = rows
  if (head === undefined) throw refused('CSV file is empty.')
  const titles = head.map((cell) =>
    cell
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_-]+/g, ''),
  )
  for (const [by, heads] of HEADS) {
    const column = titles.findIndex((title) => heads.has(title))
    if (column >= 0) return { by, names: columnOf(body, column) }
  }
  if (head.length === 1) return { by: 'id', names: columnOf(rows, 0) }
  const shown = head.map((cell) => JSON.stringify(cell.slice(0, 50))).join(', ')
  const detail = `Of several columns one must be called distinct_id, person_id or email. Found: ${shown.slice(0, 500)}.`
  throw refused(detail)
}

function columnOf(rows: readonly (readonly string[])[], column: number): readonly string[] {
  return rows.map((cells) => cells[column]?.trim() ?? '').filter((name) => name !== '')
}

/** Rows with something in them. The separator is what the first line has most of. */
function rowsOf(text: string): string[][] {
  const [first = ''] = text.split(/\r?\n|\r/, 1)
  const countOf = (separator: string) => first.split(separator).length
  const separator = SEPARATORS.reduce((best, one) => (countOf(one) > countOf(best) ? one : best))
  const pattern = CELLS[separator]
  const rows: string[][] = [[]]
  for (const [, cell = '', end = ''] of text.matchAll(pattern)) {
    const is_quoted = cell.length > 1 && cell.startsWith('"') && cell.endsWith('"')
    rows.at(-1)?.push(is_quoted ? cell.slice(1, -1).replaceAll('""', '"') : cell)
    if (end !== separator) rows.push([])
  }
  return rows.filter((cells) => cells.some((cell) => cell.trim() !== ''))
}

/** A cell and what ends it; between quotes anything may stand, line ends too. */
const CELLS: Readonly<Record<(typeof SEPARATORS)[number], RegExp>> = {
  ',': /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r\n|\r|\n|$)/g,
  ';': /("(?:[^"]|"")*"|[^;\r\n]*)(;|\r\n|\r|\n|$)/g,
  '\t': /("(?:[^"]|"")*"|[^\t\r\n]*)(\t|\r\n|\r|\n|$)/g,
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'csv' })
}
