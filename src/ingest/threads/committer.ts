/** Group commit on the data thread: what waits is written together, and one bad request harms no other. */
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import { unknownToken } from '../pipeline/token.ts'
import {
  applyEvents,
  bytesOf,
  clearStores,
  commit,
  finishRequest,
  type IngestStores,
} from '../write/apply.ts'
import { OverflowLimiter } from '../write/overflow-limiter.ts'
import type { IngestLane, PreparedRequest } from './batch.ts'
import { BatchDecoder, failureOf, messageOf } from './decode-batch.ts'
import { type DecodeContext, type DecodeJob, finishDecodeJob } from './decode-request.ts'
import { type PackedSlice, packSlice, unpackEvents, unpackRest } from './event-packing.ts'
import { FairLane } from './fair-lane.ts'
import {
  type CaptureRefusal,
  type CommittedAnswers,
  type NumberedAnswer,
  type NumberedCapture,
  UNAVAILABLE,
} from './messages.ts'
import { SlicedRequests } from './sliced-requests.ts'
import { faultOf, type StorageFault } from './storage-faults.ts'

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
export type CommitterContext = DecodeContext & {
  readonly stores: IngestStores
  readonly answer: (committed: CommittedAnswers) => void
  /** The database is damaged: nothing must be written to it any more. */
  readonly breakDown: (message: string) => void
  /** There is work again without anything having come in. */
  readonly wake: () => void
}

/** Holds the requests that are not answered yet. `turn` does a bounded amount of work on them. */
export class Committer {
  readonly #context: CommitterContext
  readonly #preparer: BatchDecoder
  readonly #spikes = new OverflowLimiter()
  readonly #sliced: SlicedRequests
  readonly #lanes: Record<IngestLane, FairLane> = {
    normal: new FairLane(),
    demoted: new FairLane(),
    historical: new FairLane(),
  }
  /** Projects that were deleted since the start; their numbers are never given again. */
  readonly #gone = new Set<number>()
  #turns_of_normal = 0
  #is_broken = false

  constructor(context: CommitterContext) {
    this.#context = context
    this.#preparer = new BatchDecoder({
      ...context,
      takeSlice: (job, is_last) => this.#takeSlice(job, is_last),
      refuse: (answers) => {
        for (const [id] of answers) this.#sliced.abandon(id)
        this.#send(answers, 0)
      },
    })
    this.#sliced = new SlicedRequests({
      stores: context.stores,
      limits: context.limits,
      spikes: this.#spikes,
      isGone: (project_id) => this.#gone.has(project_id),
      answer: (answers, bytes) => this.#send(answers, bytes),
      refusal: refuseGone,
      recover: (error) => this.#forgetAfter(error),
      unavailable: UNAVAILABLE,
      failed: failureOf,
      wake: context.wake,
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

  #takeSlice(job: DecodeJob, is_last: boolean): void {
    const { id } = job
    if (is_last && !this.#sliced.isArriving(id)) {
      this.#enqueue({ ...finishDecodeJob(job), events: job.events })
      return
    }
    const slice = packSlice(id, job.events, is_last ? finishDecodeJob(job) : null)
    job.events = []
    this.#sliced.receive(slice, job.request_context.project.id)
  }

  #enqueue(request: PreparedRequest): void {
    if (request.is_historical) {
      this.#lanes.historical.add(request)
      return
    }
    const limited_id = this.#spikes.findLoud(request.events, performance.now())
    if (limited_id === null) this.#lanes.normal.add(request)
    else this.#lanes.demoted.add({ ...request, warnings: [...request.warnings, limited_id] })
  }

  #commitLiving(lane: FairLane, events_max: number, isHeld: (project_id: number) => boolean): void {
    const requests = lane.take(events_max, isHeld)
    const isGone = ({ project_id }: PreparedRequest): boolean => this.#gone.has(project_id)
    const living = requests.some(isGone) ? requests.filter((one) => !isGone(one)) : requests
    if (living !== requests) {
      this.#send(
        requests.filter(isGone).map(({ id }): NumberedAnswer => [id, refuseGone()]),
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
      this.#send(refuseAll(requests, UNAVAILABLE), 0)
      return []
    }
    const { stores, limits } = this.#context
    const answers: NumberedAnswer[] = []
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
    this.#send(answers, bytes)
    return requests.slice(done)
  }

  /** After a rollback: nothing in memory is to be believed, and a damaged database must not be written any more. */
  #forgetAfter(error: unknown): StorageFault | null {
    clearStores(this.#context.stores)
    this.#context.names.forget()
    const fault = faultOf(error)
    if (fault === 'damaged') {
      this.#is_broken = true
      this.#context.breakDown(messageOf(error))
    }
    return fault
  }

  /** Refuses all when the disk is at fault, otherwise finds the one request that is. */
  #recover(requests: readonly PreparedRequest[], fault: StorageFault | null, error: unknown): void {
    if (fault !== null) this.#send(refuseAll(requests, UNAVAILABLE), 0)
    else if (requests.length > 1) for (const request of requests) this.#commitGroup([request])
    else
      this.#send(
        requests.map((request): NumberedAnswer => [request.id, failureOf(error)]),
        0,
      )
  }

  #send(answers: readonly NumberedAnswer[], bytes_written: number): void {
    this.#preparer.settle(answers.map(([id]) => id))
    const first_events = this.#context.stores.counters.takeFirstEvents()
    this.#context.answer({ kind: 'answers', answers, first_events, bytes_written })
  }
}

function refuseAll(
  requests: readonly PreparedRequest[],
  refused: CaptureRefusal,
): NumberedAnswer[] {
  return requests.map((request): NumberedAnswer => [request.id, refused])
}

function refuseGone(): CaptureRefusal {
  const { code, detail, attr } = unknownToken()
  return { kind: 'refused', code, detail, attr }
}
