/**
 * Applies batches of entries that edges send. Each transaction contains events together with the position up to which
 * they are stored, so a repeated batch finds its entries done, wherever the one before it was interrupted.
 */
import { Refusal } from '../../errors.ts'
import { EdgePositions } from '../../storage/log/edge-positions.ts'
import { insertOverrides } from '../../storage/persons/flag-rows.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import { applyEvents, commit, finishRequest, type IngestStores, isFull } from '../write/apply.ts'
import { type ForwardedEntry, readEntry } from './forwarded-entry.ts'
import {
  type CaptureLimits,
  type ForwardedBatch,
  type ForwardedOutcome,
  refuseForFault,
} from './messages.ts'
import type { StorageFault } from './storage-faults.ts'
import { measureWork } from './work-time.ts'

/** The parts of the data thread that the batches need. */
type ForwardingContext = {
  readonly stores: IngestStores
  readonly limits: CaptureLimits
  /** Whether a project was deleted since the start. */
  readonly isDeleted: (project_id: number) => boolean
  /** Clears the state that a rollback made invalid; tells a storage fault from a bug. */
  readonly recover: (error: unknown) => StorageFault | null
  readonly answer: (call: number, outcome: ForwardedOutcome) => void
  /** Answers a bug. */
  readonly fail: (call: number, error: unknown) => void
}

/** Entries that are stored already are skipped without being parsed, so many between two looks at the clock. */
const SKIPPED_TOGETHER = 500

const APPLYING = nameWork('edges: storing forwarded events')

type RunningBatch = {
  readonly call: number
  readonly batch: ForwardedBatch
  /** The entries as text, once it is the batch's turn. */
  text: string | null
  /** The start of the next entry in the text. */
  offset: number
  entry: ForwardedEntry | null
  seq: number
  events_done: number
  accepted: number
  repeated: number
  dropped: number
}

/** The batches that are not stored yet, in the order of their arrival. */
export class ForwardedBatches {
  readonly #context: ForwardingContext
  readonly #positions: EdgePositions
  readonly #waiting: RunningBatch[] = []

  constructor(context: ForwardingContext) {
    this.#context = context
    this.#positions = new EdgePositions(context.stores.log.db)
  }

  get has_work(): boolean {
    return this.#waiting.length > 0
  }

  receive(call: number, batch: ForwardedBatch): void {
    const none = { accepted: 0, repeated: 0, dropped: 0 }
    const unread = { text: null, offset: 0, entry: null, seq: -1, events_done: 0 }
    this.#waiting.push({ call, batch, ...unread, ...none })
  }

  /** One transaction of at most `slice_ms_max`; answers the first batch if it is complete. */
  turn(): void {
    const [running] = this.#waiting
    if (running === undefined) return
    const { call } = running
    beginWork(APPLYING, call, 0)
    try {
      const is_done = this.#applySlice(running)
      if (!is_done) return
      this.#waiting.shift()
      const { seq, accepted, repeated, dropped } = running
      this.#context.answer(call, { kind: 'forwarded', seq, accepted, repeated, dropped })
    } catch (error) {
      this.#waiting.shift()
      this.#refuse(running, error)
    }
  }

  /** The transaction was rolled back, so the answer to its edge is read from the database at the next batch. */
  #refuse({ call }: RunningBatch, error: unknown): void {
    const { answer, fail, recover } = this.#context
    const fault = recover(error)
    if (error instanceof Refusal) {
      const { code, detail, attr } = error
      answer(call, { kind: 'refused', code, detail, attr })
    } else if (fault !== null) answer(call, refuseForFault(error))
    else fail(call, error)
  }

  /** Applies entries for `slice_ms_max`, or until the transaction is full. True once all are stored. */
  #applySlice(running: RunningBatch): boolean {
    const { stores, limits } = this.#context
    const { batch } = running
    let is_done = false
    let refusal: Refusal | null = null
    commit(stores, () => {
      const isOver = measureWork(limits.slice_ms_max)
      if (running.seq === -1) Object.assign(running, this.#positions.read(batch))
      // It overtook the batch before it, or that one was refused: storing it would skip entries.
      if (batch.after !== null && running.seq < batch.after) {
        is_done = true
        return
      }
      do {
        try {
          running.entry ??= this.#readNext(running, isOver)
        } catch (error) {
          // Entries before it stay: the edge sends the rest again when it is mended.
          if (!(error instanceof Refusal)) throw error
          refusal = error
          break
        }
        if (running.entry === null) is_done = running.offset >= (running.text?.length ?? 0)
        else this.#applyEntry(running, running.entry, isOver)
      } while (!is_done && !isOver() && !isFull(stores, limits))
      this.#positions.write(batch, running, batch.now)
      if (is_done) this.#positions.writeReport(batch, batch.report, batch.now)
    })
    if (refusal !== null) throw refusal as Refusal
    return is_done
  }

  /** The next entry that is not stored; null at the end, and when the time is over before one is found. */
  #readNext(running: RunningBatch, isOver: () => boolean): ForwardedEntry | null {
    const { entries, forbidden } = running.batch
    running.text ??= decodeEntries(entries)
    const { text } = running
    for (let skipped = 0; running.offset < text.length; skipped += 1) {
      if (skipped % SKIPPED_TOGETHER === SKIPPED_TOGETHER - 1 && isOver()) return null
      const head_end = text.indexOf('\n', running.offset)
      const end = text.indexOf('\n', head_end + 1)
      if (head_end === -1 || end === -1) {
        throw new Refusal('invalid_payload', 'Malformed batch of an edge: it breaks off.')
      }
      const head = text.slice(running.offset, head_end)
      running.offset = end + 1
      // A batch is repeated when the network is bad.
      if (Number.parseInt(head, 10) <= running.seq) continue
      const entry = readEntry(head, text.slice(head_end + 1, end), this.#context.limits)
      if (forbidden.includes(entry.project_id)) {
        const detail = `The key of this edge must not write to project ${entry.project_id}.`
        throw new Refusal('permission_denied', detail)
      }
      return entry
    }
    return null
  }

  #applyEntry(running: RunningBatch, entry: ForwardedEntry, isOver: () => boolean): void {
    const { stores, limits, isDeleted } = this.#context
    const { project_id, received_at: now, rest } = entry
    const { allowed, now: stored_at } = running.batch
    const events = entry.events.slice(running.events_done)
    const is_gone = !allowed.includes(project_id) || isDeleted(project_id)
    if (is_gone) running.dropped += events.length
    else {
      const head = { project_id, now, stored_at }
      const progress = applyEvents(stores, head, events, limits, isOver)
      const repeated = progress.applied - progress.accepted
      if (progress.accepted > 0) stores.counters.count(project_id, 'accepted', progress.accepted)
      if (repeated > 0) stores.counters.count(project_id, 'duplicate', repeated)
      running.accepted += progress.accepted
      running.repeated += repeated
      if (progress.applied < events.length) {
        running.events_done += progress.applied
        return
      }
      const request = { id: 0, project_id, now, is_historical: false }
      if (rest !== null) finishRequest(stores, { ...request, ...rest }, NOTHING_APPLIED)
      storeOverrides(stores, entry)
    }
    running.seq = entry.seq
    running.events_done = 0
    running.entry = null
  }
}

function decodeEntries(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal('invalid_payload', 'A batch must be UTF-8.')
  }
}

/** Stores the overrides of ids that have a person; one that the person has already stays. */
function storeOverrides(
  { log, persons }: IngestStores,
  { project_id, overrides }: ForwardedEntry,
): void {
  const rows = overrides.flatMap(([distinct_id, flag_key, hash_key]) => {
    const person = persons.find(project_id, distinct_id)
    return person === null ? [] : [{ project_id, person_id: person.id, flag_key, hash_key }]
  })
  insertOverrides(log.db, rows)
}

/** The events of an entry are counted while they are applied. */
const NOTHING_APPLIED = { applied: 0, accepted: 0 }
