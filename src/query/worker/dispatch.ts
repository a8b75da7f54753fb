/** The query process at work: answers queries, interrupts them, takes new manifests. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { neededColumns } from '../../storage/files/property-columns.ts'
import type {
  FromQueryProcess,
  QueryProgressCounts,
  ToQueryProcess,
  WorkerQuery,
} from '../engine/protocol.ts'
import { engineRefusal } from './engine-errors.ts'
import { readingOwn } from './event-macros.ts'
import { answerQuestion, sendParts } from './execute.ts'
import type { AddressSpace } from './memory-limit.ts'
import { OpenProjects, type ProjectsOptions } from './open-projects.ts'
import { ResourceUsage } from './resource-usage.ts'

export type DispatcherOptions = ProjectsOptions & { readonly result_bytes_max: number }

export type SendFrame = (head: FromQueryProcess, rest?: readonly Uint8Array[]) => void

const INTERRUPT_AGAIN_MS = 50
/** With less of the address space than this part, a lack of memory is not held against a query. */
const SCARCE_SHARE = 0.5
/** With less, the process should be replaced while nothing runs. */
const WORN_SHARE = 0.25
/** Parts that may be on their way to the server at a time. */
const PARTS_AHEAD = 4

/** A query under way; `connection` is there while the engine has it, before that `stop` ends the wait. */
type RunningStatement = {
  interrupted: boolean
  connection: DuckDBConnection | null
  readonly stop: (error: Error) => void
  readonly started_at: number
  /** How many parts may still be sent, and who waits to send one. */
  parts_left: number
  onMore: () => void
}

export class QueryDispatcher {
  readonly #projects: OpenProjects
  readonly #result_bytes_max: number
  readonly #send: SendFrame
  readonly #running = new Map<number, RunningStatement>()
  readonly #spending = new ResourceUsage()
  #addresses: AddressSpace | null = null
  /** The part of the address space that is left, as of the end of the last query. */
  #share_left = 1

  constructor(options: DispatcherOptions, send: SendFrame) {
    this.#projects = new OpenProjects(options)
    this.#result_bytes_max = options.result_bytes_max
    this.#send = send
  }

  /** Watches from now on how much address space is left. */
  watchAddresses(addresses: AddressSpace | null): void {
    this.#addresses = addresses
  }

  /** Never throws: whatever goes wrong with a query is sent back as a refusal. */
  async handle(message: ToQueryProcess): Promise<void> {
    switch (message.kind) {
      case 'ask':
        return this.#ask(message.id, message.query)
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
    }
  }

  async #ask(id: number, query: WorkerQuery): Promise<void> {
    const stopped = Promise.withResolvers<never>()
    const running: RunningStatement = {
      interrupted: false,
      connection: null,
      stop: stopped.reject,
      started_at: performance.now(),
      parts_left: PARTS_AHEAD,
      onMore: () => undefined,
    }
    this.#running.set(id, running)
    this.#spending.begin(id)
    const was_scarce = this.#share_left < SCARCE_SHARE
    try {
      await Promise.race([this.#answer(id, query, running), stopped.promise])
    } catch (error) {
      const { code, detail } = engineRefusal(error, was_scarce || this.#isSharedOut())
      this.#send({ kind: 'refused', id, code, detail })
    } finally {
      this.#running.delete(id)
      this.#spending.end(id)
      this.#measureAddresses()
    }
  }

  #measureAddresses(): void {
    if (this.#addresses === null) return
    this.#share_left = this.#addresses.bytesLeft() / this.#addresses.bytes_total
    if (this.#share_left < WORN_SHARE) this.#send({ kind: 'worn' })
  }

  /** True when several queries run and the address space is used up: any of them may be the one that took it. */
  #isSharedOut(): boolean {
    this.#measureAddresses()
    return this.#running.size > 1 && this.#share_left < WORN_SHARE
  }

  async #answer(id: number, input: WorkerQuery, running: RunningStatement): Promise<void> {
    const started_at = performance.now()
    const { sql, relations } = readingOwn(input.sql, input.event_days)
    const query = { ...input, sql }
    const wanted = { reads: input.reads, columns: neededColumns(sql), relations }
    await this.#projects.use(query.project_id, wanted, async (store) => {
      const follow_ms = performance.now() - started_at
      const { reader, release } = await store.connect(sql)
      running.connection = reader.connection
      try {
        if (running.interrupted) throw new Error(INTERRUPTED)
        const rows =
          query.parts === undefined
            ? await answerQuestion(reader, query, this.#result_bytes_max)
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

  /** Over and over until the query is gone: between two statements the engine hears no interrupt. */
  #interrupt(id: number): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    running.interrupted = true
    if (running.connection === null) running.stop(new Error(INTERRUPTED))
    else running.connection.interrupt()
    running.onMore()
    setTimeout(() => this.#interrupt(id), INTERRUPT_AGAIN_MS)
  }

  /** Sends a part as soon as the server has taken those before it, so that none pile up here. */
  async #sendPart(id: number, running: RunningStatement, part: Uint8Array): Promise<void> {
    while (running.parts_left === 0 && !running.interrupted) {
      const more = Promise.withResolvers<void>()
      running.onMore = more.resolve
      await more.promise
    }
    if (running.interrupted) throw new Error(INTERRUPTED)
    running.parts_left -= 1
    this.#send({ kind: 'part', id }, [part])
  }

  #more(id: number): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    running.parts_left += 1
    running.onMore()
  }

  /** Null before the engine has the query, and where it cannot tell. */
  #progress(id: number): QueryProgressCounts | null {
    const running = this.#running.get(id)
    if (running === undefined || running.connection === null) return null
    const { percentage, rows_processed, total_rows_to_process } = running.connection.progress
    const known = percentage >= 0
    const { bytes_read, cpu_us } = this.#spending.of(id)
    return {
      bytes_read: Math.round(bytes_read),
      cpu_us: Math.round(cpu_us),
      rows_read: known ? Number(rows_processed) : 0,
      rows_total: known ? Number(total_rows_to_process) : 0,
      elapsed_ms: performance.now() - running.started_at,
    }
  }
}

/** As the engine itself says it. */
const INTERRUPTED = 'INTERRUPT Error: Interrupted!'
