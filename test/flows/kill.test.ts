/** Kill -9 in the middle of everything, again and again: nothing answered is lost, nothing is doubled. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seeded } from '../bench/events.ts'
import { makeBatches, sendBatches, tally } from './clients/ledger.ts'
import { childrenOf } from './processes/processes.ts'
import {
  API_TOKEN,
  askHogQL,
  PERSONAL_API_KEY,
  type Server,
  serverLog,
  startServer,
} from './processes/server.ts'

/** Many: KILL_ROUNDS=40 bun test test/flows/kill.test.ts */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 4)
const BATCHES_PER_ROUND = 30

setDefaultTimeout(180_000 + ROUNDS * 15_000)
/** What all rounds send: a batch has a hundred. */
const EVENTS = ROUNDS * BATCHES_PER_ROUND * 100
const SEED = Number(process.env['SEED'] ?? 20_261_121)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-kill-'))
const data_dir = join(folder, 'data')
const random = seeded(SEED)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Files small enough that snapshots, their trimming and the kills keep meeting. */
const start = (): Promise<Server> =>
  startServer({ data_dir, env: { TIDEMARK_SNAPSHOT_ROWS: '10000' } })

async function countStored(server: Server): Promise<readonly unknown[]> {
  const { results } = await askHogQL(server.url, 'select count(), count(distinct uuid) from events')
  return results[0] ?? []
}

test(`${ROUNDS} rounds of kill -9 (SEED=${SEED}) lose no answered event and double none`, async () => {
  const batches = makeBatches(SEED, ROUNDS * BATCHES_PER_ROUND)
  let interrupted = 0
  for (let round = 0; round < ROUNDS; round++) {
    const server = await start()
    const [stored, distinct] = await countStored(server)
    const answered = batches.filter((batch) => batch.answered).length * 100
    expect(distinct).toBe(stored)
    expect(Number(stored)).toBeGreaterThanOrEqual(answered)
    expect(Number(stored) % 100).toBe(0)

    // What an earlier kill left unanswered is sent again with the same uuids, before this round's own.
    const due = batches.slice(0, (round + 1) * BATCHES_PER_ROUND)
    const sending = sendBatches(server.url, due, 4)
    const answered_at_kill = answered / 100 + random() * BATCHES_PER_ROUND * 0.7
    while (due.filter((batch) => batch.answered).length < answered_at_kill) await Bun.sleep(1)
    if (round % 4 === 3) {
      const [victim] = childrenOf(server.pid)
      if (victim !== undefined) process.kill(victim, 'SIGKILL')
      await Bun.sleep(random() * 200)
      const [after_kill, after_kill_distinct] = await countStored(server)
      expect(after_kill_distinct).toBe(after_kill)
    }
    await server.kill()
    await sending
    if (due.some((batch) => !batch.answered)) interrupted++
  }
  // A kill after everything was answered shows nothing.
  expect(interrupted).toBeGreaterThan(ROUNDS / 4)

  const server = await start()
  await sendBatches(server.url, batches, 4)
  expect(await countStored(server)).toEqual([EVENTS, EVENTS])
  const perEvent = await askHogQL(
    server.url,
    'select event, count() from events group by event order by event',
  )
  expect(perEvent.results).toEqual(tally(batches, (event) => event.event))
  const perDay = await askHogQL(
    server.url,
    'select toString(toDate(timestamp)) as day, count() from events group by day order by day',
  )
  expect(perDay.results).toEqual(tally(batches, (event) => event.timestamp.slice(0, 10)))
  expect(childrenOf(server.pid).length).toBeGreaterThan(0)
  expect(await server.stop()).toBe(0)
})

test('SIGTERM answers what is in flight, exits 0 and leaves no process behind', async () => {
  const server = await start()
  const batches = makeBatches(SEED + 1, 100)
  const sending = sendBatches(server.url, batches, 4)
  await countStored(server)
  const children = childrenOf(server.pid)
  expect(children.length).toBeGreaterThan(0)
  expect(await server.stop()).toBe(0)
  await sending
  const left = readdirSync('/proc').filter((entry) => children.includes(Number(entry)))
  expect(left).toEqual([])

  const again = await start()
  const uuids = batches.filter((batch) => batch.answered).flatMap(({ events }) => events)
  const { results } = await askHogQL(again.url, 'select count(), count(distinct uuid) from events')
  expect(results[0]?.[0]).toBe(results[0]?.[1])
  expect(Number(results[0]?.[0])).toBeGreaterThanOrEqual(EVENTS + uuids.length)
  expect(await again.stop()).toBe(0)
})

test('a control.db that is damaged under a server is answered with 503: then it ends and names the file', async () => {
  const damaged_dir = join(folder, 'damaged')
  // Once more, so that the server has read few of its pages.
  expect(await (await startServer({ data_dir: damaged_dir })).stop()).toBe(0)
  const server = await startServer({ data_dir: damaged_dir })
  const path = join(damaged_dir, 'control.db')
  // In place: the server has the file open.
  writeFileSync(path, readFileSync(path).fill(0xa5, 4096), { flag: 'r+' })
  const headers = { Authorization: `Bearer ${PERSONAL_API_KEY}` }
  const answers = await Promise.all([
    fetch(`${server.url}/api/projects/1/insights/`, { headers }),
    fetch(`${server.url}/capture/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: API_TOKEN, event: 'e', distinct_id: 'ann' }),
    }),
  ])
  for (const answer of answers) {
    expect([answer.status, await answer.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'storage_unavailable' }),
    ])
  }
  expect(await server.exited).not.toBe(0)
  expect(serverLog(damaged_dir)).toMatch(/control\.db is damaged .*tidemark restore/)
})
