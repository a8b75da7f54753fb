/** Which waiting query is begun next: the projects take turns, and a suspect runs alone. */
import type { Refusal } from '../../errors.ts'
import { isOverShare } from '../service/fair-share.ts'
import type { EngineFault } from './engine-refusals.ts'
import type { WorkerAnswer, WorkerQuery } from './protocol.ts'

/** A query from the moment it is asked until its end. */
export type QueuedQuery = {
  readonly id: number
  readonly query: WorkerQuery
  /** How often it was begun, without the times when its process was ended because of others. */
  attempts: number
  /** How often its process was ended because of others. */
  interruptions: number
  /** `suspect`: the process died while it ran, perhaps because of it. `stopped`: its caller has been refused. */
  state: 'fresh' | 'stopped' | 'suspect'
  readonly onBegin: (() => void) | null
  /** Takes a part of the answer; the next one is sent for when it resolves. */
  readonly onPart: ((bytes: Uint8Array) => Promise<void>) | null
  has_parts: boolean
  readonly resolve: (answer: WorkerAnswer) => void
  readonly reject: (refusal: EngineFault | Refusal) => void
}

/** True when no more queries of a project are taken: there are too many, and it has its part of them. */
export function isFull(
  tasks: readonly QueuedQuery[],
  project_id: number,
  { running_max, waiting_max }: { readonly running_max: number; readonly waiting_max: number },
): boolean {
  const taken = tasks.map(({ query }) => query.project_id)
  return isOverShare(taken, project_id, running_max + waiting_max)
}

/** Null when none may begin beside those that run. `waiting` is in order of asking, suspects first. */
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
