/** Sends files of events and persons to a server as a historical migration: in order, exactly once, resumable. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isObject } from '../json.ts'
import { BackupFault } from './fill-folder.ts'
import { type ImportFile, readRecords } from './import-files.ts'
import type { MapRecord } from './sources/source.ts'

type ImportOptions = {
  /** The server's address on this machine. */
  readonly url: string
  readonly api_token: string
  readonly files: readonly ImportFile[]
  /** Reads the records of another tool's files. */
  readonly mapRecord?: MapRecord | null
  /** The file with the progress; deleted at the end. */
  readonly progress_path: string
  /** Called after each batch with the bytes read of all bytes, and the events sent. */
  readonly onProgress: (done: number, all: number, events: number) => void
}

/** Numbers of events sent, of records that an earlier run has sent, and of records that cannot be brought over. */
type ImportTotals = {
  readonly events: number
  readonly records_skipped: number
  readonly left_out: LeftOutCounts
}

/** Records that cannot be brought over, by reason, of all runs of an import. */
type LeftOutCounts = Readonly<Record<string, number>>

/** The progress: stored records of this file, after all files before it. `of` identifies the files. */
type ImportPosition = {
  readonly file: number
  readonly records: number
  readonly of: string
  readonly left_out: LeftOutCounts
}

/** An event as JSON text, and the record that it is from. */
type NumberedEvent = { readonly text: string; readonly record: number }

type ImportBatch = {
  readonly file: ImportFile
  readonly events: readonly NumberedEvent[]
  /** The progress once the batch is stored. */
  readonly place: ImportPosition
  /** Of this file, for the progress. */
  readonly bytes_read: number
  readonly records_skipped: number
}

/** A server stores up to 1000 events or 1 MiB of a request at once; longer requests are written to its journal first. */
export const BATCH_EVENTS = 1000
export const BATCH_BYTES = 768 * 1024
/** The import ends when the server is unreachable or out of disk space for this long; it can be resumed. */
const TRIES_MAX = 60
const RETRY_MS = 1000

/** The certificate of the server here names the address that clients use, not that of this machine. */
export const OWN_MACHINE = { rejectUnauthorized: false } as const

/**
 * Resolves when every event is stored. Rejects with a BackupFault naming file and record when an event is refused, or
 * when the server cannot be reached; events stored by then are skipped the next time.
 */
export async function importFiles(options: ImportOptions): Promise<ImportTotals> {
  const { files, progress_path, onProgress } = options
  const begun = readPlace(progress_path, nameOf(files))
  let { left_out } = begun
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let events = 0
  let records_skipped = 0
  const refused = new Map<string, number>()
  const store = async (batch: ImportBatch): Promise<void> => {
    const stored = await sendBatch(options, batch, refused)
    left_out = addCounts(batch.place.left_out, refused)
    writePlace(progress_path, { ...batch.place, left_out })
    events += stored
    records_skipped += batch.records_skipped
    const index = files.indexOf(batch.file)
    const before = files.slice(0, index).reduce((sum, { bytes }) => sum + bytes, 0)
    onProgress(before + Math.min(batch.bytes_read, batch.file.bytes), all, events)
  }
  // One batch is stored while the next is read. Requests stay in order: the last value of a property must arrive last.
  let storing = Promise.resolve()
  try {
    for await (const batch of batchesOf(options, begun)) {
      await storing
      storing = store(batch)
      // It is awaited above or below. Without this handler an earlier failure would count as unhandled.
      storing.catch(() => undefined)
    }
  } finally {
    await storing
  }
  rmSync(progress_path, { force: true })
  return { events, records_skipped, left_out }
}

async function* batchesOf(
  { files, mapRecord = null }: ImportOptions,
  begun: ImportPosition,
): AsyncGenerator<ImportBatch> {
  const left_out = new Map(Object.entries(begun.left_out))
  for (const [index, file] of files.entries()) {
    if (index < begun.file) continue
    const records = index === begun.file ? begun.records : 0
    yield* batchesOfFile(file, { ...begun, file: index, records }, { mapRecord, left_out })
  }
}

/** The function that turns records into events, and counts by reason of records that it leaves out. */
type RecordMapping = {
  readonly mapRecord: MapRecord | null
  readonly left_out: Map<string, number>
}

async function* batchesOfFile(
  file: ImportFile,
  begun: ImportPosition,
  { mapRecord, left_out }: RecordMapping,
): AsyncGenerator<ImportBatch> {
  let events: NumberedEvent[] = []
  let bytes_read = 0
  let bytes_sent = 0
  let records = 0
  for await (const read of readRecords(file, mapRecord)) {
    for (const record of read) {
      records += 1
      bytes_read += record.bytes
      if (records <= begun.records) continue
      const made = record.events(records)
      if ('reason' in made) countReason(left_out, made.reason)
      const texts = 'reason' in made ? [] : made
      for (const text of texts) events.push({ text, record: records })
      if (events.length < BATCH_EVENTS && bytes_read - bytes_sent < BATCH_BYTES) continue
      const place = { ...begun, records, left_out: Object.fromEntries(left_out) }
      yield { file, events, place, bytes_read, records_skipped: 0 }
      events = []
      bytes_sent = bytes_read
    }
  }
  const counts = Object.fromEntries(left_out)
  const place = { ...begun, file: begun.file + 1, records: 0, left_out: counts }
  const records_skipped = Math.min(records, begun.records)
  yield { file, events, place, bytes_read: file.bytes, records_skipped }
}

/** The most reasons that are kept: some contain values of the file, so each may differ. */
const REASONS_MAX = 100

function countReason(left_out: Map<string, number>, reason: string): void {
  const named = left_out.has(reason) || left_out.size < REASONS_MAX ? reason : 'other reasons'
  left_out.set(named, (left_out.get(named) ?? 0) + 1)
}

/** The counts of both, by reason. */
function addCounts(counts: LeftOutCounts, more: ReadonlyMap<string, number>): LeftOutCounts {
  const sums = new Map(Object.entries(counts))
  for (const [reason, count] of more) sums.set(reason, (sums.get(reason) ?? 0) + count)
  return Object.fromEntries(sums)
}

type EventsOfFile = Pick<ImportBatch, 'events' | 'file'>

/**
 * Sends events, and returns the number of those that are stored. Bisects a refused batch, to find the event at fault. A
 * bad event of another tool is counted and left out; a bad event in our own format ends the import, since its file can
 * be mended.
 */
async function sendBatch(
  options: ImportOptions,
  { file, events }: EventsOfFile,
  refused: Map<string, number>,
): Promise<number> {
  if (events.length === 0) return 0
  const texts = events.map(({ text }) => text)
  const refusal = await sendEvents(options, texts)
  if (refusal === null) return events.length
  if (events.length > 1) {
    const half = Math.ceil(events.length / 2)
    const first = await sendBatch(options, { file, events: events.slice(0, half) }, refused)
    return first + (await sendBatch(options, { file, events: events.slice(half) }, refused))
  }
  if (options.mapRecord === undefined || options.mapRecord === null) {
    throw new BackupFault(`${file.path}, record ${events[0]?.record}: ${refusal}`)
  }
  countReason(refused, `refused: ${refusal}`)
  return 0
}

/** Sends events; returns the reason of a refusal, or null. */
export async function sendEvents(
  { url, api_token }: Pick<ImportOptions, 'api_token' | 'url'>,
  batch: readonly string[],
): Promise<string | null> {
  const body = `{"api_key":${JSON.stringify(api_token)},"historical_migration":true,"batch":[${batch.join(',')}]}`
  for (let tries = 1; ; tries++) {
    const answer = await fetch(`${url}/batch/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
      tls: OWN_MACHINE,
    }).catch(() => null)
    if (answer?.ok === true) return null
    if (answer !== null && answer.status < 500 && answer.status !== 429) {
      return wordsOfRefusal(await answer.text())
    }
    if (tries === TRIES_MAX) throw new BackupFault(`${url} does not take events`)
    await Bun.sleep(RETRY_MS)
  }
}

/** The `detail` of a refusal, or all of its text. */
function wordsOfRefusal(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) && typeof body['detail'] === 'string' ? body['detail'] : text
  } catch {
    return text
  }
}

/** The same files in the same order, as far as their names and sizes tell. */
function nameOf(files: readonly ImportFile[]): string {
  const hash = createHash('sha256')
  for (const { path, bytes } of files) hash.update(JSON.stringify([path, bytes]))
  return hash.digest('hex')
}

function readPlace(path: string, of: string): ImportPosition {
  const nowhere = { file: 0, records: 0, of, left_out: {} }
  if (!existsSync(path)) return nowhere
  try {
    const place = JSON.parse(readFileSync(path, 'utf8')) as ImportPosition | null
    return place?.of === of ? { ...nowhere, ...place } : nowhere
  } catch {
    // Truncated by a power cut: everything is sent again, and stored once by uuid.
    return nowhere
  }
}

function writePlace(path: string, place: ImportPosition): void {
  writeFileSync(`${path}.new`, JSON.stringify(place))
  renameSync(`${path}.new`, path)
}
