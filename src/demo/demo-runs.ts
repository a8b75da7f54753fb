/** Generates demo data in the background and sends it through the ordinary ingestion. */

import { errorMessage } from '../error-message.ts'
import { type DemoRun, listUnfinishedDemoRuns, recordDemoRun } from '../projects/demo-runs.ts'
import type { ControlDB } from '../projects/rights/access.ts'
import { findProject } from '../projects/settings/project.ts'
import type { FlagDefinitions } from '../targeting/flags/flag-definitions.ts'
import { editorFor } from '../targeting/shared/editor.ts'
import { createDemoThings } from './objects.ts'
import { type DemoEvent, generatePerson } from './timeline.ts'

/** The method of ingestion that takes a request. */
type DemoCapture = {
  send(request: {
    readonly path: string
    readonly query: string
    readonly content_type: string
    readonly content_encoding: string
    readonly client_ip: string
    readonly received_at_ms: number
    readonly body: Uint8Array<ArrayBuffer>
  }): Promise<
    | { readonly kind: 'stored' }
    | { readonly kind: 'refused'; readonly code: string; readonly detail: string }
  >
}

type DemoDependencies = {
  readonly control: ControlDB
  readonly capture: DemoCapture
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'readyFlagsOf'>
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
}

const LOOK_MS = 1000
const EVENTS_PER_REQUEST = 500
/** Interval of progress records, each of which is a commit. */
const RECORD_EVERY_MS = 500
/** Refusals after which a retry may succeed: a full disk, or a token that was replaced meanwhile. */
const RETRYABLE: ReadonlySet<string> = new Set(['storage_unavailable', 'invalid_api_key'])
const RETRY_MS = 1000
const TRIES_MAX = 30

/** Polls for requested runs, also from the command line or before a restart, and executes them. */
export class DemoRuns {
  readonly #context: DemoDependencies
  readonly #running = new Map<number, Promise<void>>()
  #timer: Timer | null = null
  #is_closed = false

  constructor(context: DemoDependencies) {
    this.#context = context
  }

  /** Polls now and once a second. */
  start(): void {
    if (this.#is_closed) return
    try {
      this.look()
    } catch (err) {
      this.#context.log.error({ err }, 'demo runs could not be read')
    }
    this.#timer = setTimeout(() => this.start(), LOOK_MS)
  }

  /**
   * Starts every unfinished run again, unless it is running now; a run whose end could not be recorded counts as
   * unfinished.
   */
  look(): void {
    for (const run of listUnfinishedDemoRuns(this.#context.control)) {
      if (this.#running.has(run.project_id)) continue
      const work = this.#execute(run)
        .catch((err: unknown) => {
          this.#context.log.error(
            { err, project_id: run.project_id },
            'the state of a demo run could not be recorded',
          )
        })
        .finally(() => this.#running.delete(run.project_id))
      this.#running.set(run.project_id, work)
    }
  }

  /** Resolves when nothing runs. Interrupted runs start over at the next start; uuids prevent duplicates. */
  async close(): Promise<void> {
    this.#is_closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.all(this.#running.values())
  }

  async #execute(run: DemoRun): Promise<void> {
    const { control, log, now } = this.#context
    try {
      const done_events = await this.#generate(run)
      if (done_events === null) return
      const total_events = done_events
      recordDemoRun(control, run.project_id, {
        state: 'done',
        done_events,
        total_events,
        finished_at: now(),
      })
    } catch (err) {
      log.error({ err, project_id: run.project_id }, 'demo data could not be generated')
      const error = errorMessage(err)
      recordDemoRun(control, run.project_id, { state: 'failed', error, finished_at: now() })
    }
  }

  /** Returns the number of events; null if the run was interrupted. */
  async #generate(run: DemoRun): Promise<number | null> {
    const { control, now } = this.#context
    const { project_id, seed, persons, days, end_at } = run
    await this.#createObjects(project_id)
    const plot = { seed, persons, days, end_ms: end_at.getTime() }
    let done_events = 0
    let recorded_ms = 0
    let batch: DemoEvent[] = []
    for (let number = 0; number < persons; number += 1) {
      for (const event of generatePerson(plot, number)) batch.push(event)
      if (batch.length < EVENTS_PER_REQUEST && number + 1 < persons) continue
      if (this.#is_closed || findProject(control, project_id) === null) return null
      await this.#send(project_id, batch)
      done_events += batch.length
      batch = []
      if (now().getTime() - recorded_ms < RECORD_EVERY_MS) continue
      recorded_ms = now().getTime()
      const total_events = Math.round((done_events / (number + 1)) * persons)
      recordDemoRun(control, project_id, { done_events, total_events })
    }
    return done_events
  }

  async #createObjects(project_id: number): Promise<void> {
    const project = findProject(this.#context.control, project_id)
    if (project === null) return
    createDemoThings(await editorFor(this.#context, project, null), this.#context.now())
  }

  /** Sends a batch as a historical import: in order, with its timestamps, in a lane of low priority. */
  async #send(project_id: number, batch: readonly DemoEvent[]): Promise<void> {
    for (let tries = 1; batch.length > 0; tries += 1) {
      const project = findProject(this.#context.control, project_id)
      if (project === null) return
      const { api_token: api_key } = project
      const body = JSON.stringify({ api_key, historical_migration: true, batch })
      const answer = await this.#context.capture.send({
        path: '/batch',
        query: '',
        content_type: 'application/json',
        content_encoding: '',
        client_ip: '',
        received_at_ms: this.#context.now().getTime(),
        body: new TextEncoder().encode(body),
      })
      if (answer.kind === 'stored') return
      if (!RETRYABLE.has(answer.code) || tries === TRIES_MAX) throw new Error(answer.detail)
      await Bun.sleep(RETRY_MS)
    }
  }
}
