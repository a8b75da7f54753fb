/** A query in the engine and the worker it runs in. */
import type { Refusal } from '../../errors.ts'
import {
  type EngineFault,
  refuseFullQueue,
  refuseInterrupted,
  refuseTimedOut,
} from './engine-refusals.ts'
import type { WorkerAnswer, WorkerQuery } from './protocol.ts'
import type { KillReason, QueryChild } from './worker-client.ts'

/** A worker process. */
export type EngineWorker = {
  readonly child: QueryChild
  /** `trial`: runs suspect queries, one at a time, which must not keep others waiting. */
  readonly role: 'serving' | 'trial'
  /** The reason why it takes no more queries and will be killed; null while it serves. */
  retiring: KillReason | null
  /** It has little address space left, and is replaced by its successor. */
  is_worn: boolean
  /** Number of queries that it was sent. */
  query_count: number
}

/** A query in the engine, waiting or running. */
export type QueuedQuery = {
  readonly id: number
  readonly project_id: number
  readonly query: WorkerQuery
  /** The worker that runs it, or ran it last. */
  worker: EngineWorker | null
  /** Time of its last begin; milliseconds of a clock that only goes forward. */
  begun_ms: number
  /** Time that it had run when its worker died; milliseconds. */
  ran_ms: number
  /** Number of begins, except those whose worker was ended because of other queries. */
  attempts: number
  /** Number of times its worker was ended because of other queries. */
  interruptions: number
  /** `suspect`: the worker died while it ran, perhaps because of it. `stopped`: its caller has been refused. */
  state: 'fresh' | 'stopped' | 'suspect'
  /** The number of the death that made it a suspect; null when it was none. */
  suspected_in: number | null
  readonly onBegin: (() => void) | null
  /** Receives a part of the answer; the next part is requested when the promise resolves. */
  readonly onPart: ((bytes: Uint8Array) => Promise<void>) | null
  has_parts: boolean
  readonly resolve: (answer: WorkerAnswer) => void
  readonly reject: (refusal: EngineFault | Refusal) => void
}

/** Chooses the refusal of a query that was not answered in time. */
export function refuseLate({ attempts, interruptions }: QueuedQuery, timeout_ms: number): Refusal {
  if (interruptions > 0) return refuseInterrupted()
  return attempts > 0 ? refuseTimedOut(timeout_ms) : refuseFullQueue()
}
