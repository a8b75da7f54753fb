/** TEXT_FORMS: rows as lines of text (CSV, NDJSON). Used in the server and in the worker. */
/** A writer of one answer's rows. */
export type TextRows = {
  /** The text before the first row. */
  readonly head: string
  /** Formats one row with its end of line; the values are JSON texts. */
  readonly row: (values: readonly string[]) => string
}

/** One line per format: a function of the column names. */
export const TEXT_FORMS = {
  /** RFC 4180 with a header line. */
  csv: (columns) => ({
    head: csvLine(columns.map((column) => csvCell(JSON.stringify(column)))),
    row: (values) => csvLine(values.map(csvCell)),
  }),
  /** One JSON object a line. */
  ndjson: (columns) => {
    const names = columns.map((column) => JSON.stringify(column))
    return {
      head: '',
      row: (values) => `{${names.map((name, index) => `${name}:${values[index]}`).join(',')}}\n`,
    }
  },
} as const satisfies Record<string, (columns: readonly string[]) => TextRows>

function csvLine(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`
}

/** Texts that a spreadsheet would evaluate as a formula, except plain numbers. */
const FORMULA = /^[=+\-@\t\r]/
const NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i
const SPECIAL = /[",\r\n]/

/** Null becomes an empty cell; lists and objects stay JSON. A text that could be a formula gets a leading apostrophe. */
function csvCell(json: string): string {
  if (json === 'null') return ''
  const text = json.startsWith('"') ? escapeFormula(String(JSON.parse(json))) : json
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function escapeFormula(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
}
