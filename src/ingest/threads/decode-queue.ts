/** Decodes requests and runs the pipeline on their events, a bounded amount of work per turn. Writes nothing. */
import { Refusal } from '../../errors.ts'
import { FairBudget } from '../../threads/fair-budget.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import { guessToken, unknownToken } from '../pipeline/token.ts'
import { type DecodeContext, type DecodeJob, decodeSome, startDecodeJob } from './decode-request.ts'
import { FairQueue } from './fair-queue.ts'
import {
  type CaptureFailure,
  type CaptureRefusal,
  type NumberedAnswer,
  type NumberedCapture,
  refuseForFault,
} from './messages.ts'
import { faultOf } from './storage-faults.ts'
import { limitWork } from './work-time.ts'

/** Characters of JSON parsed per turn, in about 20 ms; the body that reaches the limit is finished. */
const READ_PER_TURN_MAX = 512 * 1024
/**
 * Characters of JSON of all decoded requests that are not answered yet. A character costs about ten bytes of memory,
 * and a compressed body has thousands of them per byte. A request beyond the limit waits as raw bytes.
 */
const DECODED_LENGTH_MAX = 48 * 1024 * 1024
const DECODING = nameWork('capture: decoding')
const RUNNING_PIPELINE = nameWork('capture: preparing events')
/** Processor time of slices in one turn; at least one is prepared, and new requests are read after them. */
const SLICES_MS_MAX = 15
/** Smaller requests never wait for others. */
const SMALL_LENGTH_MAX = 32 * 1024

/** The first slice of a request up to this length follows its parsing: the data thread has it before the next is parsed. */
const AT_ONCE_LENGTH_MAX = 256 * 1024

/** Dependencies and callbacks of the queue. */
type DecodeQueueContext = DecodeContext & {
  /** Whether requests take turns by the token that they seem to have: guessing costs as much as decoding a small one. */
  readonly guesses_tokens: boolean
  /** Receives `job.events`, the next events of a request, and empties the list. */
  readonly takeSlice: (job: DecodeJob, is_last: boolean) => void
  /** Receives requests that are refused. */
  readonly refuse: (answers: readonly NumberedAnswer[]) => void
}

/** A waiting request with the length of its JSON. */
type LargeRequest = { readonly capture: NumberedCapture; readonly length: number }

/** A large request's share of the limit, and the projects that it counts for. */
type DecodedShare = { readonly owners: readonly string[]; readonly length: number }

/** The requests that are not decoded completely. */
export class DecodeQueue {
  readonly #context: DecodeQueueContext
  /** Requests that are not read yet, by the token that they seem to have. */
  readonly #arrived = new FairQueue<string | null, NumberedCapture>()
  /** Requests that wait for memory, by project. */
  readonly #waiting = new FairQueue<string, LargeRequest>()
  #jobs: DecodeJob[] = []
  /** The large requests that were decoded, at least in part, and are not answered. */
  readonly #decoded = new Map<number, DecodedShare>()
  readonly #memory = new FairBudget(DECODED_LENGTH_MAX)

  constructor(context: DecodeQueueContext) {
    this.#context = context
  }

  receive(captures: readonly NumberedCapture[]): void {
    const { guesses_tokens } = this.#context
    for (const capture of captures) {
      this.#arrived.add(guesses_tokens ? guessToken(capture) : null, capture)
    }
  }

  get has_work(): boolean {
    return !this.#arrived.is_empty || this.#jobs.length > 0 || this.#nextWaiting() !== null
  }

  /** Frees the share of answered requests in the limit. */
  settle(ids: readonly number[]): void {
    for (const id of ids) {
      const share = this.#decoded.get(id)
      if (share === undefined) continue
      this.#memory.release(share.owners, share.length)
      this.#decoded.delete(id)
    }
  }

  /** One turn: slices of requests already begun, one of each as far as time goes, then new ones. */
  turn(): void {
    this.#context.tokens.invalidate()
    const answers: NumberedAnswer[] = []
    const begun = this.#jobs
    this.#jobs = []
    const isOver = limitWork(SLICES_MS_MAX)
    do {
      const job = begun.shift()
      if (job === undefined) break
      this.#decodeSlice(job, answers)
    } while (!isOver())
    this.#jobs.unshift(...begun)
    this.#beginRequests(answers)
    if (answers.length > 0) this.#context.refuse(answers)
  }

  /** Decodes one slice and passes it on at once, so that the writer can begin before the next request is read. */
  #decodeSlice(job: DecodeJob, answers: NumberedAnswer[]): void {
    isolate(job.id, answers, () => {
      beginWork(RUNNING_PIPELINE, job.id, job.request_context.project.id)
      const is_last = decodeSome(job)
      if (!is_last) this.#jobs.push(job)
      this.#context.takeSlice(job, is_last)
    })
  }

  /** Begins requests: first requests that waited for memory, then new ones. */
  #beginRequests(answers: NumberedAnswer[]): void {
    let budget = READ_PER_TURN_MAX
    for (let next = this.#nextWaiting(); next !== null && budget > 0; next = this.#nextWaiting()) {
      const { capture } = this.#waiting.take(next) ?? {}
      if (capture !== undefined) budget -= this.#begin(capture, answers, () => true)
    }
    for (let next = this.#arrived.take(); next !== null; next = this.#arrived.take()) {
      budget -= this.#begin(next, answers, (project, length) => this.#mayBegin(project, length))
      if (budget <= 0) break
    }
  }

  /** The project whose request may begin; null if all must wait for memory, or none does. */
  #nextWaiting(): string | null {
    for (const [project, { length }] of this.#waiting.heads()) {
      if (!this.#memory.isFair([project], length)) continue
      // Those behind it must not pass: a large one would wait for as long as small ones come.
      return this.#memory.hasRoom(length) ? project : null
    }
    return null
  }

  /** Begins a request, or lets a large one wait for memory. Returns the characters read. */
  #begin(
    capture: NumberedCapture,
    answers: NumberedAnswer[],
    mayBegin: (project: string, length: number) => boolean,
  ): number {
    let read = capture.body.length
    isolate(capture.id, answers, () => {
      beginWork(DECODING, capture.id, 0)
      const job = startDecodeJob(capture, this.#context)
      if (job === null) return
      const { length } = job
      read = length
      if (length <= SMALL_LENGTH_MAX) this.#decodeSlice(job, answers)
      else if (mayBegin(projectOf(job), length)) this.#beginLarge(job, answers)
      else this.#waiting.add(projectOf(job), { capture, length })
    })
    return read
  }

  /** Whether there is memory for a request, and none waits that comes before it. */
  #mayBegin(project: string, length: number): boolean {
    for (const [other, first] of this.#waiting.heads()) {
      if (other === project || this.#memory.isFair([other], first.length)) return false
    }
    return this.#memory.isFair([project], length) && this.#memory.hasRoom(length)
  }

  #beginLarge(job: DecodeJob, answers: NumberedAnswer[]): void {
    const share = { owners: [projectOf(job)], length: job.length }
    this.#memory.take(share.owners, share.length)
    this.#decoded.set(job.id, share)
    if (job.length <= AT_ONCE_LENGTH_MAX) this.#decodeSlice(job, answers)
    // Its first slice comes first in the next turn: parsing took long enough.
    else this.#jobs.push(job)
  }
}

function projectOf({ request_context }: DecodeJob): string {
  return String(request_context.project.id)
}

/** Catches what one request throws, so that it fails alone, and adds its answer. */
function isolate(id: number, answers: NumberedAnswer[], work: () => void): void {
  try {
    work()
  } catch (error) {
    answers.push([id, findRefusal(error) ?? failureOf(error)])
  }
}

/** The answer for a `Refusal`, an unavailable disk or a damaged control.db; null for any other error. */
export function findRefusal(error: unknown): CaptureRefusal | null {
  if (faultOf(error) !== null) return refuseForFault(error)
  return error instanceof Refusal ? refusedBy(error) : null
}

/** The answer to a request of a project that was deleted. */
export function refuseDeletedProject(): CaptureRefusal {
  return refusedBy(unknownToken())
}

function refusedBy({ code, detail, attr }: Refusal): CaptureRefusal {
  return { kind: 'refused', code, detail, attr }
}

/** The answer for any other error: a bug. */
export function failureOf(error: unknown): CaptureFailure {
  return { kind: 'failed', message: stackOf(error) }
}

/** An error as text, with its stack. */
export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
