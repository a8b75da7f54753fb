/**
 * Applies batches of entries that edges send. Each transaction contains events together with the position up to which
 * they are stored, so a repeated batch finds its entries done, wherever the one before it was interrupted.
 */
import { Refusal } from '../../errors.ts'
import { EdgePositions } from '../../storage/log/edge-positions.ts'
import { insertOverrides } from '../../storage/persons/flag-rows.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import { applyEvents, commit, finishRequest, type IngestStores, isFull } from '../write/apply.ts'
import { HEADS_PER_TURN_MAX, type PackedEvents, unpackEvents } from './event-packing.ts'
import { isLong, readEntry } from './forwarded-entry.ts'
import {
  type CaptureLimits,
  type ForwardedBatch,
  type ForwardedOutcome,
  type LongEntry,
  type LongEntryLines,
  type LongEntryOutcome,
  refuseForFault,
  UNAVAILABLE,
} from './messages.ts'
import type { ForwardedEntry, PreparedEvent } from './prepared-request.ts'
import type { StorageFault } from './storage-faults.ts'
import { limitWork } from './work-time.ts'

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
  /** Has a long entry parsed by another thread; `continueWith` receives the outcome. */
  readonly readElsewhere: (lines: LongEntryLines) => void
}

/** The entries skipped between two looks at the clock: those stored already are not parsed. */
const SKIPPED_TOGETHER = 500

const APPLYING = nameWork('edges: storing forwarded events')

type RunningBatch = {
  readonly call: number
  readonly batch: ForwardedBatch
  /** The entries as text, once it is the batch's turn. */
  text: string | null
  /** The start of the next entry in the text. */
  offset: number
  entry: OpenEntry | null
  /** Whether its next entry is parsed by another thread. */
  is_reading: boolean
  /** The entry that it has parsed. */
  read: LongEntry | null
  /** The error that it ended with there. */
  failure: Refusal | Error | null
  seq: number
  events_done: number
  accepted: number
  repeated: number
  dropped: number
  /** The project of its next entry, if another server has it: the batch ends before it. */
  moved?: number
}

/** An entry that is applied; of a long one a slice of events is unpacked at a time. */
type OpenEntry = {
  readonly entry: Omit<ForwardedEntry, 'events'>
  events: readonly PreparedEvent[]
  /** Events of the slices before. */
  first: number
  readonly slices: PackedEvents[]
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
    return this.#next() !== null
  }

  receive(call: number, batch: ForwardedBatch): void {
    const none = { accepted: 0, repeated: 0, dropped: 0 }
    const unread = { text: null, offset: 0, entry: null, seq: -1, events_done: 0 }
    const reading = { is_reading: false, read: null, failure: null }
    this.#waiting.push({ call, batch, ...unread, ...reading, ...none })
  }

  /** Receives the entry for which a batch has waited. */
  continueWith(call: number, outcome: LongEntryOutcome): void {
    const running = this.#waiting.find((one) => one.call === call)
    if (running === undefined) return
    running.is_reading = false
    if (outcome.kind === 'read') running.read = outcome.entry
    else running.failure = errorOf(outcome)
  }

  /** Answers those that wait for another thread, which is closed. */
  giveUpReading(): void {
    for (const running of this.#waiting.filter((one) => one.is_reading)) {
      this.#remove(running)
      this.#context.answer(running.call, UNAVAILABLE)
    }
  }

  /** The first batch that can go on: neither it nor an earlier batch of the same edge waits for another thread. */
  #next(): RunningBatch | null {
    const reading = new Set<string>()
    for (const running of this.#waiting) {
      const { user_id, edge } = running.batch
      const sender = `${user_id} ${edge}`
      if (running.is_reading) reading.add(sender)
      else if (!reading.has(sender)) return running
    }
    return null
  }

  #remove(running: RunningBatch): void {
    this.#waiting.splice(this.#waiting.indexOf(running), 1)
  }

  /** One transaction of at most `slice_ms_max`; answers its batch if that is complete. */
  turn(): void {
    const running = this.#next()
    if (running === null) return
    const { call } = running
    beginWork(APPLYING, call, 0)
    try {
      const is_done = this.#applySlice(running)
      if (!is_done) return
      this.#remove(running)
      const { seq, accepted, repeated, dropped, moved } = running
      const stored = { seq, accepted, repeated, dropped, ...(moved !== undefined && { moved }) }
      this.#context.answer(call, { kind: 'forwarded', ...stored })
    } catch (error) {
      this.#remove(running)
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
      const isOver = limitWork(limits.slice_ms_max)
      if (running.seq === -1) Object.assign(running, this.#positions.read(batch))
      // It overtook the batch before it, or that one was refused: storing it would skip entries.
      if (batch.after !== null && running.seq < batch.after) {
        is_done = true
        return
      }
      let may_go_on = true
      do {
        try {
          running.entry ??= this.#readNext(running, isOver)
        } catch (error) {
          // Entries before it stay: the edge sends the rest again when it is mended.
          if (!(error instanceof Refusal)) throw error
          refusal = error
          break
        }
        if (endsAtMoved(running)) {
          is_done = true
          break
        }
        if (running.entry !== null) may_go_on = this.#applyEntry(running, running.entry, isOver)
        else {
          may_go_on = false
          is_done = !running.is_reading && running.offset >= (running.text?.length ?? 0)
        }
      } while (may_go_on && !isOver() && !isFull(stores, limits))
      this.#positions.write(batch, running, batch.now)
      if (is_done || refusal !== null) this.#positions.writeReport(batch, batch.report, batch.now)
    })
    if (refusal !== null) throw refusal as Refusal
    return is_done
  }

  /** The next entry that is not stored; null at the end, when the time is over, and while another thread parses it. */
  #readNext(running: RunningBatch, isOver: () => boolean): OpenEntry | null {
    const { batch, failure, read } = running
    if (failure !== null) throw failure
    if (read !== null) {
      running.read = null
      requireAllowed(read, batch)
      const { slices, ...entry } = read
      return { entry, events: [], first: 0, slices: [...slices] }
    }
    running.text ??= decodeEntries(batch.entries)
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
      const texts = text.slice(head_end + 1, end)
      if (!isLong(head, texts)) {
        const { events, ...entry } = readEntry(head, texts, this.#context.limits)
        requireAllowed(entry, batch)
        return { entry, events, first: 0, slices: [] }
      }
      running.is_reading = true
      this.#context.readElsewhere({ call: running.call, head, texts })
      return null
    }
    return null
  }

  /** Applies events of an entry. False if this was as much as a turn may do. */
  #applyEntry(running: RunningBatch, open: OpenEntry, isOver: () => boolean): boolean {
    const { stores, limits, isDeleted } = this.#context
    const { entry } = open
    const { project_id, received_at: now, rest } = entry
    const { allowed, now: stored_at } = running.batch
    const events = open.events.slice(Math.max(0, running.events_done - open.first))
    const is_gone = !allowed.includes(project_id) || isDeleted(project_id)
    if (is_gone) {
      running.dropped += events.length
      running.events_done += events.length
    } else {
      const head = { project_id, now, stored_at }
      const progress = applyEvents(stores, head, events, limits, isOver)
      const repeated = progress.applied - progress.accepted
      if (progress.accepted > 0) stores.counters.count(project_id, 'accepted', progress.accepted)
      if (repeated > 0) stores.counters.count(project_id, 'duplicate', repeated)
      running.accepted += progress.accepted
      running.repeated += repeated
      running.events_done += progress.applied
      if (progress.applied < events.length) return false
    }
    const next = open.slices.shift()
    if (next !== undefined) {
      open.first += open.events.length
      open.events = unpackEvents(next, project_id)
      return next.heads.length <= HEADS_PER_TURN_MAX
    }
    if (!is_gone) {
      const request = { id: 0, project_id, now, is_historical: false }
      if (rest !== null) finishRequest(stores, { ...request, ...rest }, NOTHING_APPLIED)
      storeOverrides(stores, entry)
    }
    running.seq = entry.seq
    running.events_done = 0
    running.entry = null
    return true
  }
}

/**
 * Ends a batch before an entry of a project that another server has. Events of the entry that were stored before
 * the move are known there; here another entry will be the next one.
 */
function endsAtMoved(running: RunningBatch): boolean {
  const project_id = running.entry?.entry.project_id
  if (project_id === undefined || !running.batch.moved.includes(project_id)) return false
  running.moved = project_id
  running.events_done = 0
  return true
}

function requireAllowed(
  { project_id }: { readonly project_id: number },
  { forbidden }: ForwardedBatch,
): void {
  if (!forbidden.includes(project_id)) return
  const detail = `The key of this edge must not write to project ${project_id}.`
  throw new Refusal('permission_denied', detail)
}

function errorOf(outcome: Exclude<LongEntryOutcome, { readonly kind: 'read' }>): Error | Refusal {
  if (outcome.kind === 'failed') return new Error(outcome.message)
  const { code, detail, attr } = outcome
  return new Refusal(code, detail, { attr })
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
  { project_id, overrides }: OpenEntry['entry'],
): void {
  const rows = overrides.flatMap(([distinct_id, flag_key, hash_key]) => {
    const person = persons.find(project_id, distinct_id)
    return person === null ? [] : [{ project_id, person_id: person.id, flag_key, hash_key }]
  })
  insertOverrides(log.db, rows)
}

/** The events of an entry are counted while they are applied. */
const NOTHING_APPLIED = { applied: 0, accepted: 0 }
