/** Keeps an edge's copies of its projects' definitions: asks the home every few seconds, with the ETag of the last answer. */
import { BackOff, sleep } from '../back-off.ts'
import { MIB } from '../bytes.ts'
import { errorMessage } from '../error-message.ts'
import { isObject } from '../json.ts'
import { EdgeCopies } from '../storage/control/edge-copies.ts'
import type { GroupTypeCopy } from '../storage/persons/edge-persons.ts'
import { SECOND_MS } from '../time.ts'
import { type CopiedDefinitions, EDGE_TABLES } from './definition-tables.ts'
import { type Home, HomeError, readJson } from './home.ts'
import { WIRE_VERSION } from './report.ts'

/** Bytes of the home's answer: definitions of many projects. */
const ANSWER_BYTES_MAX = 512 * MIB
const TIMEOUT_MS = 30 * SECOND_MS
const RETRY_MAX_MS = 30 * SECOND_MS

type DefinitionsContext = {
  readonly data_dir: string
  readonly home: Home
  readonly refresh_ms: number
  /** Receives the group types of all projects: they are stored with persons. */
  readonly takeGroupTypes: (types: readonly GroupTypeCopy[]) => void
  readonly log: { readonly warn: (fields: object, message: string) => void }
  readonly now: () => Date
}

/** Runs from `start` until `close`. The copies are on disk: an edge that starts without its home answers from them. */
export class EdgeDefinitions {
  readonly #context: DefinitionsContext
  readonly #copies: EdgeCopies
  readonly #back_off: BackOff
  readonly #stop = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #projects: readonly number[]
  #is_present: boolean
  /**
   * Null until the first answer since the start: an earlier version has left out columns that it did not know, and a crash
   * may have lost group types, while the home has nothing newer.
   */
  #etag: string | null = null
  #checked_at: number | null

  constructor(context: DefinitionsContext) {
    this.#context = context
    this.#copies = new EdgeCopies(context.data_dir)
    this.#back_off = new BackOff(Math.min(SECOND_MS, context.refresh_ms), RETRY_MAX_MS)
    const state = this.#copies.readState()
    this.#is_present = state !== null
    this.#checked_at = state?.checked_at ?? null
    this.#projects = this.#copies.listProjects()
  }

  /** Whether the home has ever answered: before that no token is known, which must not look like a wrong one. */
  get is_present(): boolean {
    return this.#is_present
  }

  /** Time since the definitions were found to be the home's, in seconds; null before the first time. */
  get age_s(): number | null {
    if (this.#checked_at === null) return null
    return Math.max(0, this.#context.now().getTime() - this.#checked_at) / 1000
  }

  get projects(): readonly number[] {
    return this.#projects
  }

  start(): void {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    this.#copies.close()
  }

  async #run(): Promise<void> {
    const { refresh_ms, log } = this.#context
    while (!this.#stop.signal.aborted) {
      let wait_ms = refresh_ms
      try {
        await this.#refresh()
        this.#back_off.reset()
      } catch (error) {
        if (this.#stop.signal.aborted) return
        const reason = errorMessage(error)
        log.warn({ reason }, 'the home did not send its definitions')
        wait_ms = this.#back_off.next()
      }
      await sleep(wait_ms, this.#stop.signal)
    }
  }

  async #refresh(): Promise<void> {
    const { home, now, takeGroupTypes } = this.#context
    const headers: Record<string, string> =
      this.#etag === null ? {} : { 'If-None-Match': this.#etag }
    const init = { headers, signal: this.#stop.signal }
    const answer = await home.call('/_edge/v1/definitions', init, TIMEOUT_MS)
    const checked_at = now().getTime()
    if (answer.status === 304) {
      this.#copies.noteChecked(checked_at)
      this.#checked_at = checked_at
      return
    }
    const etag = answer.headers.get('etag')
    const definitions = readDefinitions(await readJson(answer, ANSWER_BYTES_MAX))
    if (etag === null || definitions === null) {
      throw new HomeError(answer.status, 'the home does not speak this wire')
    }
    const copies = EDGE_TABLES.map(({ name: table }) => ({
      table,
      rows: definitions.tables[table] ?? [],
    }))
    takeGroupTypes(definitions.group_types)
    this.#copies.replace(copies, { etag, checked_at })
    this.#etag = etag
    this.#is_present = true
    this.#checked_at = checked_at
    this.#projects = this.#copies.listProjects()
  }
}

/** Reads the home's answer; null for an answer that this version cannot read. */
function readDefinitions(value: unknown): CopiedDefinitions | null {
  if (!isObject(value) || value['wire'] !== WIRE_VERSION) return null
  const { tables, group_types } = value
  const has_rows = isObject(tables) && Object.values(tables).every(isRowList)
  return has_rows && isRowList(group_types) ? (value as CopiedDefinitions) : null
}

function isRowList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject)
}
