/** Faults between an edge and its home, again and again: nothing that was answered is lost, nothing is doubled. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seeded } from '../bench/events.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { askUntil } from './clients/patience.ts'
import { type BadLine, openBadLine } from './processes/bad-line.ts'
import {
  API_TOKEN,
  askHogQL,
  freePort,
  PERSONAL_API_KEY,
  type Server,
  startServer,
} from './processes/server.ts'

/** Many: EDGE_ROUNDS=200 bun test test/flows/edge-faults.test.ts */
const ROUNDS = Number(process.env['EDGE_ROUNDS'] ?? 7)
const SEED = Number(process.env['SEED'] ?? 20_261_123)
const BATCHES_PER_ROUND = 10

setDefaultTimeout(240_000 + ROUNDS * 30_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-edge-faults-'))
const edge_dir = join(folder, 'edge')
const copy_dir = join(folder, 'edge-copy')
const home_port = freePort()
const random = seeded(SEED)
const line: BadLine = openBadLine(home_port, random)
let home: Server
let edge: Server

afterAll(async () => {
  line.close()
  await edge.kill()
  await home.kill()
  rmSync(folder, { recursive: true, force: true })
})

const startHome = (): Promise<Server> =>
  startServer({ data_dir: join(folder, 'home'), port: home_port })
const startEdge = (): Promise<Server> =>
  startServer({
    data_dir: edge_dir,
    env: {
      TIDEMARK_FORWARD_TO: line.url,
      TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY,
      TIDEMARK_EDGE_REFRESH_S: '1',
    },
  })

/** Events without a uuid: each is sent once, so that only the wire keeps it from being stored twice. */
type Plain = { readonly number: number; is_answered: boolean }
const plains: Plain[] = []

async function sendPlains(count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) {
    const plain: Plain = { number: plains.length, is_answered: false }
    plains.push(plain)
    const body = JSON.stringify({
      api_key: API_TOKEN,
      event: 'plain',
      distinct_id: `p-${plain.number % 7}`,
      properties: { number: plain.number },
    })
    const answer = await fetch(`${edge.url}/capture/`, { method: 'POST', body }).catch(() => null)
    plain.is_answered = answer?.status === 200
    if (answer === null) return
  }
}

async function backlog(): Promise<number> {
  const answer = await fetch(`${edge.url}/_health`).catch(() => null)
  const health = (await answer?.json()) as { edge?: { backlog_events: number } } | undefined
  return health?.edge?.backlog_events ?? -1
}

/** Waits until the home has everything. */
async function drain(): Promise<void> {
  line.set('open')
  expect(await askUntil(backlog, (events) => events === 0)).toBe(0)
}

const pause = (): Promise<void> => Bun.sleep(50 + random() * 300)

/** The faults, in turn; each leaves both servers running. */
const FAULTS: readonly (readonly [name: string, run: () => Promise<void>])[] = [
  [
    'the edge is killed',
    async () => {
      await pause()
      await edge.kill()
      edge = await startEdge()
    },
  ],
  [
    'the home is killed',
    async () => {
      await pause()
      await home.kill()
      await pause()
      home = await startHome()
    },
  ],
  [
    'answers of the home are lost',
    async () => {
      line.set('lost_answers')
      await pause()
      await pause()
    },
  ],
  [
    'requests are cut in the middle',
    async () => {
      line.set('cut')
      await pause()
      await pause()
    },
  ],
  [
    'the line is slow, and the edge is killed meanwhile',
    async () => {
      line.set('slow')
      await pause()
      await edge.kill()
      edge = await startEdge()
    },
  ],
  [
    'both are killed',
    async () => {
      await pause()
      await Promise.all([edge.kill(), home.kill()])
      home = await startHome()
      edge = await startEdge()
    },
  ],
  [
    'the edge is restored from a copy whose entries the home has got meanwhile',
    async () => {
      line.set('closed')
      await sendPlains(5)
      await edge.kill()
      rmSync(copy_dir, { recursive: true, force: true })
      cpSync(edge_dir, copy_dir, { recursive: true })
      edge = await startEdge()
      await drain()
      await sendPlains(5)
      await drain()
      await edge.kill()
      rmSync(edge_dir, { recursive: true })
      cpSync(copy_dir, edge_dir, { recursive: true })
      edge = await startEdge()
      expect(await backlog()).toBeGreaterThan(-1)
    },
  ],
]

test(`${ROUNDS} rounds of faults (SEED=${SEED}) lose no answered event and double none`, async () => {
  home = await startHome()
  edge = await startEdge()
  const batches = makeBatches(SEED, ROUNDS * BATCHES_PER_ROUND)
  for (let round = 0; round < ROUNDS; round += 1) {
    const [name, run] = FAULTS[round % FAULTS.length] ?? ['', async () => undefined]
    const due = batches.slice(0, (round + 1) * BATCHES_PER_ROUND)
    // A restored edge has lost what it had not forwarded, as any server; so nothing is sent beside that.
    const is_restored = name.startsWith('the edge is restored')
    const sending = is_restored
      ? Promise.resolve()
      : Promise.all([sendBatches(edge.url, due, 2), sendPlains(30)])
    if (is_restored) await drain()
    await run()
    await sending
    line.set('open')
  }
  await sendBatches(edge.url, batches, 2)
  await sendPlains(3)
  await drain()

  expect(batches.every(({ answered }) => answered)).toBe(true)
  const { results } = await askHogQL(
    home.url,
    "select count(), count(distinct uuid) from events where event <> 'plain'",
  )
  const events = batches.length * 100
  expect(results).toEqual([[events, events]])
  const stored = await askHogQL(
    home.url,
    "select toInt(properties.number) as number, count() from events where event = 'plain' group by number order by number limit 50000",
  )
  const times = new Map(stored.results.map(([number, count]) => [Number(number), Number(count)]))
  const lost = plains.filter(({ number, is_answered }) => is_answered && !times.has(number))
  expect(lost).toEqual([])
  expect([...times].filter(([, count]) => count > 1)).toEqual([])
  expect(plains.filter(({ is_answered }) => is_answered).length).toBeGreaterThan(ROUNDS)
  expect(await edge.stop()).toBe(0)
  expect(await home.stop()).toBe(0)
})
