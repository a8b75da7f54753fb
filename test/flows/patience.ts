/** Waiting for what clients do in their own time: bounded, and what came instead is told. */

const WAIT_MS = 20_000
const STEP_MS = 25

/** Asks again until the answer is as wanted, at most 20 s; answers the last one either way, for the test to judge. */
export async function askUntil<Answer>(
  ask: () => Promise<Answer> | Answer,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  const deadline = Date.now() + WAIT_MS
  for (;;) {
    const answer = await ask()
    if (isWanted(answer) || Date.now() > deadline) return answer
    await Bun.sleep(STEP_MS)
  }
}
