/** The order of the engine's queue: fair between projects, and a suspect runs alone. */
import type { Refusal } from '../../errors.ts'
import { isOverShare } from '../service/fair-share.ts'
import type { EngineFault } from './engine-refusals.ts'
import type { WorkerAnswer, WorkerQuery } from './protocol.ts'

/** A query in the engine, waiting or running. */
export type QueuedQuery = {
  readonly id: number
  readonly query: WorkerQuery
  /** Number of begins, except those whose worker was ended because of other queries. */
  attempts: number
  /** Number of times its worker was ended because of other queries. */
  interruptions: number
  /** `suspect`: the worker died while it ran, perhaps because of it. `stopped`: its caller has been refused. */
  state: 'fresh' | 'stopped' | 'suspect'
  readonly onBegin: (() => void) | null
  /** Receives a part of the answer; the next part is requested when the promise resolves. */
  readonly onPart: ((bytes: Uint8Array) => Promise<void>) | null
  has_parts: boolean
  readonly resolve: (answer: WorkerAnswer) => void
  readonly reject: (refusal: EngineFault | Refusal) => void
}

/** True when the queue is full and the project has its fair share of it. */
export function isFull(
  tasks: readonly QueuedQuery[],
  project_id: number,
  { running_max, waiting_max }: { readonly running_max: number; readonly waiting_max: number },
): boolean {
  const project_ids = tasks.map(({ query }) => query.project_id)
  return isOverShare(project_ids, project_id, running_max + waiting_max)
}

/** Picks the next query: the oldest of the project with the fewest running ones; null when none may begin now. */
export function pickNext(
  waiting: readonly QueuedQuery[],
  running: readonly QueuedQuery[],
): QueuedQuery | null {
  if (running.some(({ state }) => state === 'suspect')) return null
  const suspect = waiting.find(({ state }) => state === 'suspect')
  if (suspect !== undefined) return running.length === 0 ? suspect : null
  const load = new Map<number, number>()
  for (const { query } of running) {
    load.set(query.project_id, (load.get(query.project_id) ?? 0) + 1)
  }
  const loadOf = ({ query }: QueuedQuery): number => load.get(query.project_id) ?? 0
  return waiting.reduce<QueuedQuery | null>(
    (best, task) => (best === null || loadOf(task) < loadOf(best) ? task : best),
    null,
  )
}
