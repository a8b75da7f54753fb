/** Repeats background work in steps that are short enough for a snapshot to wait for. */
import type { Histogram } from '../threads/histogram.ts'
import { secondsSince } from '../threads/timings.ts'
import type { JobContext } from './dependencies.ts'

/** Pause after a step without work. */
const LOOK_MS = 5000
/** Pause after a failed step, for example on a full disk. */
const RETRY_MS = 30_000

export type BackgroundTask = {
  /** False during the pause after a step without work or a failed one. */
  isDue(): boolean
  /** Runs one step. Never rejects. */
  tryStep(): Promise<void>
  /** Runs all steps. Rejects when one fails. */
  all(): Promise<void>
  /** Numbers of successful and failed steps since the start. */
  readonly counts: WorkCounts
}

export type WorkCounts = { readonly done: number; readonly failed: number }

/** `step` resolves to false without work, and rejects when it fails. */
export function createBackgroundTask(
  step: () => Promise<boolean>,
  options: {
    readonly what: string
    readonly context: Pick<JobContext, 'children' | 'log'>
    /** Records how long each step with work took. */
    readonly times?: Histogram | undefined
    readonly look_ms?: number
  },
): BackgroundTask {
  const { what, times, look_ms = LOOK_MS } = options
  const { children, log } = options.context
  let due_at_ms = 0
  let counts: WorkCounts = { done: 0, failed: 0 }
  const once = async (): Promise<boolean> => {
    const started_ms = performance.now()
    try {
      const is_done = await step()
      if (is_done) {
        counts = { ...counts, done: counts.done + 1 }
        times?.record(secondsSince(started_ms))
      }
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
