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
