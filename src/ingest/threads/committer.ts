/** Group commit on the data thread: waiting requests share a transaction, and a failing one is isolated. */
import { DATABASE_DAMAGED } from '../../storage/sqlite/sqlite.ts'
import type { Histogram } from '../../threads/histogram.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import {
  applyEvents,
  clearStores,
  commit,
  finishRequest,
  type IngestStores,
  isFull,
} from '../write/apply.ts'
import { OverflowLimiter } from '../write/overflow-limiter.ts'
import { CommitQueue } from './commit-queue.ts'
import { DecodeQueue, failureOf, refuseDeletedProject, stackOf } from './decode-queue.ts'
import { type DecodeContext, type DecodeJob, finishDecodeJob } from './decode-request.ts'
import {
  HEADS_PER_TURN_MAX,
  type PackedSlice,
  packSlice,
  unpackEvents,
  unpackRest,
} from './event-packing.ts'
import {
  type CaptureRefusal,
  type CommittedAnswers,
  type NumberedAnswer,
  type NumberedCapture,
  refuseForFault,
  UNAVAILABLE,
} from './messages.ts'
import type { IngestLane, PreparedRequest } from './prepared-request.ts'
import { RoundRobin } from './round-robin.ts'
import { SlicedRequests } from './sliced-requests.ts'
import { faultOf, type StorageFault } from './storage-faults.ts'
import { limitWork } from './work-time.ts'

/** Events of one commit of normal requests: bounds how long their answers wait. */
const NORMAL_EVENTS_MAX = 5000
/** Events of one commit of a low-priority lane. */
const LOW_PRIORITY_EVENTS_MAX = 1000
/** A commit takes no further request after this time: bounds how long the next commit waits. */
const COMMIT_MS_MAX = 20

const STORING = nameWork('capture: storing events')
const COMMITTING = nameWork('capture: committing')

/** While normal requests wait, low-priority lanes are committed every fourth turn only. */
const LOW_PRIORITY_EVERY = 4

const blockNone = (): boolean => false

/** Dependencies and callbacks of the committer. */
type CommitterContext = DecodeContext & {
  readonly stores: IngestStores
  /** Records how long requests waited. */
  readonly queue_times?: Histogram
  readonly answer: (committed: CommittedAnswers) => void
  /** Called when the database is damaged: nothing may be written to it from then on. */
  readonly breakDown: (message: string) => void
  /** Called when there is work although no message arrived: a retry is due. */
  readonly wake: () => void
}

/** The queues of requests that are not answered yet. `turn` does a bounded amount of work on them. */
export class Committer {
  readonly #context: CommitterContext
  readonly #decoder: DecodeQueue
  readonly #overflow = new OverflowLimiter()
  readonly #sliced: SlicedRequests
  readonly #lanes: Record<IngestLane, CommitQueue> = {
    normal: new CommitQueue(),
    demoted: new CommitQueue(),
    historical: new CommitQueue(),
  }
  /** The work beside normal requests: one piece per turn. */
  readonly #low_priority = new RoundRobin([
    {
      hasWork: () => !this.#lanes.demoted.isEmpty(blockNone),
      run: () => this.#commitLane(this.#lanes.demoted, LOW_PRIORITY_EVENTS_MAX, blockNone),
    },
    {
      hasWork: () => !this.#lanes.historical.isEmpty(this.#isBlockedImport),
      run: () =>
        this.#commitLane(this.#lanes.historical, LOW_PRIORITY_EVENTS_MAX, this.#isBlockedImport),
    },
  ])
  readonly #background = new RoundRobin([
    { hasWork: () => this.#sliced.has_work, run: () => this.#sliced.turn() },
    { hasWork: () => this.#isLowPriorityDue(), run: () => this.#commitLowPriority() },
  ])
  /** Projects deleted since the start; project ids are never reused. */
  readonly #deleted_projects = new Set<number>()
  #turns_of_normal_only = 0
  #is_broken = false

  constructor(context: CommitterContext) {
    this.#context = context
    this.#decoder = new DecodeQueue({
      ...context,
      guesses_tokens: false,
      takeSlice: (job, is_last) => this.#takeSlice(job, is_last),
      refuse: (answers) => {
        for (const [id] of answers) this.#sliced.abandon(id)
        this.#send(answers)
      },
    })
    this.#sliced = new SlicedRequests({
      stores: context.stores,
      limits: context.limits,
      overflow: this.#overflow,
      isDeleted: (project_id) => this.isDeleted(project_id),
      answer: (answers) => this.#send(answers),
      recover: (error) => this.clearAfterRollback(error),
      wake: context.wake,
    })
  }

  /** Enqueues raw requests. */
  receive(captures: readonly NumberedCapture[]): void {
    this.#decoder.receive(captures)
  }

  /** Enqueues a slice of a request that the decode thread decoded. */
  receivePacked(slice: PackedSlice, project_id: number): void {
    const is_whole = slice.request !== '' && !this.#sliced.isArriving(slice.id)
    if (!is_whole || slice.heads.length > HEADS_PER_TURN_MAX)
      this.#sliced.receive(slice, project_id)
    else {
      this.#enqueue({ ...unpackRest(slice.request), events: unpackEvents(slice, project_id) })
    }
  }

  /** Drops the slices of a request that was refused while it was decoded. */
  abandon(id: number): void {
    this.#sliced.abandon(id)
  }

  /** Refuses all requests of a deleted project: waiting ones would store rows after the deletion. */
  refuseProject(project_id: number): void {
    this.#deleted_projects.add(project_id)
  }

  /** Whether a project was deleted since the start. */
  isDeleted(project_id: number): boolean {
    return this.#deleted_projects.has(project_id)
  }

  get has_work(): boolean {
    return (
      this.#decoder.has_work ||
      this.#sliced.has_work ||
      !this.#lanes.normal.isEmpty(blockNone) ||
      this.#low_priority.hasWork()
    )
  }

  /** One turn: decodes new requests, commits normal ones, then a piece of the other work: a slice, or a lane. */
  turn(): void {
    this.#decoder.turn()
    this.#commitLane(this.#lanes.normal, NORMAL_EVENTS_MAX, blockNone)
    this.#turns_of_normal_only += 1
    if (this.#is_broken) this.#sliced.giveUp()
    this.#background.run()
  }

  #isLowPriorityDue(): boolean {
    const is_waiting = !this.#lanes.normal.isEmpty(blockNone)
    const is_due = !is_waiting || this.#turns_of_normal_only >= LOW_PRIORITY_EVERY
    return is_due && this.#low_priority.hasWork()
  }

  #commitLowPriority(): void {
    this.#turns_of_normal_only = 0
    this.#low_priority.run()
  }

  /** An import is applied in its order: later requests wait while a large one of the project is applied in slices. */
  readonly #isBlockedImport = (project_id: number): boolean => this.#sliced.isApplying(project_id)

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
    const overflow_warning = this.#overflow.findOverLimit(request.events, performance.now())
    if (overflow_warning === null) this.#lanes.normal.add(request)
    else this.#lanes.demoted.add({ ...request, warnings: [...request.warnings, overflow_warning] })
  }

  #commitLane(
    lane: CommitQueue,
    events_max: number,
    isBlocked: (project_id: number) => boolean,
  ): void {
    const requests = lane.take(events_max, isBlocked)
    const isDeleted = ({ project_id }: PreparedRequest): boolean => this.isDeleted(project_id)
    const allowed = requests.some(isDeleted)
      ? requests.filter((request) => !isDeleted(request))
      : requests
    if (allowed !== requests) {
      this.#send(
        requests.filter(isDeleted).map(({ id }): NumberedAnswer => [id, refuseDeletedProject()]),
      )
    }
    const uncommitted = this.#commitGroup(allowed)
    if (uncommitted.length > 0) lane.putBack(uncommitted)
  }

  /** Commits requests in one transaction until `COMMIT_MS_MAX` and answers them. Returns those that are left. */
  #commitGroup(requests: readonly PreparedRequest[]): readonly PreparedRequest[] {
    if (requests.length === 0) return requests
    if (this.#is_broken) {
      this.#send(refuseAll(requests, UNAVAILABLE))
      return []
    }
    const { stores, limits, queue_times } = this.#context
    const answers: NumberedAnswer[] = []
    const started_ms = performance.now()
    let done = 0
    let unfinished: ReturnType<SlicedRequests['write']> | null = null
    try {
      commit(stores, () => {
        for (const request of requests) {
          const is_over = performance.now() - started_ms > COMMIT_MS_MAX || isFull(stores, limits)
          if (done > 0 && is_over) break
          const { events } = request
          const isOver = limitWork(limits.request_ms_max)
          beginWork(STORING, request.id, request.project_id)
          queue_times?.record(Math.max(0, Date.now() - request.now / 1000) / 1000)
          const progress = applyEvents(stores, request, events, limits, isOver)
          done += 1
          if (progress.applied < events.length) {
            unfinished = this.#sliced.write(request, progress)
            break
          }
          answers.push([request.id, finishRequest(stores, request, progress)])
        }
        beginWork(COMMITTING, 0, 0)
      })
    } catch (error) {
      const fault = this.clearAfterRollback(error)
      this.#recover(requests.slice(0, done + 1), fault, error)
      return requests.slice(done + 1)
    }
    if (unfinished !== null) this.#sliced.adopt(unfinished)
    this.#send(answers)
    return requests.slice(done)
  }

  /** After a rollback: invalidates every cache of stored rows, and stops writing if the database is damaged. */
  clearAfterRollback(error: unknown): StorageFault | null {
    clearStores(this.#context.stores)
    this.#context.names.forget()
    const fault = faultOf(error)
    if (fault === 'damaged') {
      this.#is_broken = true
      this.#context.breakDown(`${DATABASE_DAMAGED}: ${stackOf(error)}`)
    }
    return fault
  }

  /**
   * Refuses all requests if the disk failed. Otherwise commits one by one, so that only the failing one is answered
   * 500.
   */
  #recover(requests: readonly PreparedRequest[], fault: StorageFault | null, error: unknown): void {
    if (fault !== null) this.#send(refuseAll(requests, refuseForFault(error)))
    else if (requests.length > 1) for (const request of requests) this.#commitGroup([request])
    else this.#send(requests.map((request): NumberedAnswer => [request.id, failureOf(error)]))
  }

  #send(answers: readonly NumberedAnswer[]): void {
    this.#decoder.settle(answers.map(([id]) => id))
    const { counters, log } = this.#context.stores
    const first_events = counters.takeFirstEvents()
    const bytes_written = log.takeLogBytes()
    this.#context.answer({ kind: 'answers', answers, first_events, bytes_written })
  }
}

function refuseAll(
  requests: readonly PreparedRequest[],
  refused: CaptureRefusal,
): NumberedAnswer[] {
  return requests.map((request): NumberedAnswer => [request.id, refused])
}
