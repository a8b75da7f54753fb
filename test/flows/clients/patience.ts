/** Waiting for what clients do in their own time: bounded, and what came instead is told. */

const WAIT_MS = 50_000
const STEP_MS_MIN = 25
const STEP_MS_MAX = 250

/** The time until the next attempt: a quarter of that waited so far, since each attempt takes processor time from what is waited for. */
export const nextStepMs = (waited_ms: number): number =>
  Math.min(STEP_MS_MAX, Math.max(STEP_MS_MIN, waited_ms / 4))

/**
 * Asks again until the answer is as wanted, at most 50 s; answers the last one either way, for the test to judge. That is
 * one that was asked after what was waited for was there: a query that ran meanwhile may have been read before it, as
 * when a property had no type yet.
 */
export async function askUntil<Answer>(
  ask: () => Promise<Answer> | Answer,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  const since = Date.now()
  for (;;) {
    const answer = await ask()
    const waited_ms = Date.now() - since
    if (isWanted(answer) || waited_ms > WAIT_MS) return ask()
    await Bun.sleep(nextStepMs(waited_ms))
  }
}

/** Waits until a server has a snapshot file that counts: one that only lies in its folder is removed at the next start. */
export async function untilSnapshotFile(url: string): Promise<void> {
  const countFiles = async (): Promise<number> => {
    const page = await (await fetch(`${url}/_metrics`)).text()
    return Number(/^tidemark_snapshot_files (\d+)$/m.exec(page)?.[1])
  }
  await askUntil(countFiles, (files) => files > 0)
}
