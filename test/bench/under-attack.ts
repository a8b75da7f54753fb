/** The times of an honest client's requests while an attacker sends what grows. */
import { ATTACKS } from '../attack/attacks.ts'
import { ownMs, runAttack, textOfStalls } from '../attack/run-attack.ts'
import { IS_SMALL } from './sizes.ts'

const ATTACK_SECONDS = Number(process.env['BENCH_ATTACK_SECONDS'] ?? (IS_SMALL ? 1 : 60))
const SEED = 1
/** Stalls that are printed. */
const SHOWN_MAX = 5

export type UnderAttack = {
  /** Of the slowest kind of request. */
  readonly p99_ms: number
  readonly max_ms: number
  /** The kind of the slowest request. */
  readonly slowest: string
  /** The slowest write of one block to the disk at the same time, without the server. */
  readonly disk_max_ms: number
  readonly refused: number
  /** The longest stall of a thread, without what the machine did to every process then. */
  readonly stall_ms: number
  /** The longest stalls in words. */
  readonly stalls: readonly string[]
}

/** Attacks a server on a folder for a minute. */
export async function timesUnderAttack(data_dir: string): Promise<UnderAttack> {
  const { latencies, disk, stalls } = await runAttack({
    data_dir,
    attacks: ATTACKS,
    seed: SEED,
    seconds: ATTACK_SECONDS,
    requests_max: 1,
    stall_ms: 50,
  })
  const slowest = latencies.toSorted((one, other) => other.max_ms - one.max_ms)[0]
  return {
    p99_ms: Math.max(...latencies.map((one) => one.p99_ms)),
    max_ms: slowest?.max_ms ?? 0,
    slowest: slowest?.name ?? '',
    disk_max_ms: disk.max_ms,
    refused: latencies.reduce((sum, one) => sum + one.refused, 0),
    stall_ms: Math.max(0, ...stalls.map(ownMs)),
    stalls: textOfStalls(stalls).split('\n').slice(0, SHOWN_MAX),
  }
}
