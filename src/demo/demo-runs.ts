/** Gives projects demo data in the background, through the same ingestion as everybody's events. */
import type { ControlDB } from '../projects/access.ts'
import { type DemoRun, listUnfinishedDemoRuns, recordDemoRun } from '../projects/demo-runs.ts'
import { findProject } from '../projects/project.ts'
import type { FlagDefinitions } from '../targeting/flags/flag-definitions.ts'
import { editorFor } from '../targeting/shared/editor.ts'
import { createDemoThings } from './objects.ts'
import { type DemoEvent, generatePerson } from './timeline.ts'

/** The part of ingestion that is needed: what a request over the wire is handed to. */
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

export type DemoDependencies = {
  readonly control: ControlDB
  readonly capture: DemoCapture
  readonly flags: Pick<FlagDefinitions, 'expectChange' | 'flagsOf'>
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
}

const LOOK_MS = 1000
const EVENTS_PER_REQUEST = 500
/** Progress is written down this often: every note is a commit. */
const NOTE_MS = 500
/** Refusals that may be over at the next try: a full disk, and a token that was changed on the way. */
const PASSING: ReadonlySet<string> = new Set(['storage_unavailable', 'invalid_api_key'])
const RETRY_MS = 1000
const TRIES_MAX = 30

/** Looks for runs that somebody has ordered, also by the command line or before a stop, and carries them out. */
export class DemoRuns {
  readonly #context: DemoDependencies
  readonly #running = new Map<number, Promise<void>>()
  #timer: Timer | null = null
  #is_closed = false

  constructor(context: DemoDependencies) {
    this.#context = context
  }

  /** Looks now and from then on. */
  start(): void {
    if (this.#is_closed) return
    try {
      this.look()
    } catch (err) {
      this.#context.log.error({ err }, 'demo data could not be looked after')
    }
    this.#timer = setTimeout(() => this.start(), LOOK_MS)
  }

  /** Begins what is ordered and not begun, and what ended without a note of how, as on a full disk. */
  look(): void {
    for (const run of listUnfinishedDemoRuns(this.#context.control)) {
      if (this.#running.has(run.project_id)) continue
      const work = this.#carryOut(run)
        .catch((err: unknown) => {
          this.#context.log.error(
            { err, project_id: run.project_id },
            'demo data could not be noted',
          )
        })
        .finally(() => this.#running.delete(run.project_id))
      this.#running.set(run.project_id, work)
    }
  }

  /** Resolves when nothing runs any more; what was cut off is begun again at the next start, and stored once. */
  async close(): Promise<void> {
    this.#is_closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await Promise.all(this.#running.values())
  }

  async #carryOut(run: DemoRun): Promise<void> {
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
      const error = err instanceof Error ? err.message : String(err)
      recordDemoRun(control, run.project_id, { state: 'failed', error, finished_at: now() })
    }
  }

  /** Answers how many events there were; null when it was cut off. */
  async #generate(run: DemoRun): Promise<number | null> {
    const { control, now } = this.#context
    const { project_id, seed, persons, days, end_at } = run
    this.#createThings(project_id)
    const plot = { seed, persons, days, end_ms: end_at.getTime() }
    let done_events = 0
    let noted_ms = 0
    let batch: DemoEvent[] = []
    for (let number = 0; number < persons; number += 1) {
      for (const event of generatePerson(plot, number)) batch.push(event)
      if (batch.length < EVENTS_PER_REQUEST && number + 1 < persons) continue
      if (this.#is_closed || findProject(control, project_id) === null) return null
      await this.#send(project_id, batch)
      done_events += batch.length
      batch = []
      if (now().getTime() - noted_ms < NOTE_MS) continue
      noted_ms = now().getTime()
      const total_events = Math.round((done_events / (number + 1)) * persons)
      recordDemoRun(control, project_id, { done_events, total_events })
    }
    return done_events
  }

  #createThings(project_id: number): void {
    const project = findProject(this.#context.control, project_id)
    if (project === null) return
    createDemoThings(editorFor(this.#context, project, null), this.#context.now())
  }

  /** As a migration: in its order, with its own times, and behind everybody else's events. */
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
      if (!PASSING.has(answer.code) || tries === TRIES_MAX) throw new Error(answer.detail)
      await Bun.sleep(RETRY_MS)
    }
  }
}
