/** Which waiting question is begun next: the projects take turns, and a suspect runs alone. */
import type { Refusal } from '../errors.ts'
import type { EngineFault } from './engine-refusals.ts'
import { isOverShare } from './fair-share.ts'
import type { Answer, SentQuestion } from './frames.ts'

/** A question from the moment it is asked until its end. */
export type Task = {
  readonly id: number
  readonly question: SentQuestion
  /** How often it was begun, without the times when its process was ended because of others. */
  attempts: number
  /** How often its process was ended because of others. */
  interruptions: number
  /** `suspect`: the process died while it ran, perhaps because of it. `stopped`: its asker has been refused. */
  state: 'fresh' | 'stopped' | 'suspect'
  readonly onBegin: (() => void) | null
  /** Takes a part of the answer; the next one is sent for when it resolves. */
  readonly onPart: ((bytes: Uint8Array) => Promise<void>) | null
  has_parts: boolean
  readonly resolve: (answer: Answer) => void
  readonly reject: (refusal: EngineFault | Refusal) => void
}

/** True when no more questions of a project are taken: there are too many, and it has its part of them. */
export function isFull(
  tasks: readonly Task[],
  project_id: number,
  { running_max, waiting_max }: { readonly running_max: number; readonly waiting_max: number },
): boolean {
  const taken = tasks.map(({ question }) => question.project_id)
  return isOverShare(taken, project_id, running_max + waiting_max)
}

/** Null when none may begin beside those that run. `waiting` is in order of asking, suspects first. */
export function pickNext(waiting: readonly Task[], running: readonly Task[]): Task | null {
  if (running.some(({ state }) => state === 'suspect')) return null
  const suspect = waiting.find(({ state }) => state === 'suspect')
  if (suspect !== undefined) return running.length === 0 ? suspect : null
  const load = new Map<number, number>()
  for (const { question } of running) {
    load.set(question.project_id, (load.get(question.project_id) ?? 0) + 1)
  }
  const loadOf = ({ question }: Task): number => load.get(question.project_id) ?? 0
  return waiting.reduce<Task | null>(
    (best, task) => (best === null || loadOf(task) < loadOf(best) ? task : best),
    null,
  )
}
