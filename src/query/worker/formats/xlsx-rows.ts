/** A row sink for XLSX: a workbook with a header line, zipped while the rows arrive. */
import { Zip, ZipDeflate } from 'fflate'
import { Refusal } from '../../../errors.ts'
import { rowWriter } from './json-rows.ts'
import type { OpenSink } from './row-sink.ts'

/** The most rows of a sheet and characters of a cell in a workbook; further rows continue on the next sheet. */
const SHEET_ROWS_MAX = 1_048_576
const CELL_LENGTH_MAX = 32_767
/** Digits that a workbook keeps of a number; longer whole numbers, such as ids, are written as text. */
const DIGITS_MAX = 15

/** The sizes in a ZIP file have 32 bits; some room is left for its directory. */
const ZIP_BYTES_MAX = 4_000_000_000

const PART_LENGTH = 256 * 1024
const LEVEL = 6

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const CONTENT = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

const SHEET_HEAD = `${HEAD}<worksheet xmlns="${MAIN}"><sheetData>`
const SHEET_END = '</sheetData></worksheet>'

/** Numbers and booleans are cells of their type, null is an empty cell, everything else is text, which no program evaluates. */
export const openXlsx: OpenSink = ({ columns, types, timezone }) =>
  xlsxSink({
    columns,
    types,
    timezone,
    sheet_rows_max: SHEET_ROWS_MAX,
    bytes_max: ZIP_BYTES_MAX,
  })

type XlsxOptions = Pick<Parameters<OpenSink>[0], 'columns' | 'types' | 'timezone'> & {
  readonly sheet_rows_max: number
  /** Bytes of all files of the workbook before compression. */
  readonly bytes_max: number
}

/** Makes the sink with a limit of rows per sheet, the header line included. */
export function xlsxSink(options: XlsxOptions): ReturnType<OpenSink> {
  const { columns, types, timezone, sheet_rows_max, bytes_max } = options
  const writer = rowWriter(types, timezone)
  const file = openZip(bytes_max)
  const head = rowText(columns.map((column) => JSON.stringify(column)))
  let sheets = 0
  let rows = 0
  let part = ''
  const beginSheet = (): void => {
    if (sheets > 0) file.write(part + SHEET_END, true)
    sheets += 1
    rows = 1
    part = SHEET_HEAD + head
    file.begin(`xl/worksheets/sheet${sheets}.xml`)
  }
  const addRow = (values: readonly string[]): string => {
    if (rows === sheet_rows_max) beginSheet()
    rows += 1
    part += rowText(values)
    if (part.length >= PART_LENGTH) {
      file.write(part, false)
      part = ''
    }
    // The rows are in `part`: the writer has none to join.
    return ''
  }
  beginSheet()
  return {
    add: async (chunk, row_count) => {
      await Array.fromAsync(writer.writeRows(chunk, row_count, addRow))
      return file.take()
    },
    end: () => {
      file.write(part + SHEET_END, true)
      for (const [name, text] of bookFiles(sheets)) {
        file.begin(name)
        file.write(text, true)
      }
      return file.end()
    },
  }
}

/** A ZIP file whose bytes are taken while it is written. */
function openZip(bytes_max: number) {
  let written_bytes = 0
  let ready: Uint8Array[] = []
  const zip = new Zip((error, bytes) => {
    if (error !== null) throw error
    ready.push(bytes)
  })
  let file: ZipDeflate | null = null
  const take = (): readonly Uint8Array[] => {
    const taken = ready
    ready = []
    return taken
  }
  return {
    begin: (name: string): void => {
      file = new ZipDeflate(name, { level: LEVEL })
      zip.add(file)
    },
    write: (text: string, is_last: boolean): void => {
      const bytes = Buffer.from(text)
      written_bytes += bytes.length
      if (written_bytes > bytes_max) {
        const detail = 'A workbook holds at most 4 GB. Take another format, or less at a time.'
        throw new Refusal('query_too_large', detail)
      }
      file?.push(bytes, is_last)
    },
    take,
    end: (): readonly Uint8Array[] => {
      zip.end()
      return take()
    },
  }
}

const rowText = (values: readonly string[]): string => `<row>${values.map(cellText).join('')}</row>`

/** `3` → a number, `"a"` → a text; lists and objects stay JSON. */
function cellText(json: string): string {
  if (json === 'null') return '<c/>'
  if (json === 'true' || json === 'false') return `<c t="b"><v>${json === 'true' ? 1 : 0}</v></c>`
  if (isNumber(json)) return `<c><v>${json}</v></c>`
  const text = json.startsWith('"') ? String(JSON.parse(json)) : json
  return `<c t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`
}

function isNumber(json: string): boolean {
  if (!/^-?\d/.test(json)) return false
  return !/^-?\d+$/.test(json) || json.length <= DIGITS_MAX
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
/** Characters that XML 1.0 does not have, and texts that look like the escape of one. */
// oxlint-disable-next-line no-control-regex
const UNNAMEABLE = /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[0-9a-fA-F]{4}_)/g

/** Escapes a text for XML, control characters as workbooks do: `_x0000_`. Longer texts than a cell holds are cut. */
function escapeXml(text: string): string {
  return text
    .slice(0, CELL_LENGTH_MAX)
    .toWellFormed()
    .replaceAll(UNNAMEABLE, (char) => `_x${hex(char)}_`)
    .replaceAll(/[&<>]/g, (char) => ENTITIES[char] ?? '')
}

const hex = (char: string): string => char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')

/** The files around the sheets, by name. */
function bookFiles(sheets: number): readonly (readonly [name: string, text: string])[] {
  const ids = Array.from({ length: sheets }, (_, index) => index + 1)
  const listed = ids.map((id) => `<sheet name="Sheet${id}" sheetId="${id}" r:id="rId${id}"/>`)
  const related = ids.map(
    (id) =>
      `<Relationship Id="rId${id}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${id}.xml"/>`,
  )
  const typed = ids.map(
    (id) =>
      `<Override PartName="/xl/worksheets/sheet${id}.xml" ContentType="${CONTENT}.worksheet+xml"/>`,
  )
  return [
    [
      'xl/workbook.xml',
      `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${listed.join('')}</sheets></workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${related.join('')}</Relationships>`,
    ],
    [
      '_rels/.rels',
      `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    ],
    [
      '[Content_Types].xml',
      `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${CONTENT}.sheet.main+xml"/>${typed.join('')}</Types>`,
    ],
  ]
}
