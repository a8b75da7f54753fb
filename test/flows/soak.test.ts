/** Everything at once for a while: ingest, queries, snapshots, compaction, and whatever process is killed next (SOAK_S seconds, SEED). */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFaults } from '../../src/backup/doctor.ts'
import { seeded } from '../bench/events.ts'
import { type Batch, makeBatches, sendBatches, tally } from './clients/ledger.ts'
import { askUntil } from './clients/patience.ts'
import { childrenOf, residentBytes } from './processes/processes.ts'
import { askHogQL, type Server, startServer } from './processes/server.ts'

setDefaultTimeout(180_000)

/** Ten minutes: SOAK_S=600 bun test test/flows/soak.test.ts. Without seconds there is none: `kill.test.ts` kills as well. */
const SECONDS = Number(process.env['SOAK_S'] ?? 0)
const SEED = Number(process.env['SEED'] ?? 20_261_122)
const BATCHES_PER_ROUND = 150
const ROUND_MS_MAX = 3000
/** However slow the machine is. */
const ROUNDS_MIN = 4
/** What the server may have in memory with all its processes. */
const RESIDENT_BYTES_MAX = 1.5 * 1024 ** 3

const folder = mkdtempSync(join(tmpdir(), 'tidemark-soak-'))
const data_dir = join(folder, 'data')
const files = join(data_dir, 'files', '1')
/** Files that a project of this size is left with once they are put together. */
const FILES_MAX = 24
const random = seeded(SEED)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Files small enough that there is always something to write, to put together and to interrupt. */
const start = (): Promise<Server> =>
  startServer({
    data_dir,
    env: { TIDEMARK_SNAPSHOT_ROWS: '2000', TIDEMARK_QUERY_MEMORY_MB: '256' },
  })

type Round = {
  readonly server: Server
  readonly batches: readonly Batch[]
  readonly isOver: () => boolean
}

const answeredIn = (batches: readonly Batch[]): number =>
  batches.filter(({ answered }) => answered).length * 100

/** What every answer has to agree on, at any moment. Answers how many queries were answered. */
async function keepAsking({ server, batches, isOver }: Round): Promise<number> {
  let asked = 0
  let before = 0
  while (!isOver()) {
    const answered = answeredIn(batches)
    if (answered === 0) {
      // There is no highest price of nothing, and no type of a property that nobody had.
      await Bun.sleep(10)
      continue
    }
    const rows = await askHogQL(
      server.url,
      `select count(), count(distinct uuid), countIf(properties.plan in ('free', 'basic', 'pro', 'enterprise')),
         countIf(JSONExtractString(toString(properties), '$lib') = 'web'), max(properties.price) <= 200
       from events`,
    ).then(
      ({ results }) => results,
      () => null,
    )
    // A killed process may take its queries along; the next ones are answered.
    if (rows === null) continue
    const [count, distinct, with_plan, whole, is_priced] = (rows[0] ?? []).map(Number)
    expect([distinct, with_plan, whole, is_priced]).toEqual([count, count, count, 1])
    expect(count).toBeGreaterThanOrEqual(Math.max(answered, before))
    before = count ?? 0
    asked++
  }
  return asked
}

async function watchMemory({ server, isOver }: Round): Promise<number> {
  let most = 0
  while (!isOver()) {
    most = Math.max(most, residentBytes(server.pid))
    await Bun.sleep(50)
  }
  return most
}

/** Kills one process of the server, or the server. True when it was the server. */
async function killSome(server: Server): Promise<boolean> {
  const children = childrenOf(server.pid)
  const victim = children[Math.floor(random() * (children.length + 1))]
  if (victim === undefined) {
    await server.kill()
    return true
  }
  process.kill(victim, 'SIGKILL')
  return false
}

let running: Server | null = null
afterAll(async () => running?.kill())

async function restart(): Promise<Server> {
  running = await start()
  return running
}

test.skipIf(SECONDS === 0)(
  `${SECONDS} s of everything at once (SEED=${SEED}) lose nothing, double nothing, and stay within memory`,
  async () => {
    const batches: Batch[] = []
    const deadline = performance.now() + SECONDS * 1000
    let current = await restart()
    const kills = { server: 0, child: 0 }
    let asked = 0
    let most = 0
    for (let round = 0; round < ROUNDS_MIN || performance.now() < deadline; round++) {
      batches.push(...makeBatches(SEED + round, BATCHES_PER_ROUND))
      let is_over = false
      const now: Round = { server: current, batches, isOver: () => is_over }
      const sending = sendBatches(current.url, batches, 2)
      const asking = keepAsking(now)
      const watching = watchMemory(now)
      await Bun.sleep(500 + random() * ROUND_MS_MAX)
      const is_dead = await killSome(current)
      kills[is_dead ? 'server' : 'child']++
      await sending
      is_over = true
      asked += await asking
      most = Math.max(most, await watching)
      if (is_dead) current = await restart()
    }
    await sendBatches(current.url, batches, 2)
    const all = batches.length * 100
    const counted = await askHogQL(current.url, 'select count(), count(distinct uuid) from events')
    expect(counted.results).toEqual([[all, all]])
    for (const [key, of] of [
      ['event', (event) => event.event],
      ['properties.plan', ({ properties }) => String(properties['plan'])],
      ['substring(toString(timestamp), 1, 10)', (event) => event.timestamp.slice(0, 10)],
    ] as const satisfies readonly (readonly [string, Parameters<typeof tally>[1]])[]) {
      const { results } = await askHogQL(
        current.url,
        `select ${key} as k, count() from events group by k order by k`,
      )
      expect(results).toEqual(tally(batches, of))
    }
    expect(asked).toBeGreaterThan(0)
    expect(kills.server + kills.child).toBeGreaterThanOrEqual(ROUNDS_MIN)
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(RESIDENT_BYTES_MAX)

    // With nothing more to do, what is on disk is whole, and files were put together meanwhile.
    const names = (): string[] =>
      existsSync(files) ? readdirSync(files).filter((name) => name.endsWith('.parquet')) : []
    const isSettled = (found: readonly string[]): boolean =>
      found.length > 0 && found.length < FILES_MAX
    expect(isSettled(await askUntil(names, isSettled))).toBe(true)
    expect(await current.stop()).toBe(0)
    expect((await findFaults(data_dir)).findings).toEqual([])
  },
  SECONDS * 1000 + 240_000,
)
