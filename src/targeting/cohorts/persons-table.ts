/** Reads uploaded tables of persons: finds the column that identifies them, and its kind. */
import { Refusal } from '../../errors.ts'
import { Slices } from '../../threads/slices.ts'

/** Identifiers of persons, and their kind. */
export type PersonList = {
  readonly by: 'email' | 'id'
  readonly names: readonly string[]
}

/** Heads of columns that identify persons, the most reliable first; in lower case, without separators. */
const HEADS: readonly (readonly [by: PersonList['by'], heads: ReadonlySet<string>])[] = [
  ['id', new Set(['personid', 'personuuid', 'uuid', 'person.id'])],
  ['id', new Set(['distinctid', 'distinctids'])],
  ['email', new Set(['email', 'emailaddress'])],
]

const SEPARATORS = [',', ';', '\t'] as const
type Separator = (typeof SEPARATORS)[number]

/** The most columns of a row. */
const COLUMNS_MAX = 1000
/** The most characters of a cell. */
const CELL_CHARS_MAX = 100_000

/** The column of identifiers; null when a table's heads name none. */
type NameColumn = { readonly by: PersonList['by']; readonly column: number }

/**
 * Reads the identifiers from a table with commas, semicolons or tabs. The column is chosen by its head; a
 * single column needs none. Reads a slice per turn of the event loop. Refuses a table without identifiers, and one with
 * many columns of which none identifies persons.
 */
export async function readPeopleTable(text: string): Promise<PersonList> {
  const start = text.startsWith('\uFEFF') ? 1 : 0
  const table = new TableReader(text, start)
  const names: string[] = []
  let name_column: NameColumn | null = null
  const slices = new Slices()
  for (let row = table.nextRow(); row !== null; row = table.nextRow()) {
    if (slices.isOver()) await slices.end()
    if (row.every((cell) => cell.trim() === '')) continue
    if (name_column === null) {
      const by_head = nameColumnOf(row)
      name_column = by_head ?? { by: 'id', column: 0 }
      if (by_head !== null) continue
    }
    const name = row[name_column.column]?.trim() ?? ''
    if (name !== '') names.push(name)
  }
  if (name_column === null) throw refused('CSV file is empty.')
  if (names.length === 0) {
    throw refused('CSV file has no person IDs, distinct IDs or email addresses.')
  }
  return { by: name_column.by, names }
}

/**
 * Finds the column by the heads; null for a single column without a head. Refuses other tables without a known
 * head.
 */
function nameColumnOf(head: readonly string[]): NameColumn | null {
  const titles = head.map((cell) =>
    cell
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_-]/g, ''),
  )
  for (const [by, heads] of HEADS) {
    const column = titles.findIndex((title) => heads.has(title))
    if (column >= 0) return { by, column }
  }
  if (head.filter((cell) => cell.trim() !== '').length === 1) return null
  const shown = head.map((cell) => JSON.stringify(cell.slice(0, 50))).join(', ')
  const detail = `Of several columns one must be called distinct_id, person_id or email. Found: ${shown.slice(0, 500)}.`
  throw refused(detail)
}

/** Reads rows in order; reads each character a bounded number of times. */
class TableReader {
  /** Offset of the next row. */
  position: number
  readonly #text: string
  readonly #separator: Separator
  #is_at_end = false

  /** The separator is the most frequent candidate in the first line, as far as a cell may reach. */
  constructor(text: string, start: number) {
    this.#text = text
    this.position = start
    this.#separator = separatorOf(firstLine(text.slice(start, start + CELL_CHARS_MAX)))
  }

  /** Returns the cells of the next row; null at the end. Refuses a row with too many cells. */
  nextRow(): string[] | null {
    if (this.#is_at_end) return null
    const cells: string[] = []
    for (;;) {
      if (cells.length === COLUMNS_MAX) {
        throw refused(`A table may have ${COLUMNS_MAX} columns.`)
      }
      const cell = this.#quotedCell() ?? this.#plainCell()
      if (cell.length > CELL_CHARS_MAX) {
        throw refused(`A cell may have ${CELL_CHARS_MAX} characters.`)
      }
      cells.push(cell)
      const end = this.#text[this.position]
      this.#is_at_end = end === undefined
      this.position += end === '\r' && this.#text[this.position + 1] === '\n' ? 2 : 1
      if (end !== this.#separator) return cells
    }
  }

  /** Reads a quoted cell, which may contain line ends. Null unless the cell ends with its closing quote. */
  #quotedCell(): string | null {
    const text = this.#text
    const start = this.position
    if (text[start] !== '"') return null
    const last = start + CELL_CHARS_MAX
    let quote = text.indexOf('"', start + 1)
    while (quote !== -1 && quote < last && text[quote + 1] === '"') {
      quote = text.indexOf('"', quote + 2)
    }
    if (quote === -1 || !this.#isCellEnd(quote + 1)) return null
    this.position = quote + 1
    return text.slice(start + 1, quote).replaceAll('""', '"')
  }

  #plainCell(): string {
    const start = this.position
    let end = start
    while (!this.#isCellEnd(end) && end - start <= CELL_CHARS_MAX) end += 1
    this.position = end
    return this.#text.slice(start, end)
  }

  #isCellEnd(position: number): boolean {
    const char = this.#text[position]
    return char === undefined || char === this.#separator || char === '\n' || char === '\r'
  }
}

function firstLine(text: string): string {
  return /^[^\n\r]*/.exec(text)?.[0] ?? ''
}

function separatorOf(line: string): Separator {
  const counts = { ',': 0, ';': 0, '\t': 0 }
  for (const char of line) if (char === ',' || char === ';' || char === '\t') counts[char] += 1
  return SEPARATORS.reduce((best, one) => (counts[one] > counts[best] ? one : best))
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'csv' })
}
