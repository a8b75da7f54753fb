/** No request holds a thread: an honest client is answered while an attacker sends what grows, in every field of every route. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ATTACKS } from '../attack/attacks.ts'
import { ownMs, runAttack, textOfStalls } from '../attack/run-attack.ts'

/** An hour: ATTACK_S=3600 ATTACK_REQUESTS=1000 bun test test/flows/attack.test.ts */
const SECONDS = Number(process.env['ATTACK_S'] ?? 4)
const REQUESTS = Number(process.env['ATTACK_REQUESTS'] ?? 1)
const SEED = Number(process.env['SEED'] ?? 20_261_123)
/** Longer than any machine hiccup that a timer beside the server would not see too; `bench` measures the promise itself. */
const STALL_MS_MAX = 2000

setDefaultTimeout(SECONDS * 1000 + 240_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-attack-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test(`${SECONDS} s of attacks (SEED=${SEED}) hold no thread for two seconds, and honest requests are answered`, async () => {
  const result = await runAttack({
    data_dir: join(folder, 'data'),
    attacks: ATTACKS,
    seed: SEED,
    seconds: SECONDS,
    requests_max: REQUESTS,
    stall_ms: 100,
  })
  const long = result.stalls.filter((stall) => ownMs(stall) > STALL_MS_MAX)
  expect(textOfStalls(long)).toBe('')
  expect(result.unanswered).toEqual([])
  // Faults of the server: whatever is sent is refused with a reason.
  expect(Object.keys(result.statuses).filter((status) => Number(status) >= 500)).toEqual([])
  expect(result.latencies.map(({ name, refused }) => [name, refused])).toEqual([
    ['capture', 0],
    ['decide', 0],
    ['cached query', 0],
    ['computed query', 0],
  ])
  for (const { count } of result.latencies) expect(count).toBeGreaterThan(SECONDS)
  // Attacks that are all refused at the door would show little.
  expect(result.attacks).toBeGreaterThan(10)
  expect(result.statuses[200]).toBeGreaterThan(result.requests / 20)
  expect(result.exit_code).toBe(0)
})
