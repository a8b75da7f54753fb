/**
 * Reads files for an import: our exports, events as SDKs send them, and other tools' exports; NDJSON, JSON, CSV or
 * Parquet, gzipped or not.
 */

import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { isObject } from '../json.ts'
import { textLiteral } from '../storage/duckdb/duckdb-text.ts'
import { isIncomplete } from '../storage/process/incomplete-marker.ts'
import { parseUuid } from '../uuid.ts'
import { streamLines } from './export-formats.ts'
import { BackupFault } from './fill-folder.ts'
import { type JSONObject, type MapRecord, uuidOf } from './sources/source.ts'

export type ImportFile = {
  readonly path: string
  readonly bytes: number
  readonly format: ImportFormat
}

/** One line or row of a file: an event, or the events that create a person. */
type FileRecord = {
  /**
   * Returns the record's events as JSON texts in the shape of `/batch/`, or the reason why it is left out; `number` is the
   * record's position in the file, from 1.
   */
  readonly events: (number: number) => readonly string[] | LeftOut
  /** Its approximate size in the file, in bytes. */
  readonly bytes: number
}

/** A record of another tool that cannot be brought over, with the reason. */
type LeftOut = { readonly reason: string }

type ImportFormat = 'csv' | 'json' | 'jsonl' | 'parquet'

/** Longer lines are refused. */
const LINE_LENGTH_MAX = 32 * 1024 * 1024
/** Maximum size of a file with one JSON text, which is read whole. */
const JSON_BYTES_MAX = 512 * 1024 * 1024
/** Characters of a file's name that DuckDB takes for a pattern: it would read every file that matches. */
const PATTERN = /[*?[]/
const MEMORY_MB = 1024

const FORMATS: readonly (readonly [RegExp, ImportFormat])[] = [
  [/\.(jsonl|ndjson)(\.gz)?$/, 'jsonl'],
  [/\.json(\.gz)?$/, 'json'],
  [/\.parquet$/, 'parquet'],
  [/\.csv(\.gz)?$/, 'csv'],
]

/**
 * Lists the files of these paths, of folders in the order of their names with persons last. Throws a BackupFault for
 * missing files, unknown endings of names, special files, and links in folders.
 * `has_lines`: a .json file has one record per line, as other tools write it.
 */
export function listImportFiles(
  paths: readonly string[],
  has_lines = false,
): readonly ImportFile[] {
  return paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) throw new BackupFault(`${path} does not exist`)
    if (!stat.isDirectory()) return [importFile(path, stat, has_lines)]
    if (isIncomplete(path)) throw new BackupFault(`${path} is an export that was cut off`)
    const names = readdirSync(path).filter((name) => formatOf(name) !== null)
    const ordered = [
      ...names.filter((name) => !isPersons(name)).toSorted(),
      ...names.filter(isPersons).toSorted(),
    ]
    // A link in a folder of another user may lead to files that only this user can read.
    return ordered.map((name) =>
      importFile(join(path, name), lstatSync(join(path, name)), has_lines),
    )
  })
}

const isPersons = (name: string): boolean => name.startsWith('persons')

function importFile(path: string, stat: Stats, has_lines: boolean): ImportFile {
  const named = formatOf(path)
  const format = has_lines && named === 'json' ? 'jsonl' : named
  if (format === null) {
    const hint = path.endsWith('.zip') ? ': unpack it, and name the folder' : ''
    throw new BackupFault(
      `${path} is named neither .jsonl, .ndjson, .json, .csv nor .parquet${hint}`,
    )
  }
  if (!stat.isFile()) throw new BackupFault(`${path} is a link, or not a regular file`)
  if (format === 'json' && stat.size > JSON_BYTES_MAX) throw tooLarge(path)
  if ((format === 'parquet' || format === 'csv') && PATTERN.test(path)) {
    throw new BackupFault(`${path} has *, ? or [ in its name: rename it`)
  }
  return { path, bytes: stat.size, format }
}

const tooLarge = (path: string): BackupFault =>
  new BackupFault(`${path} has more than ${JSON_BYTES_MAX} bytes of JSON: write one event per line`)

const formatOf = (name: string): ImportFormat | null =>
  FORMATS.find(([pattern]) => pattern.test(name))?.[1] ?? null

/**
 * The records of a file, in its order, as many at once as were read together: an asynchronous step per record would cost
 * as much as parsing it. `mapRecord` reads another tool's records; null for ours and for events as SDKs send them. Throws a
 * BackupFault that names the record that cannot be read.
 */
export async function* readRecords(
  file: ImportFile,
  mapRecord: MapRecord | null,
): AsyncGenerator<readonly FileRecord[]> {
  if (file.format === 'json') {
    yield readWhole(file)
    return
  }
  if (file.format === 'csv' && mapRecord === null) {
    throw new BackupFault(`${file.path}: say with --from which tool wrote it`)
  }
  const toEvents = mapRecord === null ? parsedEvents(file) : mappedEvents(mapRecord)
  const read = file.format === 'jsonl' ? linesIn(file) : rowsIn(file)
  for await (const lines of read) {
    const records: FileRecord[] = []
    for (const line of lines) {
      if (line.trim() === '') continue
      records.push({
        bytes: Buffer.byteLength(line) + 1,
        events: (number) => toEvents(line, { path: file.path, number }),
      })
    }
    yield records
  }
}

/** One JSON text: an event, a list of them, or the body of a request. */
function readWhole(file: ImportFile): readonly FileRecord[] {
  const raw = readFileSync(file.path)
  const bytes = file.path.endsWith('.gz') ? gunzip(raw, file) : raw
  // A TextDecoder leaves out the byte order mark that Windows' editors write.
  const value = parse(new TextDecoder().decode(bytes), file, 1)
  const batch = isObject(value) ? (value['batch'] ?? [value]) : value
  if (!Array.isArray(batch)) throw new BackupFault(`${file.path} holds no events`)
  const items: readonly unknown[] = batch
  return items.map((item) => ({
    bytes: file.bytes / items.length,
    events: (number) => eventsOf(item, JSON.stringify(item), { path: file.path, number }),
  }))
}

function gunzip(raw: Buffer, { path }: ImportFile): Buffer {
  try {
    return gunzipSync(raw, { maxOutputLength: JSON_BYTES_MAX })
  } catch (error) {
    const is_too_large = error instanceof RangeError
    throw is_too_large ? tooLarge(path) : new BackupFault(`${path} is not gzipped`)
  }
}

async function* linesIn({ path }: ImportFile): AsyncGenerator<readonly string[]> {
  const raw = Bun.file(path).stream()
  const bytes = path.endsWith('.gz') ? raw.pipeThrough(new DecompressionStream('gzip')) : raw
  const decoder = new TextDecoder()
  /** The pieces of an incomplete line, joined once at its end, so that a long line is not copied per piece. */
  let begun: string[] = []
  let length = 0
  for await (const bytes_read of readStream(bytes, path)) {
    const [first = '', ...others] = decoder.decode(bytes_read, { stream: true }).split('\n')
    begun.push(first)
    length += first.length
    if (length > LINE_LENGTH_MAX) {
      throw new BackupFault(`${path} has a line of more than ${LINE_LENGTH_MAX} characters`)
    }
    const last = others.pop()
    if (last === undefined) continue
    yield [begun.join(''), ...others]
    begun = [last]
    length = last.length
  }
  const rest = begun.join('') + decoder.decode()
  if (rest !== '') yield [rest]
}

/** The pieces of a stream. Throws a BackupFault where they are not gzipped, or end early. */
async function* readStream(
  bytes: ReadableStream<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new BackupFault(`${path} is not gzipped, or damaged: ${error.message}`)
  }
}

/**
 * Converts rows to the lines that an NDJSON export has; every value of a CSV file is text, an empty one is left out. Rows of
 * a CSV file that cannot be read come last, each as a line that is not JSON.
 */
async function* rowsIn({ path, format }: ImportFile): AsyncGenerator<readonly string[]> {
  const table =
    format === 'parquet'
      ? `read_parquet(${textLiteral(path)})`
      : `read_csv(${textLiteral(path)}, ${CSV_OPTIONS})`
  const { openInstance } = await import('../storage/duckdb/duckdb.ts')
  const instance = await openInstance({ memory_mb: MEMORY_MB, threads: 1, spill_dir: '' })
  const connection = await instance.connect()
  try {
    yield* streamLines(connection, `select * from ${table}`)
    if (format !== 'csv') return
    const rejected = await connection.runAndReadAll(REJECTED_ROWS)
    for (const [count] of rejected.getRows()) {
      for (let row = 0; row < Number(count); row++) yield ['no JSON']
    }
  } catch (error) {
    const [words = ''] = error instanceof Error ? error.message.split('\n', 1) : []
    throw new BackupFault(`${path} cannot be read: ${words.slice(0, WORDS_LENGTH_MAX)}`)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Rows that lack columns have empty ones; others that do not fit are counted in `reject_errors`. */
const CSV_OPTIONS = `header = true, all_varchar = true, delim = ',', quote = '"', escape = '"', null_padding = true, parallel = false,
ignore_errors = true, store_rejects = true, rejects_limit = 0, max_line_size = ${LINE_LENGTH_MAX}, buffer_size = ${LINE_LENGTH_MAX * 2}`
const REJECTED_ROWS = 'select count(distinct line) from reject_errors'
const WORDS_LENGTH_MAX = 300

function parse(text: string, file: ImportFile, number: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BackupFault(`${file.path}, record ${number}: not JSON`)
  }
}

/** Members of exported events that are not sent, because the server computes them. */
const WORKED_OUT: ReadonlySet<string> = new Set([
  'person_id',
  'person_mode',
  'created_at',
  'elements_chain',
  ...[0, 1, 2, 3, 4].map((index) => `group_${index}`),
])

/** The position of a record. */
type RecordPosition = { readonly path: string; readonly number: number }

const UNREADABLE = 'a line or row that cannot be read'

/** The events of a line of our own format, in which a line that is not JSON ends the import. */
function parsedEvents(file: ImportFile) {
  return (text: string, place: RecordPosition): readonly string[] => {
    try {
      return eventsOf(parse(text, file, place.number), text, place)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new BackupFault(`${file.path}, record ${place.number}: nested too deeply`)
    }
  }
}

/** Another tool's records as events. A record that cannot be read is left out. */
function mappedEvents(mapRecord: MapRecord) {
  return (text: string, place: RecordPosition): readonly string[] | LeftOut => {
    try {
      const value: unknown = JSON.parse(text)
      const events = isObject(value) ? mapRecord(value) : 'not a JSON object'
      if (typeof events === 'string') return { reason: events }
      return events.map((event) => JSON.stringify({ ...event, uuid: uuidIn(event, text, place) }))
    } catch (error) {
      if (error instanceof SyntaxError) return { reason: UNREADABLE }
      if (error instanceof RangeError) return { reason: 'nested too deeply' }
      throw error
    }
  }
}

/** The uuid of an event, or one of its position where the tool's id is none. */
function uuidIn(event: JSONObject, text: string, place: RecordPosition): string {
  const { uuid } = event
  return typeof uuid === 'string' && parseUuid(uuid) !== null ? uuid : placeUuid(text, place)
}

function eventsOf(value: unknown, text: string, place: RecordPosition): readonly string[] {
  if (!isObject(value)) return [JSON.stringify({ event: value })]
  const { distinct_ids } = value
  if (Array.isArray(distinct_ids) && value['event'] === undefined) {
    return personEvents(value, distinct_ids.map(String)).map((event) => JSON.stringify(event))
  }
  const names = Object.keys(value)
  const uuid = value['uuid'] ?? null
  // An event that is sent as it is needs no second serialization, which costs as much as parsing.
  if (uuid !== null && !names.some((name) => WORKED_OUT.has(name))) return [text]
  const sent = Object.fromEntries(
    names.filter((name) => !WORKED_OUT.has(name)).map((name) => [name, value[name]]),
  )
  const { elements_chain } = value
  if (typeof elements_chain === 'string' && elements_chain !== '') {
    const properties = isObject(value['properties']) ? value['properties'] : {}
    sent['properties'] = { ...properties, $elements_chain: elements_chain }
  }
  sent['uuid'] = uuid ?? placeUuid(text, place)
  return [JSON.stringify(sent)]
}

/** The events of an exported person: one sets its properties, others merge its distinct ids. */
function personEvents(person: JSONObject, distinct_ids: readonly string[]): readonly JSONObject[] {
  const [distinct_id, ...others] = distinct_ids
  if (distinct_id === undefined) return []
  const at = { distinct_id, timestamp: person['created_at'] }
  const uuid = (of: string): string => uuidOf(`${String(person['id'])} ${of}`)
  return [
    { ...at, event: '$set', uuid: uuid('set'), properties: { $set: person['properties'] ?? {} } },
    ...others.map((alias) => ({
      ...at,
      event: '$merge_dangerously',
      uuid: uuid(`merge ${alias}`),
      properties: { alias },
    })),
  ]
}

/** The same file gives the same uuids each time, so that its events are stored once; other files give others. */
const placeUuid = (text: string, { path, number }: RecordPosition): string =>
  uuidOf(JSON.stringify([resolve(path), number, text]))
