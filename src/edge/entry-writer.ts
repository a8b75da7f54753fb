/** Group commit of an edge: requests pass the pipeline as at home, and accepted events are appended as entries. */
import { statfsSync } from 'node:fs'
import { MIB } from '../bytes.ts'
import { errorMessage } from '../error-message.ts'
import { DecodeQueue, failureOf } from '../ingest/threads/decode-queue.ts'
import {
  type DecodeContext,
  type DecodeJob,
  finishDecodeJob,
} from '../ingest/threads/decode-request.ts'
import {
  type PackedRequestRest,
  type PackedSlice,
  packSlice,
  unpackRest,
} from '../ingest/threads/event-packing.ts'
import { isTooLarge, printEntry } from '../ingest/threads/forwarded-entry.ts'
import {
  type CaptureAnswer,
  type CommittedAnswers,
  type NumberedAnswer,
  type NumberedCapture,
  refuseForFault,
} from '../ingest/threads/messages.ts'
import { faultOf } from '../ingest/threads/storage-faults.ts'
import type { EdgeEntries, MovedEntries, NewEntry } from '../storage/log/edge-entries.ts'
import type { EventLog } from '../storage/log/event-log.ts'
import { type OwnOverride, storeOwnOverrides } from '../storage/persons/edge-persons.ts'
import type { OverrideRow } from '../storage/persons/flag-rows.ts'
import { makeUuid } from '../uuid.ts'

/** Requests of one commit: bounds how long their answers wait. */
const REQUESTS_MAX = 2000
/** A commit takes no further request after this time. */
const COMMIT_MS_MAX = 20
/** Confirmed entries deleted per transaction: requests wait a few milliseconds for one. */
const CONFIRMED_TOGETHER_MAX = 1000

/**
 * Free bytes of the disk, or the share of a small disk, below which requests are refused. Deleting what is at home needs
 * room in the write-ahead log, which starts over at 64 MiB, and a checkpoint some in the database file: an edge that had
 * filled its disk stayed full after its home was back.
 */
const FREE_BYTES_MIN = 128 * MIB
const FREE_SHARE_MIN = 0.25

/** The home would refuse the entry, and all later ones would wait behind it. */
const TOO_LARGE: CaptureAnswer = {
  kind: 'refused',
  code: 'request_too_large',
  detail: 'The events have too many objects and lists, or what they change is too long.',
  attr: null,
}

type EntryWriterContext = DecodeContext & {
  readonly data_dir: string
  readonly log: EventLog
  readonly entries: EdgeEntries
  /** The most bytes that may wait. */
  readonly bytes_max: number
  readonly answer: (committed: CommittedAnswers) => void
  readonly breakDown: (message: string) => void
}

/** A decoded request: its slices of events, and its counts, warnings and names. */
type DecodedRequest = {
  readonly id: number
  readonly slices: readonly PackedSlice[]
  readonly rest: PackedRequestRest
}

type Confirmation = { readonly epoch: string; readonly up_to_seq: number }

/** The requests that are not answered yet. `turn` does a bounded amount of work on them. */
export class EntryWriter {
  readonly #context: EntryWriterContext
  readonly #decoder: DecodeQueue
  /** Slices of requests of which more are to come. */
  readonly #arriving = new Map<number, PackedSlice[]>()
  #waiting: DecodedRequest[] = []
  #confirmed: Confirmation[] = []
  /** False after a deletion that failed: it is tried again with the next confirmation. */
  #may_delete = true
  /** Projects whose entries were set aside, and are to be sent. */
  readonly #resumed = new Set<number>()
  /** Bytes that wait for the home. */
  #bytes: number
  #is_broken = false

  constructor(context: EntryWriterContext) {
    this.#context = context
    this.#bytes = context.entries.readBacklog().bytes
    this.#decoder = new DecodeQueue({
      ...context,
      guesses_tokens: false,
      takeSlice: (job, is_last) => this.#takeSlice(job, is_last),
      refuse: (answers) => {
        for (const [id] of answers) this.#arriving.delete(id)
        this.#send(answers, 0)
      },
    })
  }

  receive(captures: readonly NumberedCapture[]): void {
    this.#decoder.receive(captures)
  }

  /** Takes a slice of a request that the decode thread decoded. */
  receivePacked(slice: PackedSlice): void {
    const slices = this.#arriving.get(slice.id) ?? []
    slices.push(slice)
    if (slice.request === '') {
      this.#arriving.set(slice.id, slices)
      return
    }
    this.#arriving.delete(slice.id)
    this.#waiting.push({ id: slice.id, slices, rest: unpackRest(slice.request) })
  }

  /** Drops the slices of a request that was refused while it was decoded. */
  abandon(id: number): void {
    this.#arriving.delete(id)
  }

  /** Entries up to this number are at home: they are deleted, some in each turn. */
  confirm(confirmation: Confirmation): void {
    this.#confirmed.push(confirmation)
    this.#may_delete = true
  }

  /** Sets aside the entries of projects that another server has, in the caller's transaction. */
  setAside(entries: MovedEntries): void {
    this.#context.entries.setAside(entries)
  }

  /** The home has this project: entries that were set aside are appended again, some in each turn. */
  resume(project_id: number): void {
    this.#resumed.add(project_id)
  }

  /** Stores overrides, and an entry that carries them to the home. Returns the error that prevented it; null without one. */
  storeOverrides(rows: readonly OverrideRow[]): string | null {
    const { log, entries } = this.#context
    let bytes = 0
    try {
      const bytes_max = this.#bytesMax()
      log.transact(() => {
        const printed = overrideEntries(storeOwnOverrides(log.db, rows), Date.now() * 1000)
        const length = printed.reduce((sum, { text }) => sum + text.length, 0)
        if (this.#bytes + length > bytes_max) throw new Error(NO_ROOM)
        bytes = entries.append(printed)
      })
    } catch (error) {
      if (faultOf(error) === 'damaged') this.#break(error)
      return errorMessage(error)
    }
    this.#bytes += bytes
    return null
  }

  get has_work(): boolean {
    const has_entries = this.#waiting.length > 0 || this.#has_deletions
    return this.#decoder.has_work || has_entries || this.#resumed.size > 0
  }

  get #has_deletions(): boolean {
    return this.#may_delete && this.#confirmed.length > 0
  }

  /** One turn: decodes new requests, commits requests, then deletes some confirmed entries and resumes some others. */
  turn(): void {
    this.#decoder.turn()
    if (this.#waiting.length > 0) this.#commitSome(this.#waiting.splice(0, REQUESTS_MAX))
    if (this.#has_deletions) this.#deleteSome()
    if (this.#resumed.size > 0) this.#resumeSome()
  }

  #takeSlice(job: DecodeJob, is_last: boolean): void {
    const slice = packSlice(job.id, job.events, is_last ? finishDecodeJob(job) : null)
    job.events = []
    this.receivePacked(slice)
  }

  #commitSome(requests: readonly DecodedRequest[]): void {
    const { log, entries } = this.#context
    const answers: NumberedAnswer[] = []
    const started_ms = performance.now()
    let done = 0
    let bytes = 0
    try {
      if (this.#is_broken) throw new Error('the database is damaged')
      const bytes_max = this.#bytesMax()
      log.transact(() => {
        for (const request of requests) {
          if (done > 0 && performance.now() - started_ms > COMMIT_MS_MAX) break
          done += 1
          const printed = entriesOf(request)
          if (printed.some(({ text }) => isTooLarge(text))) {
            answers.push([request.id, TOO_LARGE])
            continue
          }
          const length = printed.reduce((sum, { text }) => sum + text.length, 0)
          if (this.#bytes + bytes + length > bytes_max) {
            answers.push([request.id, refuseForFault(NO_ROOM)])
            continue
          }
          bytes += entries.append(printed)
          answers.push([request.id, storedAnswer(request)])
        }
      })
    } catch (error) {
      this.#refuse(requests, error)
      return
    }
    this.#bytes += bytes
    this.#waiting.unshift(...requests.slice(done))
    this.#send(answers, bytes)
  }

  /** Fails the requests of a transaction that was rolled back: clients send them again. */
  #refuse(requests: readonly DecodedRequest[], error: unknown): void {
    this.#context.names.forget()
    const fault = faultOf(error)
    if (fault === 'damaged') this.#break(error)
    const answer = fault === null && !this.#is_broken ? failureOf(error) : refuseForFault(error)
    this.#send(
      requests.map(({ id }): NumberedAnswer => [id, answer]),
      0,
    )
  }

  /** The most bytes that may wait now: none more while the disk is nearly full. */
  #bytesMax(): number {
    const { data_dir, log, bytes_max } = this.#context
    return isDiskShort(data_dir, log) ? 0 : bytes_max
  }

  #break(error: unknown): void {
    this.#is_broken = true
    this.#context.breakDown(String(error))
  }

  #deleteSome(): void {
    const [first] = this.#confirmed
    if (first === undefined) return
    const { log, entries } = this.#context
    try {
      log.transact(() => {
        const bytes = entries.confirm(first.epoch, first.up_to_seq, CONFIRMED_TOGETHER_MAX)
        if (bytes === null) this.#confirmed.shift()
        else this.#bytes -= bytes
      })
    } catch (error) {
      this.#may_delete = false
      this.#bytes = entries.readBacklog().bytes
      if (faultOf(error) !== 'unavailable') this.#break(error)
    }
  }

  #resumeSome(): void {
    const [project_id] = this.#resumed
    if (project_id === undefined) return
    const { log, entries } = this.#context
    try {
      log.transact(() => {
        if (!entries.resume(project_id)) this.#resumed.delete(project_id)
      })
      // It wakes the forwarder.
      this.#send([], 0)
    } catch (error) {
      // The forwarder asks for it again.
      this.#resumed.clear()
      if (faultOf(error) !== 'unavailable') this.#break(error)
    }
  }

  #send(answers: readonly NumberedAnswer[], bytes_written: number): void {
    this.#decoder.settle(answers.map(([id]) => id))
    this.#context.answer({ kind: 'answers', answers, first_events: [], bytes_written })
  }
}

const NO_ROOM = 'TIDEMARK_EDGE_DISK_MB is reached, or the disk is nearly full'

const FREE_IN_DATABASE = `
select freelist_count * page_size as bytes from pragma_freelist_count, pragma_page_size`

function isDiskShort(data_dir: string, { db }: EventLog): boolean {
  const { bavail, blocks, bsize } = statfsSync(data_dir)
  // Some network file systems do not report their size: 0 blocks.
  const lacking = Math.min(FREE_BYTES_MIN, blocks * bsize * FREE_SHARE_MIN) - bavail * bsize
  if (lacking <= 0) return false
  // The file does not get smaller when entries are deleted.
  const free = db.query<{ bytes: number }, []>(FREE_IN_DATABASE).get()
  return (free?.bytes ?? 0) < lacking
}

/** An entry for each slice; the last one has the counts and names of the request too. A request without events has one entry. */
function entriesOf({ slices, rest }: DecodedRequest): readonly NewEntry[] {
  const { project_id, now, dropped, warnings, names } = rest
  const last_rest = { dropped, warnings, names }
  return slices.map(({ heads, texts, count }, index) => ({
    received_at: now,
    event_count: count,
    text: printEntry({
      project_id,
      received_at: now,
      uuid_base: makeUuid(),
      heads,
      texts,
      rest: index === slices.length - 1 ? last_rest : null,
    }),
  }))
}

/** An entry of overrides for each project, without events. */
function overrideEntries(overrides: readonly OwnOverride[], now: number): readonly NewEntry[] {
  const by_project = Map.groupBy(overrides, ({ project_id }) => project_id)
  return [...by_project].map(([project_id, rows]) => ({
    received_at: now,
    event_count: 0,
    text: printEntry({
      project_id,
      received_at: now,
      uuid_base: makeUuid(),
      heads: '[]',
      texts: '',
      rest: null,
      overrides: rows.map((row) => [row.distinct_id, row.flag_key, row.hash_key]),
    }),
  }))
}

/** The answer to a stored request. The home decides whether an event was stored before. */
function storedAnswer({ slices, rest }: DecodedRequest): CaptureAnswer {
  const accepted = slices.reduce((sum, { count }) => sum + count, 0)
  const dropped = rest.dropped.reduce((sum, [, count]) => sum + count, 0)
  return { kind: 'stored', accepted, dropped, repeated: 0 }
}
