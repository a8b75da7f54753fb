/** Group commit on the data thread: what waits is written together, and one bad request harms no other (contract C2). */
import { applyJob, commit, forgetStores, type Stores } from './apply.ts'
import { type Job, type JobNeeds, type Lane, prepareSome, refusedBy, startJob } from './job.ts'
import type { CaptureAnswer, Committed, Failed, NumberedCapture, Refused } from './messages.ts'
import { Spikes } from './spikes.ts'
import { faultOf } from './storage-faults.ts'

/** Events one request may prepare per turn: a body of a million events lets others through in between. */
const PREPARED_PER_TURN_MAX = 2000
/** Events of a normal commit; more of them wait for the next one, so that no answer waits for very many. */
const COMMITTED_TOGETHER_MAX = 5000
/** Events of a commit of what stands behind. */
const COMMITTED_BEHIND_MAX = 1000
/** What a row adds to the write-ahead log beyond its properties, roughly. */
const ROW_OVERHEAD_BYTES = 400

type Answer = readonly [id: number, answer: CaptureAnswer | Failed]

/** What the committer needs, and whom it tells. */
export type CommitterNeeds = JobNeeds & {
  readonly stores: Stores
  readonly answer: (committed: Committed) => void
  /** The database is damaged: nothing must be written to it any more (F9). */
  readonly breakDown: (message: string) => void
}

/** Holds the requests that are not answered yet. `turn` does a bounded amount of work on them. */
export class Committer {
  readonly #needs: CommitterNeeds
  readonly #spikes = new Spikes()
  #arrived: NumberedCapture[] = []
  #preparing: Job[] = []
  readonly #lanes: Record<Lane, Job[]> = { normal: [], demoted: [], historical: [] }
  #is_broken = false

  constructor(needs: CommitterNeeds) {
    this.#needs = needs
  }

  receive(captures: readonly NumberedCapture[]): void {
    this.#arrived.push(...captures)
  }

  get has_work(): boolean {
    return (
      this.#arrived.length > 0 ||
      this.#preparing.length > 0 ||
      Object.values(this.#lanes).some((jobs) => jobs.length > 0)
    )
  }

  /** Prepares what arrived, commits the normal requests, then some of those that stand behind. */
  turn(): void {
    this.#prepare()
    this.#commitGroup(take(this.#lanes.normal, COMMITTED_TOGETHER_MAX))
    this.#commitGroup(take(this.#lanes.demoted, COMMITTED_BEHIND_MAX))
    this.#commitGroup(take(this.#lanes.historical, COMMITTED_BEHIND_MAX))
  }

  #prepare(): void {
    this.#needs.tokens.distrust()
    const answers: Answer[] = []
    for (const capture of this.#arrived) {
      this.#guard(capture.id, answers, () => this.#preparing.push(startJob(capture, this.#needs)))
    }
    this.#arrived = []
    const unfinished: Job[] = []
    for (const job of this.#preparing) {
      this.#guard(job.id, answers, () => {
        const is_ready = prepareSome(job, PREPARED_PER_TURN_MAX, this.#spikes)
        if (is_ready) this.#lanes[job.lane].push(job)
        else unfinished.push(job)
      })
    }
    this.#preparing = unfinished
    if (answers.length > 0) this.#tell(answers, 0)
  }

  /** Keeps one request's refusal or bug to itself. */
  #guard(id: number, answers: Answer[], work: () => void): void {
    try {
      work()
    } catch (error) {
      const is_unavailable = faultOf(error) === 'unavailable'
      answers.push([id, refusedBy(error) ?? (is_unavailable ? UNAVAILABLE : failedBy(error))])
    }
  }

  #commitGroup(jobs: readonly Job[]): void {
    if (jobs.length === 0) return
    if (this.#is_broken) {
      this.#tell(refuseAll(jobs), 0)
      return
    }
    const answers: Answer[] = []
    let bytes = 0
    try {
      commit(this.#needs.stores, () => {
        for (const job of jobs) {
          answers.push([job.id, applyJob(this.#needs.stores, job)])
          for (const event of job.events) bytes += event.properties_text.length + ROW_OVERHEAD_BYTES
        }
      })
    } catch (error) {
      forgetStores(this.#needs.stores)
      this.#recover(jobs, error)
      return
    }
    this.#tell(answers, bytes)
  }

  /** After a rollback: refuse everybody when the disk is at fault, otherwise find the one request that is. */
  #recover(jobs: readonly Job[], error: unknown): void {
    const fault = faultOf(error)
    if (fault === 'damaged') {
      this.#is_broken = true
      this.#needs.breakDown(messageOf(error))
    }
    if (fault !== null) this.#tell(refuseAll(jobs), 0)
    else if (jobs.length > 1) for (const job of jobs) this.#commitGroup([job])
    else
      this.#tell(
        jobs.map((job): Answer => [job.id, failedBy(error)]),
        0,
      )
  }

  #tell(answers: readonly Answer[], bytes_written: number): void {
    const first_events = this.#needs.stores.counters.takeFirstEvents()
    this.#needs.answer({ kind: 'answers', answers, first_events, bytes_written })
  }
}

const UNAVAILABLE: Refused = {
  kind: 'refused',
  code: 'storage_unavailable',
  detail: 'Unable to store event. Please try again.',
  attr: null,
}

function refuseAll(jobs: readonly Job[]): Answer[] {
  return jobs.map((job): Answer => [job.id, UNAVAILABLE])
}

/** The jobs at the head of a lane, as far as their events fit; at least one, or a large one would wait for ever. */
function take(lane: Job[], events_max: number): readonly Job[] {
  let count = 0
  let events = 0
  for (const job of lane) {
    events += job.parsed.events.length
    if (count > 0 && events > events_max) break
    count += 1
  }
  return lane.splice(0, count)
}

function failedBy(error: unknown): Failed {
  return { kind: 'failed', message: messageOf(error) }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
