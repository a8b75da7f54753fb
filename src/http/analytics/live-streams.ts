/** Streams of events as they are committed: one clock for all readers, bounded buffers, slow readers dropped. */
import { Refusal } from '../../errors.ts'
import type { AppContext } from '../app-context.ts'
import { type LiveFilter, readLiveBatch } from './live-batch.ts'

/** How often readers get what is new. */
const TICK_MS = 250
/** A silent connection is closed by proxies, and by this server. */
const SILENCE_MS = 15_000
/** A reader gets nothing while so much waits for it, and is dropped when that lasts. */
const BUFFER_BYTES = 256 * 1024
const STALL_MS = 30_000
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
  /** The position in the log; null before the first message. */
  seq: number | null
  sent_ms: number
  /** Since when the buffer is full; null while it is not. */
  stalled_ms: number | null
}

export type LiveRequest = {
  readonly caller_id: string
  readonly filter: LiveFilter
  readonly after_seq: number | null
}

/** All streams of a server. */
export class LiveStreams {
  readonly #app: Pick<AppContext, 'ingest' | 'isStopping' | 'log' | 'persons'>
  readonly #readers = new Set<LiveReader>()
  #timer: Timer | null = null

  constructor(app: Pick<AppContext, 'ingest' | 'isStopping' | 'log' | 'persons'>) {
    this.#app = app
  }

  /** The number of open streams. */
  get size(): number {
    return this.#readers.size
  }

  /** Opens a stream of server-sent events. Refuses more than a caller, or the server, may have. */
  open({ caller_id, filter, after_seq }: LiveRequest): ReadableStream<Uint8Array> {
    const own = [...this.#readers].filter((reader) => reader.caller_id === caller_id).length
    if (own >= STREAMS_PER_CALLER_MAX || this.#readers.size >= STREAMS_MAX) {
      const detail = 'Too many live lists are open. Close one, or try again later.'
      throw new Refusal('throttled', detail, { retry_after_s: 10 })
    }
    let reader: LiveReader | null = null
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const now_ms = performance.now()
          const times = { opened_ms: now_ms, sent_ms: now_ms, stalled_ms: null }
          reader = { caller_id, filter, controller, seq: after_seq, ...times }
          this.#readers.add(reader)
          this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
          controller.enqueue(encode('retry: 2000\n\n'))
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
      return now_ms - reader.stalled_ms > STALL_MS ? this.#end(reader) : undefined
    }
    reader.stalled_ms = null
    const { project_id, event, has_persons } = reader.filter
    const key = JSON.stringify([project_id, has_persons, reader.seq, event])
    const message = messages.get(key) ?? this.#read(reader)
    messages.set(key, message)
    reader.seq = message.seq
    if (message.bytes !== null) {
      reader.controller.enqueue(message.bytes)
      reader.sent_ms = now_ms
    } else if (now_ms - reader.sent_ms > SILENCE_MS) {
      reader.controller.enqueue(encode(': nothing new\n\n'))
      reader.sent_ms = now_ms
    }
    return undefined
  }

  #read({ filter, seq: before }: LiveReader): LiveMessage {
    const { seq, json, event_count } = readLiveBatch(this.#app, filter, before)
    // The first message tells the position, also where nothing has happened yet.
    if (event_count === 0 && before !== null) return { seq, bytes: null }
    return { seq, bytes: encode(`id: ${seq}\nevent: events\ndata: ${json}\n\n`) }
  }

  #end(reader: LiveReader): void {
    this.#remove(reader)
    try {
      reader.controller.close()
    } catch {
      // The client has closed it.
    }
  }

  #remove(reader: LiveReader): void {
    this.#readers.delete(reader)
    if (this.#readers.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }
}

/** A message of one tick; null bytes where nothing is new. */
type LiveMessage = { readonly seq: number; readonly bytes: Uint8Array | null }

const ENCODER = new TextEncoder()
const encode = (text: string): Uint8Array => ENCODER.encode(text)
