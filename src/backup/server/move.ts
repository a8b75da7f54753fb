/** One move from another server: both servers, the progress, the report, and the events that are sent here. */
import { createHash } from 'node:crypto'
import { BackupFault } from '../fill-folder.ts'
import { BATCH_BYTES, BATCH_EVENTS, sendEvents } from '../import.ts'
import { type JSONObject, uuidOf } from '../sources/source.ts'
import type { MovedTable, MoveState, StateFile, TableProgress } from './move-state.ts'
import { countReason, MoveReport } from './report.ts'
import type { ServerAPI } from './server-api.ts'

type MoveSettings = {
  readonly source: ServerAPI
  readonly target: ServerAPI
  /** The project's token here. */
  readonly api_token: string
  readonly file: StateFile
  /** The most rows of one query. */
  readonly page_rows: number
  /** A text that no definition has by chance. */
  readonly mark: string
  /** Called after each page: rows read of all rows of a stage. */
  readonly onProgress: (stage: string, done: number, all: number) => void
}

/** One run of a move: both servers, the progress, the report. */
export class Move {
  readonly report = new MoveReport()
  readonly source: ServerAPI
  readonly target: ServerAPI
  readonly mark: string
  readonly page_rows: number
  readonly #options: MoveSettings
  #steps = 0

  constructor(options: MoveSettings) {
    this.#options = options
    this.source = options.source
    this.target = options.target
    this.mark = options.mark
    this.page_rows = options.page_rows
  }

  get state(): MoveState {
    return this.#options.file.state
  }

  save(): void {
    this.#options.file.save()
  }

  /** The id here of a thing of the source, or null. */
  readonly findTarget = (kind: string, source_id: string): number | string | null => {
    const moved = this.state.items[kind]
    return moved !== undefined && Object.hasOwn(moved, source_id)
      ? (moved[source_id]?.id ?? null)
      : null
  }

  /** The items of a kind that were brought over, by their id at the source. */
  itemsOf(kind: string): MoveState['items'][string] {
    return (this.state.items[kind] ??= {})
  }

  /** Adds a page to the progress of a table. */
  addPage(table: MovedTable, { cursor, read, brought }: TableProgress): void {
    const before = this.state[table]
    this.state[table] = { cursor, read: before.read + read, brought: before.brought + brought }
  }

  /** Gives an event a uuid that is the same when this run sends it again. */
  withUuid(event: JSONObject): JSONObject {
    const text = JSON.stringify([this.mark, this.state.began_at, event])
    return { ...event, uuid: uuidOf(createHash('sha256').update(text).digest('hex')) }
  }

  /** Sends events in order; those that are refused are counted. */
  async sendEvents(kind: string, events: readonly JSONObject[]): Promise<void> {
    let batch: string[] = []
    let bytes = 0
    for (const event of events) {
      const text = JSON.stringify(event)
      if (
        batch.length === BATCH_EVENTS ||
        (bytes + text.length > BATCH_BYTES && batch.length > 0)
      ) {
        await this.#sendBatch(kind, batch)
        batch = []
        bytes = 0
      }
      batch.push(text)
      bytes += text.length
    }
    await this.#sendBatch(kind, batch)
  }

  /** Bisects a refused batch, to leave out the events at fault alone. */
  async #sendBatch(kind: string, batch: readonly string[]): Promise<void> {
    if (batch.length === 0) return
    const to = { url: this.target.url, api_token: this.#options.api_token }
    const refused = await sendEvents(to, batch)
    if (refused === null) return
    if (batch.length === 1) {
      countReason(this.state.left_out, kind, `refused here: ${refused.slice(0, 200)}`)
      return
    }
    const half = Math.ceil(batch.length / 2)
    await this.#sendBatch(kind, batch.slice(0, half))
    await this.#sendBatch(kind, batch.slice(half))
  }

  /** Begins to count the steps of a stage. */
  beginSteps(): void {
    this.#steps = 0
  }

  showRows(stage: string, done: number, all: number): void {
    this.#options.onProgress(stage, done, all)
  }

  showStep(stage: string): void {
    this.#steps += 1
    this.#options.onProgress(stage, this.#steps, this.#steps)
  }

  /** Returns a value of the source's answer, or ends the move where it is none: nothing after it can be believed. */
  requireSane<Value>(value: Value | null, what: string): Value {
    if (value !== null) return value
    throw new BackupFault(`${this.source.name} answers with something else than ${what}`)
  }
}
