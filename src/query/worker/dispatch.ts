/** The worker's message loop: runs queries, interrupts them, adopts new manifests. */
import type { DuckDBConnection } from '@duckdb/node-api'
import type {
  FromQueryProcess,
  QueryProgressCounts,
  ToQueryProcess,
  WorkerQuery,
} from '../engine/protocol.ts'
import { engineRefusal, isFileDamage } from './engine-errors.ts'
import { answerQuery, sendParts } from './execute.ts'
import type { AddressSpace } from './limits/memory-limit.ts'
import { ResourceUsage } from './limits/resource-usage.ts'
import { OpenProjects, type ProjectsOptions } from './open-projects.ts'

type DispatcherOptions = ProjectsOptions & { readonly result_bytes_max: number }

type SendFrame = (head: FromQueryProcess, rest?: readonly Uint8Array[]) => void

const INTERRUPT_AGAIN_MS = 50
/** With a smaller share of the address space left, running out of memory is not the query's fault. */
const SCARCE_SHARE = 0.5
/** With a smaller share left, the server should replace the worker when nothing runs. */
const WORN_SHARE = 0.25
/** Parts sent to the server before it has consumed the first: the window of the backpressure. */
const PARTS_AHEAD = 4

/** A running query; `connection` is set while DuckDB executes it, before that `stop` ends the wait. */
type RunningStatement = {
  is_interrupted: boolean
  connection: DuckDBConnection | null
  readonly stop: (error: Error) => void
  readonly started_at: number
  /** Free places in the window of parts; `onMore` wakes the sender. */
  parts_left: number
  onMore: () => void
}

export class QueryDispatcher {
  readonly #projects: OpenProjects
  readonly #result_bytes_max: number
  readonly #send: SendFrame
  readonly #running = new Map<number, RunningStatement>()
  readonly #usage = new ResourceUsage()
  #addresses: AddressSpace | null = null
  /** The share of the address space left at the end of the last query. */
  #share_left = 1

  constructor(options: DispatcherOptions, send: SendFrame) {
    this.#projects = new OpenProjects(options)
    this.#result_bytes_max = options.result_bytes_max
    this.#send = send
  }

  /** Begins to watch the address space. */
  watchAddresses(addresses: AddressSpace | null): void {
    this.#addresses = addresses
    this.#projects.limitAddresses(addresses)
  }

  /** Handles a message. Never throws: errors of a query are sent back as refusals. */
  async handle(message: ToQueryProcess): Promise<void> {
    switch (message.kind) {
      case 'run':
        return this.#run(message.id, message.query)
      case 'interrupt':
        return this.#interrupt(message.id)
      case 'probe':
        return this.#send({
          kind: 'progress',
          probe: message.probe,
          progress: this.#progress(message.id),
        })
      case 'more':
        return this.#more(message.id)
      case 'adopt':
        await this.#projects.adoptManifest()
        return this.#send({ kind: 'adopted', id: message.id })
      case 'reopen':
        return this.#projects.reopen(message.project_id)
      case 'warm':
        return this.#projects.warm()
    }
  }

  async #run(id: number, query: WorkerQuery): Promise<void> {
    const stopped = Promise.withResolvers<never>()
    const running: RunningStatement = {
      is_interrupted: false,
      connection: null,
      stop: stopped.reject,
      started_at: performance.now(),
      parts_left: PARTS_AHEAD,
      onMore: () => undefined,
    }
    this.#running.set(id, running)
    this.#usage.begin(id)
    const was_scarce = this.#share_left < SCARCE_SHARE
    try {
      await Promise.race([this.#answer(id, query, running), stopped.promise])
    } catch (error) {
      // The next query checks the project's files, and names the damaged one.
      if (isFileDamage(error)) this.#projects.reopen(query.project_id)
      const { code, detail } = engineRefusal(error, was_scarce || this.#isUsedUpBySeveral())
      this.#send({ kind: 'refused', id, code, detail })
    } finally {
      this.#running.delete(id)
      this.#usage.end(id)
      this.#measureAddresses()
    }
  }

  #measureAddresses(): void {
    if (this.#addresses === null) return
    this.#share_left = this.#addresses.bytesLeft() / this.#addresses.bytes_total
    if (this.#share_left < WORN_SHARE) this.#send({ kind: 'worn' })
  }

  /** True when several queries run and the address space is used up: any of them may have taken it. */
  #isUsedUpBySeveral(): boolean {
    this.#measureAddresses()
    return this.#running.size > 1 && this.#share_left < WORN_SHARE
  }

  async #answer(id: number, query: WorkerQuery, running: RunningStatement): Promise<void> {
    const started_at = performance.now()
    await this.#projects.use(query.project_id, query.reads, async (store) => {
      const follow_ms = performance.now() - started_at
      const { reader, release } = await store.connect(query.sql)
      running.connection = reader.connection
      try {
        if (running.is_interrupted) throw new Error(INTERRUPTED)
        const rows =
          query.parts === undefined
            ? await answerQuery(reader, query, this.#result_bytes_max)
            : await sendParts(reader, query, (part) => this.#sendPart(id, running, part))
        const { bytes, row_count, has_more, execute_ms, read_ms } = rows
        const timings = { follow_ms, execute_ms, read_ms }
        this.#send({ kind: 'answer', id, row_count, has_more, timings }, bytes)
      } finally {
        running.connection = null
        release()
      }
    })
  }

  /** Interrupts repeatedly until the query has ended: DuckDB ignores an interrupt between two statements. */
  #interrupt(id: number): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    running.is_interrupted = true
    if (running.connection === null) running.stop(new Error(INTERRUPTED))
    else running.connection.interrupt()
    running.onMore()
    setTimeout(() => this.#interrupt(id), INTERRUPT_AGAIN_MS)
  }

  /** Sends a part once the window has room. */
  async #sendPart(id: number, running: RunningStatement, part: Uint8Array): Promise<void> {
    while (running.parts_left === 0 && !running.is_interrupted) {
      const more = Promise.withResolvers<void>()
      running.onMore = more.resolve
      await more.promise
    }
    if (running.is_interrupted) throw new Error(INTERRUPTED)
    running.parts_left -= 1
    this.#send({ kind: 'part', id }, [part])
  }

  #more(id: number): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    running.parts_left += 1
    running.onMore()
  }

  /** Reads a query's progress; null before DuckDB executes it. */
  #progress(id: number): QueryProgressCounts | null {
    const running = this.#running.get(id)
    if (running === undefined || running.connection === null) return null
    const { percentage, rows_processed, total_rows_to_process } = running.connection.progress
    const is_available = percentage >= 0
    const { bytes_read, cpu_us } = this.#usage.of(id)
    return {
      bytes_read: Math.round(bytes_read),
      cpu_us: Math.round(cpu_us),
      rows_read: is_available ? Number(rows_processed) : 0,
      rows_total: is_available ? Number(total_rows_to_process) : 0,
      elapsed_ms: performance.now() - running.started_at,
    }
  }
}

/** The message of DuckDB for an interrupted query. */
const INTERRUPTED = 'INTERRUPT Error: Interrupted!'
