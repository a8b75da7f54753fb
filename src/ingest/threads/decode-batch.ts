/** Decodes requests and runs the pipeline on their events, a bounded amount of work per turn. Writes nothing. */
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

/** The work on one request per turn: other requests pass between the slices of a body with a million events. */
const SLICE_MAX: SliceMax = { events: 1000, length: 1024 * 1024 }
/** Characters of JSON parsed per turn; the body that reaches the limit is finished. */
const READ_PER_TURN_MAX = 8 * 1024 * 1024
/**
 * Characters of JSON of all decoded requests that are not answered yet. A character costs about ten bytes of memory,
 * and a compressed body has thousands of them per byte. A request beyond the limit waits as raw bytes.
 */
const DECODED_LENGTH_MAX = 48 * 1024 * 1024
const DECODING = nameWork('capture: decoding')
const RUNNING_PIPELINE = nameWork('capture: preparing events')
/** Smaller requests never wait for others. */
const SMALL_LENGTH_MAX = 32 * 1024

/** Dependencies and callbacks of a decoder. */
export type BatchDecoderContext = DecodeContext & {
  /** Receives `job.events`, the next events of a request, and empties the list. */
  readonly takeSlice: (job: DecodeJob, is_last: boolean) => void
  /** Receives requests that are refused. */
  readonly refuse: (answers: readonly NumberedAnswer[]) => void
}

/** A waiting request with the length of its JSON. */
type LargeRequest = { readonly capture: NumberedCapture; readonly length: number }

/** The requests that are not decoded completely. */
export class BatchDecoder {
  readonly #context: BatchDecoderContext
  #arrived: NumberedCapture[] = []
  #waiting: LargeRequest[] = []
  #jobs: DecodeJob[] = []
  /** Lengths of the large requests that were decoded, at least in part, and are not answered. */
  readonly #decoded_lengths = new Map<number, number>()
  #decoded_length = 0

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

  /** Frees the share of answered requests in the limit. */
  settle(ids: readonly number[]): void {
    for (const id of ids) {
      this.#decoded_length -= this.#decoded_lengths.get(id) ?? 0
      this.#decoded_lengths.delete(id)
    }
  }

  /** One turn: a slice of every request already begun, then new ones. */
  turn(): void {
    this.#context.tokens.invalidate()
    const answers: NumberedAnswer[] = []
    const begun = this.#jobs
    this.#jobs = []
    for (const job of begun) this.#decodeSlice(job, answers)
    this.#beginRequests(answers)
    if (answers.length > 0) this.#context.refuse(answers)
  }

  /** Decodes one slice and passes it on at once, so that the writer can begin before the next request is read. */
  #decodeSlice(job: DecodeJob, answers: NumberedAnswer[]): void {
    isolate(job.id, answers, () => {
      beginWork(RUNNING_PIPELINE, job.id, job.request_context.project.id)
      const is_last = decodeSome(job, SLICE_MAX)
      if (!is_last) this.#jobs.push(job)
      this.#context.takeSlice(job, is_last)
    })
  }

  /** Begins requests: those that waited for memory first, then those that arrived. */
  #beginRequests(answers: NumberedAnswer[]): void {
    let budget = READ_PER_TURN_MAX
    for (let next = this.#waiting[0]; next !== undefined && budget > 0; next = this.#waiting[0]) {
      if (!this.#hasRoom(next.length)) break
      this.#waiting.shift()
      budget -= this.#begin(next.capture, answers)
    }
    let begun = 0
    for (const capture of this.#arrived) {
      if (budget <= 0) break
      begun += 1
      budget -= this.#begin(capture, answers)
    }
    this.#arrived = this.#arrived.slice(begun)
  }

  /** Begins a request, or lets it wait for memory. Returns the characters read. */
  #begin(capture: NumberedCapture, answers: NumberedAnswer[]): number {
    let read = capture.body.length
    isolate(capture.id, answers, () => {
      beginWork(DECODING, capture.id, 0)
      const job = startDecodeJob(capture, this.#context)
      if (job === null) return
      const { length } = job
      read = length
      if (length <= SMALL_LENGTH_MAX) this.#decodeSlice(job, answers)
      else if (this.#hasRoom(length)) {
        this.#decoded_lengths.set(capture.id, length)
        this.#decoded_length += length
        this.#decodeSlice(job, answers)
      } else this.#waiting.push({ capture, length })
    })
    return read
  }

  #hasRoom(length: number): boolean {
    return this.#decoded_length === 0 || this.#decoded_length + length <= DECODED_LENGTH_MAX
  }
}

/** Catches what one request throws, so that it fails alone, and adds its answer. */
function isolate(id: number, answers: NumberedAnswer[], work: () => void): void {
  try {
    work()
  } catch (error) {
    answers.push([id, findRefusal(error) ?? failureOf(error)])
  }
}

/** The answer for a `Refusal` or an unavailable disk; null for any other error. */
function findRefusal(error: unknown): CaptureRefusal | null {
  if (faultOf(error) === 'unavailable') return UNAVAILABLE
  if (!(error instanceof Refusal)) return null
  return { kind: 'refused', code: error.code, detail: error.detail, attr: error.attr }
}

/** The answer for any other error: a bug. */
export function failureOf(error: unknown): CaptureFailure {
  return { kind: 'failed', message: messageOf(error) }
}

/** An error as text, with its stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
