/** The times of an honest client's requests while an attacker sends what grows. */
import { ATTACKS } from '../attack/attacks.ts'
import { runAttack, textOfStalls } from '../attack/run-attack.ts'
import { SIZES } from './sizes.ts'

const SEED = 1

export type UnderAttack = {
  /** Of the slowest kind of request. */
  readonly p99_ms: number
  readonly max_ms: number
  /** The longest stall of a thread and what was sent then, in one line; '' if there was none. */
  readonly longest_stall: string
}

/** Attacks a server on a folder for a minute. */
export async function timesUnderAttack(data_dir: string): Promise<UnderAttack> {
  const { latencies, stalls } = await runAttack({
    data_dir,
    attacks: ATTACKS,
    seed: SEED,
    seconds: SIZES.attack_seconds,
    requests_max: 1,
    stall_ms: 50,
  })
  return {
    p99_ms: Math.max(...latencies.map((one) => one.p99_ms)),
    max_ms: Math.max(...latencies.map((one) => one.max_ms)),
    longest_stall: textOfStalls(stalls).split('\n', 1)[0] ?? '',
  }
}
