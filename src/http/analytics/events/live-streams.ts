/** Streams of events as they are committed: one clock for all readers, bounded buffers, slow readers dropped. */
import { Refusal } from '../../../errors.ts'
import type { AppContext } from '../../app-context.ts'
import { type LiveBatch, type LiveFilter, readLiveBatch, readMatchingBatch } from './live-batch.ts'

/** Readers get new events every `tick_ms`; one whose buffer stays full for `stall_ms` is dropped. */
const TIMES = { tick_ms: 250, stall_ms: 10_000 }
/** A list that cannot show all that comes in is read once a second: each read holds the thread that answers captures for some ms. */
const FLOOD_TICK_MS = 1000
/** With further conditions each read is a query: at most one at a time and second for a reader, some for the server. */
const QUERY_TICK_MS = 1000
const QUERIES_MAX = 4
/** A silent connection is closed by proxies, and by this server. */
const SILENCE_MS = 15_000
/** The bytes that wait for a reader at most; beyond them it gets nothing more until it has read. */
const BUFFER_BYTES = 256 * 1024
/** Then the reader connects again, and its rights are checked again. */
const AGE_MS = 5 * 60_000
const STREAMS_MAX = 100
const STREAMS_PER_CALLER_MAX = 8

/** One open stream. */
type LiveReader = {
  readonly caller_id: string
  readonly filter: LiveFilter
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  readonly opened_ms: number
  /** The position in the log. */
  seq: number
  sent_ms: number
  /** The earliest time of the next read, after a read that left events out. */
  due_ms: number
  /** Start of the last read with further conditions; `is_querying` while it is under way. */
  queried_ms: number
  is_querying: boolean
  /** Since when the buffer is full; null while it is not. */
  stalled_ms: number | null
}

type LiveRequest = {
  readonly caller_id: string
  readonly filter: LiveFilter
  /** The first batch of the stream. */
  readonly first: LiveBatch
  /** Whether the client knows its position; otherwise it is sent, even before the first event. */
  readonly is_resumed: boolean
}

/** All streams of a server. */
export class LiveStreams {
  readonly #app: Pick<AppContext, 'ingest' | 'isStopping' | 'log' | 'persons'>
  readonly #readers = new Set<LiveReader>()
  #timer: Timer | null = null
  readonly #times: typeof TIMES
  #queries = 0

  constructor(app: Pick<AppContext, 'ingest' | 'isStopping' | 'log' | 'persons'>, times = TIMES) {
    this.#app = app
    this.#times = times
  }

  /** The number of open streams. */
  get size(): number {
    return this.#readers.size
  }

  /** Refuses more streams than a caller, or the server, may have. */
  requireRoom(caller_id: string): void {
    const own = [...this.#readers].filter((reader) => reader.caller_id === caller_id).length
    if (own < STREAMS_PER_CALLER_MAX && this.#readers.size < STREAMS_MAX) return
    const detail = 'Too many live lists are open. Close one, or try again later.'
    throw new Refusal('throttled', detail, { retry_after_s: 10 })
  }

  /** Opens a stream of server-sent events. Refuses more than a caller, or the server, may have. */
  open({ caller_id, filter, first, is_resumed }: LiveRequest): ReadableStream<Uint8Array> {
    this.requireRoom(caller_id)
    let reader: LiveReader | null = null
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const now_ms = performance.now()
          const times = { opened_ms: now_ms, sent_ms: now_ms, queried_ms: now_ms, due_ms: now_ms }
          const { seq } = first
          const state = { is_querying: false, stalled_ms: null }
          reader = { caller_id, filter, controller, seq, ...times, ...state }
          this.#readers.add(reader)
          this.#timer ??= setInterval(() => this.#tick(), this.#times.tick_ms)
          controller.enqueue(encode('retry: 2000\n\n'))
          if (first.event_count > 0 || !is_resumed) controller.enqueue(messageOf(first))
        },
        cancel: () => {
          if (reader !== null) this.#remove(reader)
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
    )
  }

  #tick(): void {
    const now_ms = performance.now()
    /** Messages of this tick: readers of the same list at the same position share one. */
    const messages = new Map<string, LiveMessage>()
    for (const reader of this.#readers) {
      try {
        this.#serve(reader, messages, now_ms)
      } catch (err) {
        this.#app.log.error({ err }, 'a live list failed')
        this.#end(reader)
      }
    }
  }

  #serve(reader: LiveReader, messages: Map<string, LiveMessage>, now_ms: number): void {
    if (this.#app.isStopping() || now_ms - reader.opened_ms > AGE_MS) return this.#end(reader)
    if ((reader.controller.desiredSize ?? 0) <= 0) {
      reader.stalled_ms ??= now_ms
      return now_ms - reader.stalled_ms > this.#times.stall_ms ? this.#drop(reader) : undefined
    }
    reader.stalled_ms = null
    if (reader.filter.findMatches !== null) {
      this.#query(reader, now_ms)
      return undefined
    }
    if (now_ms < reader.due_ms) return undefined
    const { project_id, event, has_persons } = reader.filter
    const key = JSON.stringify([project_id, has_persons, reader.seq, event])
    const message = messages.get(key) ?? this.#read(reader)
    messages.set(key, message)
    // Half a tick earlier, since timers are not exact.
    if (message.is_flood) reader.due_ms = now_ms + FLOOD_TICK_MS - this.#times.tick_ms / 2
    this.#send(reader, message, now_ms)
    return undefined
  }

  #read({ filter, seq: before }: LiveReader): LiveMessage {
    const batch = readLiveBatch(this.#app, filter, before)
    const bytes = batch.event_count === 0 ? null : messageOf(batch)
    return { seq: batch.seq, bytes, is_flood: batch.missed > 0 }
  }

  #send(
    reader: LiveReader,
    { seq, bytes }: Pick<LiveMessage, 'bytes' | 'seq'>,
    now_ms: number,
  ): void {
    reader.seq = seq
    if (bytes === null && now_ms - reader.sent_ms <= SILENCE_MS) return
    reader.controller.enqueue(bytes ?? encode(': nothing new\n\n'))
    reader.sent_ms = now_ms
  }

  /** Starts a read with further conditions, where something is new and it is the reader's turn. */
  #query(reader: LiveReader, now_ms: number): void {
    const is_due = now_ms - reader.queried_ms >= QUERY_TICK_MS && this.#queries < QUERIES_MAX
    const is_new = is_due && this.#app.ingest.readSeq() !== reader.seq
    if (reader.is_querying || !is_new) {
      this.#send(reader, { seq: reader.seq, bytes: null }, now_ms)
      return
    }
    reader.is_querying = true
    reader.queried_ms = now_ms
    this.#queries += 1
    void this.#answer(reader)
  }

  async #answer(reader: LiveReader): Promise<void> {
    try {
      const { filter, seq: before } = reader
      const batch = await readMatchingBatch(this.#app, filter, before)
      if (!this.#readers.has(reader)) return
      // To the end of the line: others are due before.
      this.#readers.delete(reader)
      this.#readers.add(reader)
      const bytes = batch.event_count === 0 ? null : messageOf(batch)
      this.#send(reader, { seq: batch.seq, bytes }, performance.now())
    } catch (err) {
      if (err instanceof Refusal && TEMPORARY.has(err.code)) return
      // A client that reconnects gets an error that names the wrong condition.
      if (!(err instanceof Refusal)) this.#app.log.error({ err }, 'a live list failed')
      this.#end(reader)
    } finally {
      reader.is_querying = false
      this.#queries -= 1
    }
  }

  /** Closes the stream after the events that wait in it. */
  #end(reader: LiveReader): void {
    this.#remove(reader)
    try {
      reader.controller.close()
    } catch {
      // The client has closed it.
    }
  }

  /** Closes the connection, with all that waits for its reader. */
  #drop(reader: LiveReader): void {
    this.#remove(reader)
    reader.controller.error(new Error('the reader of a live list is too slow'))
  }

  #remove(reader: LiveReader): void {
    this.#readers.delete(reader)
    if (this.#readers.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }
}

/** A message of one tick; null bytes where nothing is new. */
type LiveMessage = {
  readonly seq: number
  readonly bytes: Uint8Array | null
  /** Whether events were left out. */
  readonly is_flood: boolean
}

/** Refusals after which the same read may succeed. */
const TEMPORARY: ReadonlySet<string> = new Set(['storage_unavailable', 'throttled'])

const messageOf = ({ seq, json }: LiveBatch): Uint8Array =>
  encode(`id: ${seq}\nevent: events\ndata: ${json}\n\n`)

const ENCODER = new TextEncoder()
const encode = (text: string): Uint8Array => ENCODER.encode(text)
