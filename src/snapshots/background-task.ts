/** Background work in steps, each short enough that a snapshot can wait for it. */
import type { SnapshotChildren } from './child.ts'
import type { SnapshotLog } from './dependencies.ts'

/** Where there was nothing to do, one looks again after this. */
const LOOK_MS = 5000
/** After a step that failed (a full disk, say), the next is tried after this. */
const RETRY_MS = 30_000

export type BackgroundTask = {
  /** False for a while after there was nothing to do, or it could not be done. */
  isDue(): boolean
  /** One step. Never rejects. */
  tryStep(): Promise<void>
  /** Every step there is. Rejects when one cannot be done. */
  all(): Promise<void>
  /** Steps since the start that did something, and that could not be done. */
  readonly counts: WorkCounts
}

export type WorkCounts = { readonly done: number; readonly failed: number }

/** `step` answers false when there is nothing to do, and rejects when it cannot be done. */
export function createStepper(
  step: () => Promise<boolean>,
  context: {
    readonly what: string
    readonly children: SnapshotChildren
    readonly log: SnapshotLog
    readonly look_ms?: number
  },
): BackgroundTask {
  const { what, children, log, look_ms = LOOK_MS } = context
  let due_at_ms = 0
  let counts: WorkCounts = { done: 0, failed: 0 }
  const once = async (): Promise<boolean> => {
    try {
      const is_done = await step()
      if (is_done) counts = { ...counts, done: counts.done + 1 }
      return is_done
    } catch (error) {
      counts = { ...counts, failed: counts.failed + 1 }
      throw error
    }
  }
  return {
    get counts() {
      return counts
    },
    isDue: () => performance.now() >= due_at_ms,
    async tryStep() {
      try {
        if (!(await once())) due_at_ms = performance.now() + look_ms
      } catch (error) {
        if (!children.is_killed) log.error({ err: error }, `${what} failed`)
        due_at_ms = performance.now() + RETRY_MS
      }
    },
    async all() {
      while (await once());
    },
  }
}
