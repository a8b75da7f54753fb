/** Takes requests through decoding and pipeline, a bounded amount of work at a time; writes nothing. */
import { Refusal } from '../../errors.ts'
import { beginWork, nameWork } from '../../threads/this-thread.ts'
import {
  type DecodeContext,
  type DecodeJob,
  decodeSome,
  type SliceMax,
  startDecodeJob,
} from './decode-request.ts'
import {
  type CaptureFailure,
  type CaptureRefusal,
  type NumberedAnswer,
  type NumberedCapture,
  UNAVAILABLE,
} from './messages.ts'
import { faultOf } from './storage-faults.ts'

/** What one request may prepare per turn: a body of a million events lets others through in between. */
const SLICE_MAX: SliceMax = { events: 1000, length: 1024 * 1024 }
/** Characters of JSON that are read per turn, and one body more. */
const READ_PER_TURN_MAX = 8 * 1024 * 1024
/**
 * Characters of JSON that requests under way have together, until they are answered: each stands for some ten bytes of
 * memory, and packed bodies hide thousands of them in each of their bytes. Whoever has no room waits as it came.
 */
const UNDER_WAY_MAX = 48 * 1024 * 1024
const DECODING = nameWork('capture: decoding')
const PREPARING = nameWork('capture: preparing events')
/** Smaller requests never wait for others. */
const SMALL_LENGTH_MAX = 32 * 1024

/** Whom the preparer tells. */
export type BatchDecoderContext = DecodeContext & {
  /** Some more of a job's events are ready, perhaps the last. */
  readonly takeSlice: (job: DecodeJob, is_last: boolean) => void
  /** These requests cannot be taken. */
  readonly refuse: (answers: readonly NumberedAnswer[]) => void
}

/** A request that is known to be so large. */
type LargeRequest = { readonly capture: NumberedCapture; readonly length: number }

/** Holds the requests whose events are not all prepared yet. */
export class BatchDecoder {
  readonly #context: BatchDecoderContext
  #arrived: NumberedCapture[] = []
  #waiting: LargeRequest[] = []
  #jobs: DecodeJob[] = []
  /** Lengths of the large requests that were begun and are not answered. */
  readonly #under_way = new Map<number, number>()
  #length = 0

  constructor(context: BatchDecoderContext) {
    this.#context = context
  }

  receive(captures: readonly NumberedCapture[]): void {
    this.#arrived.push(...captures)
  }

  get has_work(): boolean {
    const [next] = this.#waiting
    return (
      this.#arrived.length > 0 ||
      this.#jobs.length > 0 ||
      (next !== undefined && this.#hasRoom(next.length))
    )
  }

  /** These requests are answered: there is room for others. */
  settle(ids: readonly number[]): void {
    for (const id of ids) {
      this.#length -= this.#under_way.get(id) ?? 0
      this.#under_way.delete(id)
    }
  }

  /** Goes on with what was begun and begins what arrived. */
  turn(): void {
    this.#context.tokens.invalidate()
    const answers: NumberedAnswer[] = []
    const begun = this.#jobs
    this.#jobs = []
    for (const job of begun) this.#prepare(job, answers)
    this.#beginSome(answers)
    if (answers.length > 0) this.#context.refuse(answers)
  }

  /** Passes some of a request's events on before the next one is read: whoever writes them need not wait for that. */
  #prepare(job: DecodeJob, answers: NumberedAnswer[]): void {
    keepTo(job.id, answers, () => {
      beginWork(PREPARING, job.id, job.request_context.project.id)
      const is_last = decodeSome(job, SLICE_MAX)
      if (!is_last) this.#jobs.push(job)
      this.#context.takeSlice(job, is_last)
    })
  }

  /** Those that waited come first. */
  #beginSome(answers: NumberedAnswer[]): void {
    let left = READ_PER_TURN_MAX
    for (let next = this.#waiting[0]; next !== undefined && left > 0; next = this.#waiting[0]) {
      if (!this.#hasRoom(next.length)) break
      this.#waiting.shift()
      left -= this.#begin(next.capture, answers)
    }
    let begun = 0
    for (const capture of this.#arrived) {
      if (left <= 0) break
      begun += 1
      left -= this.#begin(capture, answers)
    }
    this.#arrived = this.#arrived.slice(begun)
  }

  /** Begins a request, or has it wait, and says how much was read. */
  #begin(capture: NumberedCapture, answers: NumberedAnswer[]): number {
    let read = capture.body.length
    keepTo(capture.id, answers, () => {
      beginWork(DECODING, capture.id, 0)
      const job = startDecodeJob(capture, this.#context)
      if (job === null) return
      const { length } = job
      read = length
      if (length <= SMALL_LENGTH_MAX) this.#prepare(job, answers)
      else if (this.#hasRoom(length)) {
        this.#under_way.set(capture.id, length)
        this.#length += length
        this.#prepare(job, answers)
      } else this.#waiting.push({ capture, length })
    })
    return read
  }

  #hasRoom(length: number): boolean {
    return this.#length === 0 || this.#length + length <= UNDER_WAY_MAX
  }
}

/** Keeps one request's refusal or bug to itself. */
function keepTo(id: number, answers: NumberedAnswer[], work: () => void): void {
  try {
    work()
  } catch (error) {
    answers.push([id, refusedBy(error) ?? failureOf(error)])
  }
}

/** The answer that carries a refusal; null for an error that is none. */
function refusedBy(error: unknown): CaptureRefusal | null {
  if (faultOf(error) === 'unavailable') return UNAVAILABLE
  if (!(error instanceof Refusal)) return null
  return { kind: 'refused', code: error.code, detail: error.detail, attr: error.attr }
}

/** The answer to a request that met a bug. */
export function failureOf(error: unknown): CaptureFailure {
  return { kind: 'failed', message: messageOf(error) }
}

/** An error as text, with where it came from. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
