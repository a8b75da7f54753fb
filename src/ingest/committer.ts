/** Group commit on the data thread: what waits is written together, and one bad request harms no other (contract C2). */
import { beginWork, nameWork } from '../threads/this-thread.ts'
import { applyEvents, bytesOf, commit, finishRequest, forgetStores, type Stores } from './apply.ts'
import { FairLane } from './fair-lane.ts'
import { finishJob, type Job, type JobNeeds } from './job.ts'
import {
  type Answer,
  type Committed,
  type NumberedCapture,
  type Refused,
  UNAVAILABLE,
} from './messages.ts'
import { type PackedSlice, packSlice, unpackEvents, unpackRest } from './packing.ts'
import type { Lane, PreparedRequest } from './prepared.ts'
import { failedBy, messageOf, Preparer } from './preparer.ts'
import { SlicedRequests } from './sliced-requests.ts'
import { Spikes } from './spikes.ts'
import { faultOf, type StorageFault } from './storage-faults.ts'
import { unknownToken } from './token.ts'

/** Events of a normal commit; more of them wait for the next one, so that no answer waits for very many. */
const COMMITTED_TOGETHER_MAX = 5000
/** Events of a commit of what stands behind. */
const COMMITTED_BEHIND_MAX = 1000
/** After this time a commit takes no further request: what waits for the next one waits no longer than that. */
const COMMIT_MS_MAX = 40

const STORING = nameWork('capture: storing events')
const COMMITTING = nameWork('capture: committing')

/** While normal requests wait, those that stand behind have every so manieth turn. */
const BEHIND_EVERY = 4

const holdNone = (): boolean => false

/** What the committer needs, and whom it tells. */
export type CommitterNeeds = JobNeeds & {
  readonly stores: Stores
  readonly answer: (committed: Committed) => void
  /** The database is damaged: nothing must be written to it any more (F9). */
  readonly breakDown: (message: string) => void
  /** There is work again without anything having come in. */
  readonly wake: () => void
}

/** Holds the requests that are not answered yet. `turn` does a bounded amount of work on them. */
export class Committer {
  readonly #needs: CommitterNeeds
  readonly #preparer: Preparer
  readonly #spikes = new Spikes()
  readonly #sliced: SlicedRequests
  readonly #lanes: Record<Lane, FairLane> = {
    normal: new FairLane(),
    demoted: new FairLane(),
    historical: new FairLane(),
  }
  /** Projects that were deleted since the start; their numbers are never given again. */
  readonly #gone = new Set<number>()
  #turns_of_normal = 0
  #is_broken = false

  constructor(needs: CommitterNeeds) {
    this.#needs = needs
    this.#preparer = new Preparer({
      ...needs,
      takeSlice: (job, is_last) => this.#takeSlice(job, is_last),
      refuse: (answers) => {
        for (const [id] of answers) this.#sliced.abandon(id)
        this.#tell(answers, 0)
      },
    })
    this.#sliced = new SlicedRequests({
      stores: needs.stores,
      limits: needs.limits,
      spikes: this.#spikes,
      isGone: (project_id) => this.#gone.has(project_id),
      answer: (answers, bytes) => this.#tell(answers, bytes),
      refusal: refuseGone,
      recover: (error) => this.#forgetAfter(error),
      unavailable: UNAVAILABLE,
      failed: failedBy,
      wake: needs.wake,
    })
  }

  /** Takes requests as they came in. */
  receive(captures: readonly NumberedCapture[]): void {
    this.#preparer.receive(captures)
  }

  /** Takes a part of a request that was prepared elsewhere. */
  receivePacked(slice: PackedSlice, project_id: number): void {
    const is_whole = slice.request !== '' && !this.#sliced.isArriving(slice.id)
    if (!is_whole) this.#sliced.receive(slice, project_id)
    else {
      this.#enqueue({ ...unpackRest(slice.request), events: unpackEvents(slice, project_id) })
    }
  }

  /** Forgets the parts of a request that turned out to be refused. */
  abandon(id: number): void {
    this.#sliced.abandon(id)
  }

  /** From now on nothing is written for a project: what waits would come back after all of it was deleted. */
  refuseProject(project_id: number): void {
    this.#gone.add(project_id)
  }

  get has_work(): boolean {
    return (
      this.#preparer.has_work ||
      this.#sliced.has_work ||
      !this.#lanes.normal.isEmpty(holdNone) ||
      !this.#lanes.demoted.isEmpty(holdNone) ||
      !this.#lanes.historical.isEmpty(this.#holdBehind)
    )
  }

  /** Prepares what arrived, commits the normal requests, then some of those that stand behind. */
  turn(): void {
    this.#preparer.turn()
    this.#commitLiving(this.#lanes.normal, COMMITTED_TOGETHER_MAX, holdNone)
    if (this.#is_broken) this.#sliced.giveUp()
    else this.#sliced.turn()
    this.#turns_of_normal += 1
    const is_waiting = !this.#lanes.normal.isEmpty(holdNone)
    if (is_waiting && this.#turns_of_normal < BEHIND_EVERY) return
    this.#turns_of_normal = 0
    this.#commitLiving(this.#lanes.demoted, COMMITTED_BEHIND_MAX, holdNone)
    this.#commitLiving(this.#lanes.historical, COMMITTED_BEHIND_MAX, this.#holdBehind)
  }

  /** A migration is applied in its order: what follows a large request of it waits until that is done. */
  readonly #holdBehind = (project_id: number): boolean => this.#sliced.isApplying(project_id)

  #takeSlice(job: Job, is_last: boolean): void {
    const { id } = job
    if (is_last && !this.#sliced.isArriving(id)) {
      this.#enqueue({ ...finishJob(job), events: job.events })
      return
    }
    const slice = packSlice(id, job.events, is_last ? finishJob(job) : null)
    job.events = []
    this.#sliced.receive(slice, job.around.project.id)
  }

  #enqueue(request: PreparedRequest): void {
    if (request.is_historical) {
      this.#lanes.historical.add(request)
      return
    }
    const loud = this.#spikes.findLoud(request.events, performance.now())
    if (loud === null) this.#lanes.normal.add(request)
    else this.#lanes.demoted.add({ ...request, warnings: [...request.warnings, loud] })
  }

  #commitLiving(lane: FairLane, events_max: number, isHeld: (project_id: number) => boolean): void {
    const requests = lane.take(events_max, isHeld)
    const isGone = ({ project_id }: PreparedRequest): boolean => this.#gone.has(project_id)
    const living = requests.some(isGone) ? requests.filter((one) => !isGone(one)) : requests
    if (living !== requests) {
      this.#tell(
        requests.filter(isGone).map(({ id }): Answer => [id, refuseGone()]),
        0,
      )
    }
    const left = this.#commitGroup(living)
    if (left.length > 0) lane.putBack(left)
  }

  /** Commits requests together, as many as there is time for; answers the others. */
  #commitGroup(requests: readonly PreparedRequest[]): readonly PreparedRequest[] {
    if (requests.length === 0) return requests
    if (this.#is_broken) {
      this.#tell(refuseAll(requests, UNAVAILABLE), 0)
      return []
    }
    const { stores, limits } = this.#needs
    const answers: Answer[] = []
    const started_ms = performance.now()
    let done = 0
    let bytes = 0
    let unfinished: ReturnType<SlicedRequests['write']> | null = null
    try {
      commit(stores, () => {
        for (const request of requests) {
          const now_ms = performance.now()
          if (done > 0 && now_ms - started_ms > COMMIT_MS_MAX) break
          const { events } = request
          const deadline_ms = now_ms + limits.request_ms_max
          beginWork(STORING, request.id, request.project_id)
          const progress = applyEvents(stores, request, events, limits, deadline_ms)
          done += 1
          bytes += bytesOf(events)
          if (progress.applied < events.length) {
            unfinished = this.#sliced.write(request, progress)
            break
          }
          answers.push([request.id, finishRequest(stores, request, progress)])
        }
        beginWork(COMMITTING, 0, 0)
      })
    } catch (error) {
      const fault = this.#forgetAfter(error)
      this.#recover(requests.slice(0, done + 1), fault, error)
      return requests.slice(done + 1)
    }
    if (unfinished !== null) this.#sliced.adopt(unfinished)
    this.#tell(answers, bytes)
    return requests.slice(done)
  }

  /** After a rollback: nothing in memory is to be believed, and a damaged database must not be written any more. */
  #forgetAfter(error: unknown): StorageFault | null {
    forgetStores(this.#needs.stores)
    this.#needs.names.forget()
    const fault = faultOf(error)
    if (fault === 'damaged') {
      this.#is_broken = true
      this.#needs.breakDown(messageOf(error))
    }
    return fault
  }

  /** Refuses all when the disk is at fault, otherwise finds the one request that is. */
  #recover(requests: readonly PreparedRequest[], fault: StorageFault | null, error: unknown): void {
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

function refuseGone(): Refused {
  const { code, detail, attr } = unknownToken()
  return { kind: 'refused', code, detail, attr }
}
