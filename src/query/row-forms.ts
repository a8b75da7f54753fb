/** ROW_FORMS: the ways of writing an answer as rows one after the other, for answers too long for one JSON body. */
import type { RowForm } from './frames.ts'

/** How rows of one answer are written. */
export type RowsOf = {
  /** What comes before the first row. */
  readonly head: string
  /** One row with its end of line; the values come as JSON. */
  readonly row: (values: readonly string[]) => string
}

/** A form is a function of the names of the columns. */
export const ROW_FORMS = {
  csv: (columns) => ({
    head: csvLine(columns.map((column) => csvCell(JSON.stringify(column)))),
    row: (values) => csvLine(values.map(csvCell)),
  }),
  ndjson: (columns) => {
    const names = columns.map((column) => JSON.stringify(column))
    return {
      head: '',
      row: (values) => `{${names.map((name, index) => `${name}:${values[index]}`).join(',')}}\n`,
    }
  },
} as const satisfies Record<RowForm, (columns: readonly string[]) => RowsOf>

/** RFC 4180. */
function csvLine(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`
}

/** Texts that a spreadsheet would take for a formula, plain numbers aside. */
const FORMULA = /^[=+\-@\t\r]/
const NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i
const SPECIAL = /[",\r\n]/

/** Null is an empty cell; lists and the like stay JSON. A text that could be a formula gets an apostrophe before it. */
function csvCell(json: string): string {
  if (json === 'null') return ''
  const text = json.startsWith('"') ? disarmed(String(JSON.parse(json))) : json
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function disarmed(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
}
