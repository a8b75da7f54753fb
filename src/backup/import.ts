/** Sends files of events and persons to a server as a historical migration: in order, exactly once, resumable. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { BackupFault } from './fill-folder.ts'
import { type ImportedEvent, type ImportFile, readRecords } from './import-files.ts'

export type ImportOptions = {
  /** The server's URL. */
  readonly url: string
  readonly api_token: string
  readonly files: readonly ImportFile[]
  /** The file with the progress; deleted at the end. */
  readonly progress_path: string
  /** Called after each batch with the bytes read of all bytes, and the events sent. */
  readonly tell: (done: number, all: number, events: number) => void
}

/** Numbers of events sent, and of records that an earlier import has sent. */
export type Imported = { readonly events: number; readonly records_skipped: number }

/** The progress: stored records of this file, after all files before it. `of` identifies the files. */
type ImportPosition = { readonly file: number; readonly records: number; readonly of: string }

type NumberedEvent = { readonly event: ImportedEvent; readonly record: number }

type ImportBatch = {
  readonly file: ImportFile
  readonly events: readonly NumberedEvent[]
  /** The progress once the batch is stored. */
  readonly place: ImportPosition
  /** Of this file, for the progress. */
  readonly bytes_read: number
  readonly records_skipped: number
}

const BATCH_EVENTS = 1000
const BATCH_BYTES = 4 * 1024 * 1024
/** The import ends when the server is unreachable or out of disk space for this long; it can be resumed. */
const TRIES_MAX = 60
const RETRY_MS = 1000

/**
 * Resolves when every event is stored. Rejects with a BackupFault naming file and record when an event is refused, or
 * when the server cannot be reached; what was stored by then is skipped the next time.
 */
export async function importFiles(options: ImportOptions): Promise<Imported> {
  const { files, progress_path, tell } = options
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let events = 0
  let records_skipped = 0
  for await (const batch of batchesOf(files, readPlace(progress_path, nameOf(files)))) {
    await sendBatch(options, batch.file, batch.events)
    writePlace(progress_path, batch.place)
    events += batch.events.length
    records_skipped += batch.records_skipped
    const index = files.indexOf(batch.file)
    const before = files.slice(0, index).reduce((sum, { bytes }) => sum + bytes, 0)
    tell(before + Math.min(batch.bytes_read, batch.file.bytes), all, events)
  }
  rmSync(progress_path, { force: true })
  return { events, records_skipped }
}

async function* batchesOf(
  files: readonly ImportFile[],
  begun: ImportPosition,
): AsyncGenerator<ImportBatch> {
  for (const [index, file] of files.entries()) {
    if (index < begun.file) continue
    yield* batchesOfFile(file, index, {
      ...begun,
      records: index === begun.file ? begun.records : 0,
    })
  }
}

async function* batchesOfFile(
  file: ImportFile,
  index: number,
  begun: ImportPosition,
): AsyncGenerator<ImportBatch> {
  let events: NumberedEvent[] = []
  let bytes_read = 0
  let bytes_sent = 0
  let records = 0
  for await (const record of readRecords(file)) {
    records += 1
    bytes_read += record.bytes
    if (records <= begun.records) continue
    for (const event of record.events(records)) events.push({ event, record: records })
    if (events.length < BATCH_EVENTS && bytes_read - bytes_sent < BATCH_BYTES) continue
    yield {
      file,
      events,
      place: { ...begun, file: index, records },
      bytes_read,
      records_skipped: 0,
    }
    events = []
    bytes_sent = bytes_read
  }
  const place = { ...begun, file: index + 1, records: 0 }
  const records_skipped = Math.min(records, begun.records)
  yield { file, events, place, bytes_read: file.bytes, records_skipped }
}

/** Bisects a refused batch, to name the event at fault. */
async function sendBatch(
  options: ImportOptions,
  file: ImportFile,
  events: readonly NumberedEvent[],
): Promise<void> {
  if (events.length === 0) return
  const refused = await send(
    options,
    events.map(({ event }) => event),
  )
  if (refused === null) return
  if (events.length === 1) {
    throw new BackupFault(`${file.path}, record ${events[0]?.record}: ${refused}`)
  }
  const half = Math.ceil(events.length / 2)
  await sendBatch(options, file, events.slice(0, half))
  await sendBatch(options, file, events.slice(half))
}

/** Sends events; returns the reason of a refusal, or null. */
async function send(
  { url, api_token }: ImportOptions,
  batch: readonly ImportedEvent[],
): Promise<string | null> {
  const body = JSON.stringify({ api_key: api_token, historical_migration: true, batch })
  for (let tries = 1; ; tries++) {
    const answer = await fetch(`${url}/batch/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    }).catch(() => null)
    if (answer?.ok === true) return null
    if (answer !== null && answer.status < 500 && answer.status !== 429) return answer.text()
    if (tries === TRIES_MAX) throw new BackupFault(`${url} does not take events`)
    await Bun.sleep(RETRY_MS)
  }
}

/** The same files in the same order, as far as their names and sizes tell. */
function nameOf(files: readonly ImportFile[]): string {
  const hash = createHash('sha256')
  for (const { path, bytes } of files) hash.update(JSON.stringify([path, bytes]))
  return hash.digest('hex')
}

function readPlace(path: string, of: string): ImportPosition {
  const nowhere = { file: 0, records: 0, of }
  if (!existsSync(path)) return nowhere
  try {
    const place = JSON.parse(readFileSync(path, 'utf8')) as ImportPosition | null
    return place?.of === of ? place : nowhere
  } catch {
    // Truncated by a power cut: everything is sent again, and stored once by uuid.
    return nowhere
  }
}

function writePlace(path: string, place: ImportPosition): void {
  writeFileSync(`${path}.new`, JSON.stringify(place))
  renameSync(`${path}.new`, path)
}
