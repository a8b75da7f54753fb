/** Reads files for an import: our exports, and events as SDKs send them; NDJSON, JSON or Parquet, gzipped or not. */

import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { isObject } from '../json.ts'
import { textLiteral } from '../storage/duckdb/duckdb-text.ts'
import { isIncomplete } from '../storage/process/incomplete-marker.ts'
import { formatLines } from './export-formats.ts'
import { BackupFault } from './fill-folder.ts'

export type ImportFile = {
  readonly path: string
  readonly bytes: number
  readonly format: ImportFormat
}

/** An event in the shape of `/batch/`. */
export type ImportedEvent = Readonly<Record<string, unknown>>

/** One line or row of a file: an event, or the events that create a person. */
export type FileRecord = {
  readonly events: (number: number) => readonly ImportedEvent[]
  /** Its approximate size in the file, in bytes. */
  readonly bytes: number
}

type ImportFormat = 'json' | 'jsonl' | 'parquet'

/** Longer lines are refused. */
const LINE_LENGTH_MAX = 32 * 1024 * 1024
/** Maximum size of a file with one JSON text, which is read whole. */
const JSON_BYTES_MAX = 512 * 1024 * 1024
/** DuckDB would read every file that such a name matches. */
const PATTERN = /[*?[]/
const MEMORY_MB = 1024

const FORMATS: readonly (readonly [RegExp, ImportFormat])[] = [
  [/\.(jsonl|ndjson)(\.gz)?$/, 'jsonl'],
  [/\.json(\.gz)?$/, 'json'],
  [/\.parquet$/, 'parquet'],
]

/**
 * The files of these paths, of folders in the order of their names with persons last. Throws a BackupFault for what
 * is not there or has a name that says nothing, for what is no plain file, and for links in folders.
 */
export function listImportFiles(paths: readonly string[]): readonly ImportFile[] {
  return paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) throw new BackupFault(`${path} is not there`)
    if (!stat.isDirectory()) return [importFile(path, stat)]
    if (isIncomplete(path)) throw new BackupFault(`${path} is an export that was cut off`)
    const names = readdirSync(path).filter((name) => formatOf(name) !== null)
    const ordered = [
      ...names.filter((name) => !isPersons(name)).toSorted(),
      ...names.filter(isPersons).toSorted(),
    ]
    // A link in a folder of another user may lead to files that only this user can read.
    return ordered.map((name) => importFile(join(path, name), lstatSync(join(path, name))))
  })
}

const isPersons = (name: string): boolean => name.startsWith('persons')

function importFile(path: string, stat: Stats): ImportFile {
  const format = formatOf(path)
  if (format === null) {
    throw new BackupFault(`${path} is named neither .jsonl, .ndjson, .json nor .parquet`)
  }
  if (!stat.isFile()) throw new BackupFault(`${path} is a link or no plain file`)
  if (format === 'json' && stat.size > JSON_BYTES_MAX) throw tooLarge(path)
  if (format === 'parquet' && PATTERN.test(path)) {
    throw new BackupFault(`${path} has *, ? or [ in its name: rename it`)
  }
  return { path, bytes: stat.size, format }
}

const tooLarge = (path: string): BackupFault =>
  new BackupFault(`${path} has more than ${JSON_BYTES_MAX} bytes of JSON: write one event per line`)

const formatOf = (name: string): ImportFormat | null =>
  FORMATS.find(([pattern]) => pattern.test(name))?.[1] ?? null

/** The records of a file, in its order. Throws a BackupFault that names the record that cannot be read. */
export async function* readRecords(file: ImportFile): AsyncGenerator<FileRecord> {
  if (file.format === 'json') {
    yield* readWhole(file)
    return
  }
  const lines = file.format === 'jsonl' ? linesIn(file) : rowsIn(file)
  for await (const line of lines) {
    if (line.trim() === '') continue
    yield {
      bytes: Buffer.byteLength(line) + 1,
      events: (number) => eventsOf(parse(line, file, number), line, { path: file.path, number }),
    }
  }
}

/** One JSON text: an event, a list of them, or the body of a request. */
function* readWhole(file: ImportFile): Generator<FileRecord> {
  const raw = readFileSync(file.path)
  const text = (file.path.endsWith('.gz') ? gunzip(raw, file) : raw).toString()
  const value = parse(text, file, 1)
  const batch = isObject(value) ? (value['batch'] ?? [value]) : value
  if (!Array.isArray(batch)) throw new BackupFault(`${file.path} holds no events`)
  const items: readonly unknown[] = batch
  for (const item of items) {
    yield {
      bytes: file.bytes / items.length,
      events: (number) => eventsOf(item, JSON.stringify(item), { path: file.path, number }),
    }
  }
}

function gunzip(raw: Buffer, { path }: ImportFile): Buffer {
  try {
    return gunzipSync(raw, { maxOutputLength: JSON_BYTES_MAX })
  } catch (error) {
    const is_too_large = error instanceof RangeError
    throw is_too_large ? tooLarge(path) : new BackupFault(`${path} is not gzipped`)
  }
}

async function* linesIn({ path }: ImportFile): AsyncGenerator<string> {
  const raw = Bun.file(path).stream()
  const bytes = path.endsWith('.gz') ? raw.pipeThrough(new DecompressionStream('gzip')) : raw
  const decoder = new TextDecoder()
  /** The pieces of an incomplete line, joined once at its end, so that a long line is not copied per piece. */
  let begun: string[] = []
  let length = 0
  for await (const bytes_read of bytes) {
    const [first = '', ...others] = decoder.decode(bytes_read, { stream: true }).split('\n')
    begun.push(first)
    length += first.length
    if (length > LINE_LENGTH_MAX) {
      throw new BackupFault(`${path} has a line of more than ${LINE_LENGTH_MAX} characters`)
    }
    const last = others.pop()
    if (last === undefined) continue
    yield begun.join('')
    yield* others
    begun = [last]
    length = last.length
  }
  const rest = begun.join('') + decoder.decode()
  if (rest !== '') yield rest
}

/** Converts rows to the lines that an NDJSON export has. */
async function* rowsIn({ path }: ImportFile): AsyncGenerator<string> {
  const { openInstance } = await import('../storage/duckdb/duckdb.ts')
  const instance = await openInstance({ memory_mb: MEMORY_MB, threads: 1, spill_dir: '' })
  const connection = await instance.connect()
  try {
    yield* formatLines(connection, `select * from read_parquet(${textLiteral(path)})`)
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

function parse(text: string, file: ImportFile, number: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BackupFault(`${file.path}, record ${number}: not JSON`)
  }
}

/** Members of exported events that are not sent, because the server computes them. */
const WORKED_OUT = /^(person_id|person_mode|created_at|elements_chain|group_[0-4])$/

/** The position of a record. */
type RecordPosition = { readonly path: string; readonly number: number }

function eventsOf(value: unknown, text: string, place: RecordPosition): readonly ImportedEvent[] {
  if (!isObject(value)) return [{ event: value }]
  const { distinct_ids } = value
  if (Array.isArray(distinct_ids) && value['event'] === undefined) {
    return personEvents(value, distinct_ids.map(String))
  }
  const sent = Object.fromEntries(Object.entries(value).filter(([name]) => !WORKED_OUT.test(name)))
  const { elements_chain } = value
  const has_chain = typeof elements_chain === 'string' && elements_chain !== ''
  const properties = isObject(value['properties']) ? value['properties'] : {}
  return [
    {
      ...sent,
      ...(has_chain ? { properties: { ...properties, $elements_chain: elements_chain } } : {}),
      // Whoever sends the same file again sends the same events; what other files say is something else.
      uuid: value['uuid'] ?? uuidOf(JSON.stringify([resolve(place.path), place.number, text])),
    },
  ]
}

/** A person is what is set, and whose ids are one. */
function personEvents(
  person: ImportedEvent,
  distinct_ids: readonly string[],
): readonly ImportedEvent[] {
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

function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
