/** Waiting for what clients do in their own time: bounded, and what came instead is told. */

const WAIT_MS = 50_000
const STEP_MS = 25

/**
 * Asks again until the answer is as wanted, at most 50 s; answers the last one either way, for the test to judge. That is
 * one that was asked after what was waited for was there: a question that ran meanwhile may have been read before it, as
 * when a property had no type yet.
 */
export async function askUntil<Answer>(
  ask: () => Promise<Answer> | Answer,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  const deadline = Date.now() + WAIT_MS
  for (;;) {
    const answer = await ask()
    if (isWanted(answer) || Date.now() > deadline) return ask()
    await Bun.sleep(STEP_MS)
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
