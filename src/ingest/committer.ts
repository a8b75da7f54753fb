/** Group commit on the data thread: what waits is written together, and one bad request harms no other (contract C2). */
import { beginWork, nameWork } from '../threads/this-thread.ts'
import { applyRequest, commit, forgetStores, type Stores } from './apply.ts'
import { finishJob, type Job, type JobNeeds } from './job.ts'
import {
  type Answer,
  type Committed,
  type NumberedCapture,
  type Refused,
  UNAVAILABLE,
} from './messages.ts'
import { type PackedSlice, unpackEvents, unpackRest } from './packing.ts'
import type { Lane, PreparedEvent, PreparedRequest } from './prepared.ts'
import { failedBy, messageOf, Preparer } from './preparer.ts'
import { Spikes } from './spikes.ts'
import { faultOf } from './storage-faults.ts'
import { unknownToken } from './token.ts'

/** Events of a normal commit; more of them wait for the next one, so that no answer waits for very many. */
const COMMITTED_TOGETHER_MAX = 5000
/** Events of a commit of what stands behind. */
const COMMITTED_BEHIND_MAX = 1000
/** What a row adds to the write-ahead log beyond its properties, roughly. */
const ROW_OVERHEAD_BYTES = 400

const STORING = nameWork('capture: storing events')
const COMMITTING = nameWork('capture: committing')

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
  readonly #preparer: Preparer
  readonly #spikes = new Spikes()
  /** Slices of requests that the prepare thread has not finished. */
  readonly #unfinished = new Map<number, PreparedEvent[]>()
  readonly #lanes: Record<Lane, PreparedRequest[]> = { normal: [], demoted: [], historical: [] }
  /** Projects that were deleted since the start; their numbers are never given again. */
  readonly #gone = new Set<number>()
  #is_broken = false

  constructor(needs: CommitterNeeds) {
    this.#needs = needs
    this.#preparer = new Preparer({
      ...needs,
      takeSlice: (job, is_last) => this.#takeSlice(job, is_last),
      refuse: (answers) => this.#tell(answers, 0),
    })
  }

  /** Takes requests as they came in. */
  receive(captures: readonly NumberedCapture[]): void {
    this.#preparer.receive(captures)
  }

  /** Takes a part of a request that was prepared elsewhere. */
  receivePacked(slice: PackedSlice, project_id: number): void {
    const events = this.#unfinished.get(slice.id) ?? []
    for (const event of unpackEvents(slice, project_id)) events.push(event)
    if (slice.request === '') {
      this.#unfinished.set(slice.id, events)
      return
    }
    this.#unfinished.delete(slice.id)
    this.#enqueue({ ...unpackRest(slice), events })
  }

  /** Forgets the parts of a request that turned out to be refused. */
  abandon(id: number): void {
    this.#unfinished.delete(id)
  }

  /** From now on nothing is written for a project: what waits would come back after all of it was deleted. */
  refuseProject(project_id: number): void {
    this.#gone.add(project_id)
  }

  get has_work(): boolean {
    return (
      this.#preparer.has_work || Object.values(this.#lanes).some((requests) => requests.length > 0)
    )
  }

  /** Prepares what arrived, commits the normal requests, then some of those that stand behind. */
  turn(): void {
    this.#preparer.turn()
    this.#commitLiving(take(this.#lanes.normal, COMMITTED_TOGETHER_MAX))
    this.#commitLiving(take(this.#lanes.demoted, COMMITTED_BEHIND_MAX))
    this.#commitLiving(take(this.#lanes.historical, COMMITTED_BEHIND_MAX))
  }

  #takeSlice(job: Job, is_last: boolean): void {
    if (is_last) this.#enqueue({ ...finishJob(job), events: job.events })
  }

  #enqueue(request: PreparedRequest): void {
    if (request.is_historical) {
      this.#lanes.historical.push(request)
      return
    }
    const loud = this.#spikes.findLoud(request.events, performance.now())
    if (loud === null) this.#lanes.normal.push(request)
    else this.#lanes.demoted.push({ ...request, warnings: [...request.warnings, loud] })
  }

  #commitLiving(requests: readonly PreparedRequest[]): void {
    const isGone = ({ project_id }: PreparedRequest): boolean => this.#gone.has(project_id)
    if (!requests.some(isGone)) {
      this.#commitGroup(requests)
      return
    }
    const { code, detail, attr } = unknownToken()
    this.#tell(refuseAll(requests.filter(isGone), { kind: 'refused', code, detail, attr }), 0)
    this.#commitGroup(requests.filter((request) => !isGone(request)))
  }

  #commitGroup(requests: readonly PreparedRequest[]): void {
    if (requests.length === 0) return
    if (this.#is_broken) {
      this.#tell(refuseAll(requests, UNAVAILABLE), 0)
      return
    }
    const answers: Answer[] = []
    let bytes = 0
    try {
      commit(this.#needs.stores, () => {
        for (const request of requests) {
          beginWork(STORING, request.id, request.project_id)
          const answer = applyRequest(this.#needs.stores, request, this.#needs.limits)
          answers.push([request.id, answer])
          for (const event of request.events) {
            bytes += event.properties_text.length + ROW_OVERHEAD_BYTES
          }
        }
        beginWork(COMMITTING, 0, 0)
      })
    } catch (error) {
      forgetStores(this.#needs.stores)
      this.#needs.names.forget()
      this.#recover(requests, error)
      return
    }
    this.#tell(answers, bytes)
  }

  /** After a rollback: refuse everybody when the disk is at fault, otherwise find the one request that is. */
  #recover(requests: readonly PreparedRequest[], error: unknown): void {
    const fault = faultOf(error)
    if (fault === 'damaged') {
      this.#is_broken = true
      this.#needs.breakDown(messageOf(error))
    }
    if (fault !== null) this.#tell(refuseAll(requests, UNAVAILABLE), 0)
    else if (requests.length > 1) for (const request of requests) this.#commitGroup([request])
    else
      this.#tell(
        requests.map((request): Answer => [request.id, failedBy(error)]),
        0,
      )
  }

  #tell(answers: readonly Answer[], bytes_written: number): void {
    this.#preparer.settle(answers.map(([id]) => id))
    const first_events = this.#needs.stores.counters.takeFirstEvents()
    this.#needs.answer({ kind: 'answers', answers, first_events, bytes_written })
  }
}

function refuseAll(requests: readonly PreparedRequest[], refused: Refused): Answer[] {
  return requests.map((request): Answer => [request.id, refused])
}

/** The requests at the head of a lane, as far as their events fit; at least one, or a large one would wait for ever. */
function take(lane: PreparedRequest[], events_max: number): readonly PreparedRequest[] {
  let count = 0
  let events = 0
  for (const request of lane) {
    events += request.events.length
    if (count > 0 && events > events_max) break
    count += 1
  }
  return lane.splice(0, count)
}
