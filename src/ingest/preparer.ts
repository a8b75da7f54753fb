/** Takes requests through decoding and pipeline, a bounded amount of work at a time; writes nothing. */
import { Refusal } from '../errors.ts'
import { type Job, type JobNeeds, prepareSome, startJob } from './job.ts'
import {
  type Answer,
  type Failed,
  type NumberedCapture,
  type Refused,
  UNAVAILABLE,
} from './messages.ts'
import { faultOf } from './storage-faults.ts'

/** Events one request may prepare per turn: a body of a million events lets others through in between. */
const PREPARED_PER_TURN_MAX = 2000

/** Whom the preparer tells. */
export type PreparerNeeds = JobNeeds & {
  /** Some more of a job's events are ready, perhaps the last. */
  readonly takeSlice: (job: Job, is_last: boolean) => void
  /** These requests cannot be taken. */
  readonly refuse: (answers: readonly Answer[]) => void
}

/** Holds the requests whose events are not all prepared yet. */
export class Preparer {
  readonly #needs: PreparerNeeds
  #arrived: NumberedCapture[] = []
  #jobs: Job[] = []

  constructor(needs: PreparerNeeds) {
    this.#needs = needs
  }

  receive(captures: readonly NumberedCapture[]): void {
    this.#arrived.push(...captures)
  }

  get has_work(): boolean {
    return this.#arrived.length > 0 || this.#jobs.length > 0
  }

  /** Begins what arrived and goes on with what was begun. */
  turn(): void {
    this.#needs.tokens.distrust()
    const answers: Answer[] = []
    for (const capture of this.#arrived) {
      const work = (): number => this.#jobs.push(startJob(capture, this.#needs))
      keepTo(capture.id, answers, work)
    }
    this.#arrived = []
    const unfinished: Job[] = []
    for (const job of this.#jobs) {
      keepTo(job.id, answers, () => {
        const is_last = prepareSome(job, PREPARED_PER_TURN_MAX)
        if (!is_last) unfinished.push(job)
        this.#needs.takeSlice(job, is_last)
      })
    }
    this.#jobs = unfinished
    if (answers.length > 0) this.#needs.refuse(answers)
  }
}

/** Keeps one request's refusal or bug to itself. */
function keepTo(id: number, answers: Answer[], work: () => void): void {
  try {
    work()
  } catch (error) {
    answers.push([id, refusedBy(error) ?? failedBy(error)])
  }
}

/** The answer that carries a refusal; null for an error that is none. */
function refusedBy(error: unknown): Refused | null {
  if (faultOf(error) === 'unavailable') return UNAVAILABLE
  if (!(error instanceof Refusal)) return null
  return { kind: 'refused', code: error.code, detail: error.detail, attr: error.attr }
}

/** The answer to a request that met a bug. */
export function failedBy(error: unknown): Failed {
  return { kind: 'failed', message: messageOf(error) }
}

/** An error as text, with where it came from. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
