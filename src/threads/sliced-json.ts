/** Long JSON arrays, read and written in slices of the event loop, so that other requests pass between. */
import { Slices } from './slices.ts'

/** Bytes that are parsed or written between two looks at the clock. Shorter arrays are read at once. */
const PART_BYTES = 64 * 1024

/** Ends a row in the arrays of the query process. No JSON text contains a bare newline: it is escaped there. */
export const ROW_END = ',\n'

/**
 * Parses a JSON array as UTF-8, in slices where its items end with `ROW_END`. An array without them is parsed at once.
 */
export async function parseRows<Row>(json: Uint8Array): Promise<Row[]> {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.length)
  if (bytes.length <= PART_BYTES) return JSON.parse(bytes.toString())
  const slices = new Slices()
  const rows: Row[] = []
  for (let start = '['.length; start < bytes.length; ) {
    const found = bytes.indexOf(ROW_END, start + PART_BYTES)
    const end = found === -1 ? bytes.length - ']'.length : found
    const part: Row[] = JSON.parse(`[${bytes.toString('utf8', start, end)}]`)
    for (const row of part) rows.push(row)
    start = end + ROW_END.length
    if (slices.isOver()) await slices.end()
  }
  return rows
}

/** Maps a long list in slices. */
export async function mapInSlices<From, To>(
  items: readonly From[],
  map: (item: From) => To,
): Promise<To[]> {
  const slices = new Slices()
  const result: To[] = []
  for (const item of items) {
    result.push(map(item))
    if (slices.isOver()) await slices.end()
  }
  return result
}

/**
 * Reads rows by their ids in slices, since together they may be megabytes of JSON. Rows that were deleted meanwhile are
 * left out.
 */
export async function readOneByOne<Key, Row>(
  keys: readonly Key[],
  read: (key: Key) => Row | undefined,
): Promise<readonly Row[]> {
  const rows = await mapInSlices(keys, read)
  return rows.flatMap((row) => (row === undefined ? [] : [row]))
}

/** Reads pages of rows in slices; `pageAfter` returns the next `rows` of them after the last one that was read. */
export async function readPages<Row>(
  pageAfter: (last: Row | null) => readonly Row[],
  rows: number,
): Promise<readonly Row[]> {
  const result: Row[] = []
  const slices = new Slices()
  for (;;) {
    const page = pageAfter(result.at(-1) ?? null)
    for (const row of page) result.push(row)
    if (page.length < rows) return result
    if (slices.isOver()) await slices.end()
  }
}

/**
 * Writes a JSON array in slices, as parts that follow one another; `write` makes JSON of an item, in parts too. With the
 * brackets of an object, items are its members.
 */
export async function writeArray<Item>(
  items: readonly Item[],
  write: (item: Item) => Iterable<Uint8Array | string> = (item) => [JSON.stringify(item) ?? 'null'],
  [open, close]: readonly [string, string] = ['[', ']'],
): Promise<readonly Uint8Array[]> {
  const slices = new Slices()
  const parts: Uint8Array[] = []
  let text = open
  const flush = (): void => {
    parts.push(Buffer.from(text))
    text = ''
  }
  for (const [index, item] of items.entries()) {
    if (index > 0) text += ','
    for (const part of write(item)) {
      if (typeof part === 'string') text += part
      else {
        flush()
        parts.push(part)
      }
    }
    if (text.length >= PART_BYTES) flush()
    if (slices.isOver()) await slices.end()
  }
  text += close
  flush()
  return parts
}
