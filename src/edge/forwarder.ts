/**
 * Sends an edge's entries to its home, in order, until the home has confirmed each. Two batches travel at a time: with
 * one, the home waited a third of the time for the next.
 */
import { BackOff, sleep } from '../back-off.ts'
import { KIB, MIB } from '../bytes.ts'
import { errorMessage } from '../error-message.ts'
import { isObject } from '../json.ts'
import { EdgeEntryReader, type MovedEntries } from '../storage/log/edge-entries.ts'
import { Histogram } from '../threads/histogram.ts'
import { secondsSince } from '../threads/timings.ts'
import { SECOND_MS } from '../time.ts'
import { type Home, HomeError, readJson } from './home.ts'
import { type EdgeReport, WIRE_VERSION } from './report.ts'

/**
 * Bytes of a batch before compression: at most, and after time-outs at least. At 1 MiB, looking up the
 * rights of the key alone took a fifth of the time of the home's main thread.
 */
const BYTES_MAX = 4 * MIB
const BYTES_MIN = MIB / 32
/** Bytes of the home's answer. */
const ANSWER_BYTES_MAX = 64 * KIB
/**
 * Projects named in the report of a batch: a header has room for 16 KiB with all others, and the home refused every batch of
 * an edge with 3,000 projects.
 */
const PROJECTS_REPORTED_MAX = 1000
/** Time for one batch. On a slow line the batch gets smaller. */
const TIMEOUT_MS = 60 * SECOND_MS
/** Without entries, a report is sent at this interval. */
const REPORT_EVERY_MS = 10 * SECOND_MS
const RETRY_MIN_MS = 250
const RETRY_MAX_MS = 30 * SECOND_MS
/** Level 1 compresses events to a sixth. Level 3 would save a further tenth, and takes seven times as long. */
const PACK_OPTIONS = { level: 1 }

export type ForwarderContext = {
  readonly data_dir: string
  readonly name: string
  readonly home: Home
  /** Deletes entries that are at home. */
  readonly confirm: (epoch: string, up_to_seq: number) => void
  /** Sets aside the entries of projects that another server has. */
  readonly setAside: (entries: MovedEntries) => void
  /** Sends the entries of a project that were set aside. */
  readonly resume: (project_id: number) => void
  readonly definitions: { readonly age_s: number | null; readonly projects: readonly number[] }
  readonly log: {
    readonly info: (fields: object, message: string) => void
    readonly warn: (fields: object, message: string) => void
  }
  readonly now: () => Date
}

/** Counts since the start. */
type ForwardedTotals = {
  readonly events: number
  readonly batches: number
  readonly bytes_sent: number
  readonly failures: number
}

/** A batch ready to be sent. */
type PackedBatch = {
  readonly epoch: string
  /** The last entry; null for a report alone. */
  readonly last_seq: number | null
  readonly events: number
  readonly body: Uint8Array
}

type TravellingBatch = Pick<PackedBatch, 'epoch' | 'last_seq'> & { readonly done: Promise<void> }

/** Runs from `start` until `close`. */
export class Forwarder {
  readonly #context: ForwarderContext
  readonly #entries: EdgeEntryReader
  readonly #back_off = new BackOff(RETRY_MIN_MS, RETRY_MAX_MS)
  readonly #stop = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #wake = Promise.withResolvers<void>()
  #bytes_max = BYTES_MAX
  /** Entries up to here are confirmed, though perhaps not deleted yet. */
  #confirmed_seq = 0
  /** Whether the home stores batches only in their order, as it says with its first answer. */
  #keeps_order = false
  #totals = { events: 0, batches: 0, bytes_sent: 0, failures: 0 }
  #last_error: string | null = null
  /** Projects whose entries are set aside, and since when the newest of them, ms. */
  readonly #moved = new Map<number, number>()
  /** The time until the home confirmed each batch. */
  readonly times = new Histogram()

  /** events.db must have been opened by the edge's data thread. */
  constructor(context: ForwarderContext) {
    this.#context = context
    this.#entries = new EdgeEntryReader(context.data_dir)
    for (const project_id of this.#entries.listMoved())
      this.#moved.set(project_id, context.now().getTime())
  }

  get totals(): ForwardedTotals {
    return this.#totals
  }

  /** The reason why the last batch did not arrive; null if it did. */
  get last_error(): string | null {
    return this.#last_error
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Called when there may be new entries. */
  wake(): void {
    this.#wake.resolve()
  }

  /** The report of this edge that goes to its home with every batch. */
  report(): EdgeReport {
    const { name, definitions, now } = this.#context
    const clock_ms = now().getTime()
    const { entries, events, bytes } = this.#entries.readBacklog()
    const oldest = this.#entries.readOldest()
    return {
      name,
      wire: WIRE_VERSION,
      backlog_entries: entries,
      backlog_events: events,
      backlog_bytes: bytes,
      lag_s: oldest === null ? 0 : Math.max(0, clock_ms - oldest / 1000) / 1000,
      definitions_age_s: definitions.age_s,
      clock_ms,
      projects: definitions.projects,
    }
  }

  /** Stops sending. A batch under way may arrive or not; it is sent again after the next start. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#wake.resolve()
    await this.#running
    this.#entries.close()
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        this.#resumeMoved()
        await this.#sendWaiting()
        await this.#rest()
      } catch (error) {
        await this.#noteFailure(error)
      }
    }
  }

  /** Sends entries that were set aside, once newer definitions show that the home, perhaps another one, has their project. */
  #resumeMoved(): void {
    const { definitions, log, now, resume } = this.#context
    const checked_ms = now().getTime() - (definitions.age_s ?? Number.POSITIVE_INFINITY) * 1000
    for (const [project_id, since_ms] of this.#moved) {
      if (checked_ms <= since_ms || !definitions.projects.includes(project_id)) continue
      if (this.#entries.hasMoved(project_id)) resume(project_id)
      else {
        this.#moved.delete(project_id)
        log.info({}, `the home has project ${project_id}: its events are sent again`)
      }
    }
  }

  /** Sends batches until nothing waits; a report alone if nothing has. Throws if some are to be sent again. */
  async #sendWaiting(): Promise<void> {
    const given_up = new AbortController()
    let earlier: Promise<void> | null = null
    let last: TravellingBatch | null = null
    try {
      for (;;) {
        const batch: PackedBatch = await this.#prepare(last?.last_seq ?? this.#confirmed_seq)
        const is_empty = batch.last_seq === null
        // Positions are kept by epoch, so only within one can the home tell that a batch is missing.
        const may_follow = !is_empty && this.#keeps_order && batch.epoch === last?.epoch
        await (may_follow ? earlier : last?.done)
        if (is_empty && last !== null) return
        const after_seq = may_follow ? (last?.last_seq ?? null) : null
        const done = this.#send(batch, after_seq, given_up.signal)
        earlier = last?.done ?? null
        last = { epoch: batch.epoch, last_seq: batch.last_seq, done }
        done.catch(() => undefined)
        if (is_empty) return await done
      }
    } finally {
      given_up.abort()
      await Promise.allSettled([earlier, last?.done])
    }
  }

  async #prepare(after_seq: number): Promise<PackedBatch> {
    const waiting = this.#entries.readBatch(after_seq, this.#bytes_max)
    const entries = Buffer.concat(waiting.map(({ bytes }) => bytes))
    return {
      epoch: waiting[0]?.epoch ?? this.#entries.readEpoch(),
      last_seq: waiting.at(-1)?.seq ?? null,
      events: waiting.reduce((sum, { event_count }) => sum + event_count, 0),
      body: await Bun.zstdCompress(entries, PACK_OPTIONS),
    }
  }

  /**
   * Sends a batch. With `after_seq` the home stores it only after the entry of that number, which may still be on its
   * way. Throws when the batch must be sent again.
   */
  async #send(batch: PackedBatch, after_seq: number | null, given_up: AbortSignal): Promise<void> {
    const { epoch, last_seq, body, events } = batch
    const { home, confirm, setAside, now } = this.#context
    const headers = {
      'Content-Encoding': 'zstd',
      'Content-Type': 'application/x-ndjson',
      'Tidemark-Edge': this.#entries.edge,
      'Tidemark-Epoch': epoch,
      'Tidemark-Digest': new Bun.CryptoHasher('sha256').update(body).digest('hex'),
      'Tidemark-Report': this.#printReport(),
      ...(after_seq === null ? {} : { 'Tidemark-After': String(after_seq) }),
    }
    const signal = AbortSignal.any([this.#stop.signal, given_up])
    const init = { method: 'POST', headers, body, signal }
    const started_ms = performance.now()
    const answer = await home.call('/_edge/v1/batch', init, TIMEOUT_MS)
    const stored = await readJson(answer, ANSWER_BYTES_MAX)
    const { seq, keeps_order, moved } = isObject(stored) ? stored : {}
    if (typeof moved === 'number' && typeof seq === 'number' && last_seq !== null) {
      setAside({ project_id: moved, epoch, after_seq: seq, up_to_seq: last_seq })
      this.#moved.set(moved, now().getTime())
      throw new HomeError(
        answer.status,
        `project ${moved} has moved to another server: its events stay on this edge until it forwards to that one`,
      )
    }
    if (typeof seq !== 'number' || (last_seq !== null && seq < last_seq)) {
      const is_early = typeof seq === 'number' && after_seq !== null && seq < after_seq
      const cause = is_early ? 'lacks the batch before this one' : 'does not speak this wire'
      throw new HomeError(answer.status, `the home ${cause}`)
    }
    this.#keeps_order = keeps_order === true
    this.times.record(secondsSince(started_ms))
    this.#noteSuccess(body.length, events)
    this.#confirmed_seq = Math.max(this.#confirmed_seq, last_seq ?? 0)
    // Also after a report alone: a deletion that failed on a full disk is tried again.
    confirm(epoch, this.#confirmed_seq)
  }

  #printReport(): string {
    const report = this.report()
    return JSON.stringify({ ...report, projects: report.projects.slice(0, PROJECTS_REPORTED_MAX) })
  }

  #noteSuccess(bytes: number, events: number): void {
    if (this.#last_error !== null) this.#context.log.info({}, 'the home takes batches again')
    this.#last_error = null
    this.#back_off.reset()
    this.#bytes_max = Math.min(BYTES_MAX, this.#bytes_max * 2)
    const { totals } = this
    this.#totals = {
      ...totals,
      events: totals.events + events,
      batches: totals.batches + 1,
      bytes_sent: totals.bytes_sent + bytes,
    }
  }

  /** Logs why a batch did not arrive, and waits until the next try. */
  async #noteFailure(error: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return
    this.#last_error = errorMessage(error)
    this.#keeps_order = false
    this.#totals = { ...this.#totals, failures: this.#totals.failures + 1 }
    // A slow line, or a home that takes less: smaller batches get through one by one.
    this.#bytes_max = Math.max(BYTES_MIN, this.#bytes_max / 2)
    this.#context.log.warn({ reason: this.#last_error }, 'the home did not take a batch')
    await sleep(this.#back_off.next(), this.#stop.signal)
  }

  /** Waits for new entries, at most until a report is due. */
  async #rest(): Promise<void> {
    await Promise.race([this.#wake.promise, sleep(REPORT_EVERY_MS, this.#stop.signal)])
    this.#wake = Promise.withResolvers()
  }
}
