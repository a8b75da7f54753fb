/** A power cut: what a loop-mounted disk holds at a moment, with everything lost that was not fsynced. */
import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitOf, limitTests } from '../long-tests.ts'
import { fewOrMany } from '../random-runs.ts'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { askUntil } from './clients/patience.ts'
import {
  API_TOKEN,
  askHogQL,
  freePort,
  PERSONAL_API_KEY,
  type Server,
  startServer,
} from './processes/server.ts'

limitTests(180_000)

const CUTS = fewOrMany(2, 3)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-cut-'))
const image = join(folder, 'disk.img')
const disk = join(folder, 'disk')
const mounted = new Set<string>()
/** Whoever still serves from a mounted disk keeps it from being unmounted, also after a failed test. */
const servers: Server[] = []

const run = (...command: readonly string[]): boolean =>
  Bun.spawnSync([...command], { stdout: 'ignore', stderr: 'ignore' }).success

/** Without its holes, which are most of it. */
const copyImage = (from: string, to: string): boolean => run('cp', '--sparse=always', from, to)

function mount(file: string, on: string): boolean {
  mkdirSync(on, { recursive: true })
  const done = run('mount', '-o', 'loop', file, on)
  if (done) mounted.add(on)
  return done
}

function unmount(from: string): void {
  if (run('umount', from)) mounted.delete(from)
}

/** Needs root and loop devices; elsewhere the kill rounds are what is left to show. */
const canCutPower =
  run('truncate', '-s', '512M', image) && run('mkfs.ext4', '-q', '-F', image) && mount(image, disk)

/** A second attempt begins with an empty disk too. */
beforeEach(async () => {
  if (!canCutPower) return
  for (const server of servers.splice(0)) await server.kill()
  for (const from of mounted) if (from !== disk) unmount(from)
  if (!mounted.has(disk)) mount(image, disk)
  rmSync(join(disk, 'data'), { recursive: true, force: true })
  rmSync(join(folder, 'home'), { recursive: true, force: true })
})

afterAll(async () => {
  for (const server of servers) await server.kill()
  for (const from of mounted) unmount(from)
  rmSync(folder, { recursive: true, force: true })
})

const annotate = (url: string, content: string): Promise<Response> =>
  fetch(`${url}/api/projects/1/annotations/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ content, date_marker: '2026-11-27T12:00:00Z' }),
  })

async function listAnnotations({ url }: Server): Promise<readonly string[]> {
  const headers = { Authorization: `Bearer ${PERSONAL_API_KEY}` }
  const answer = await fetch(`${url}/api/projects/1/annotations/`, { headers })
  const { results } = (await answer.json()) as { readonly results: { readonly content: string }[] }
  return results.map(({ content }) => content)
}

test.skipIf(!canCutPower)(
  'a power cut loses no answered event and no definition, and doubles none',
  async () => {
    const batches = makeBatches(4, fewOrMany(300, 600))
    const server = await startServer({
      data_dir: join(disk, 'data'),
      env: { TIDEMARK_SNAPSHOT_ROWS: '5000' },
    })
    servers.push(server)
    const sending = sendBatches(server.url, batches, 4)
    const answered_at_cut: number[] = []
    for (let cut = 0; cut < CUTS; cut++) {
      // In the middle of sending.
      const wanted = ((cut + 1) * batches.length) / (CUTS + 2)
      while (batches.filter((batch) => batch.answered).length < wanted) await Bun.sleep(5)
      answered_at_cut.push(batches.filter((batch) => batch.answered).length * 100)
      expect((await annotate(server.url, `cut ${cut}`)).status).toBe(201)
      // The image file holds what reached the disk; what only the mounted side's cache holds is not copied.
      expect(copyImage(image, join(folder, `cut-${cut}.img`))).toBe(true)
    }
    await server.kill()
    await sending
    unmount(disk)

    for (let cut = 0; cut < CUTS; cut++) {
      const after = join(folder, `after-${cut}`)
      expect(mount(join(folder, `cut-${cut}.img`), after)).toBe(true)
      const survivor = await startServer({ data_dir: join(after, 'data') })
      const { results } = await askHogQL(
        survivor.url,
        'select count(), count(distinct uuid) from events',
      )
      expect(results[0]?.[0]).toBe(results[0]?.[1])
      expect(Number(results[0]?.[0])).toBeGreaterThanOrEqual(answered_at_cut[cut] ?? 0)
      expect(Number(results[0]?.[0]) % 100).toBe(0)
      expect(await listAnnotations(survivor)).toContain(`cut ${cut}`)
      expect(await survivor.stop()).toBe(0)
      unmount(after)
    }
    expect(answered_at_cut.every((answered) => answered > 0)).toBe(true)
  },
  limitOf(180_000),
)

const EVENTS_PER_REQUEST = 20

/** Sends requests of events without a uuid, each once, until the server is gone. Notes which were answered. */
async function sendOnce(url: string, requests: { count: number }, answered: Set<number>) {
  for (;;) {
    const request = requests.count
    requests.count += 1
    const batch = Array.from({ length: EVENTS_PER_REQUEST }, (_, number) => ({
      event: 'seen',
      distinct_id: `user-${number}`,
      properties: { request },
    }))
    const body = JSON.stringify({ api_key: API_TOKEN, batch })
    const answer = await fetch(`${url}/batch/`, { method: 'POST', body }).catch(() => null)
    if (answer === null) return
    expect(answer.status).toBe(200)
    answered.add(request)
  }
}

/** The stored events of each request. */
async function countByRequest(home: Server): Promise<ReadonlyMap<number, number>> {
  const { results } = await askHogQL(
    home.url,
    'select toInt(properties.request) as request, count() from events group by request limit 50000',
  )
  return new Map(results.map(([request, count]) => [Number(request), Number(count)]))
}

async function waitingEvents(edge: Server): Promise<number> {
  const health = await (await fetch(`${edge.url}/_health`)).json()
  return (health as { edge: { backlog_events: number } }).edge.backlog_events
}

test.skipIf(!canCutPower)(
  'a power cut of an edge loses no answered event, and none arrives at its home twice',
  async () => {
    const port = freePort()
    const startHome = () => startServer({ data_dir: join(folder, 'home'), port })
    const at = join(folder, 'edge')
    const startEdge = () =>
      startServer({
        data_dir: join(at, 'data'),
        env: {
          TIDEMARK_FORWARD_TO: `http://127.0.0.1:${port}`,
          TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY,
        },
      })
    const image_of = (cut: number) => join(folder, `edge-${cut}.img`)
    expect(run('truncate', '-s', '256M', image_of(0))).toBe(true)
    expect(run('mkfs.ext4', '-q', '-F', image_of(0))).toBe(true)
    let home = await startHome()
    const requests = { count: 0 }
    const kept = new Set<number>()
    // The home takes what the edge has, then is away, so that all of it waits at the cut.
    for (const [cut, is_home_away] of [false, true].entries()) {
      expect(mount(image_of(cut), at)).toBe(true)
      const edge = await startEdge()
      servers.push(edge)
      if (is_home_away) await home.kill()
      const answered = new Set<number>()
      const senders = Array.from({ length: 4 }, () => sendOnce(edge.url, requests, answered))
      while (answered.size < 20) await Bun.sleep(10)
      await Bun.sleep(300)
      for (const request of answered) kept.add(request)
      expect(copyImage(image_of(cut), image_of(cut + 1))).toBe(true)
      await edge.kill()
      await Promise.all(senders)
      unmount(at)
    }
    home = await startHome()
    servers.push(home)
    const before = await countByRequest(home)
    expect([...kept].some((request) => !before.has(request))).toBe(true)
    expect(mount(image_of(2), at)).toBe(true)
    const survivor = await startEdge()
    servers.push(survivor)
    expect(
      await askUntil(
        () => waitingEvents(survivor),
        (events) => events === 0,
      ),
    ).toBe(0)

    const stored = await countByRequest(home)
    expect([...stored].filter(([, count]) => count !== EVENTS_PER_REQUEST)).toEqual([])
    expect([...kept].filter((request) => !stored.has(request))).toEqual([])
    expect(await survivor.stop()).toBe(0)
    expect(await home.stop()).toBe(0)
    unmount(at)
  },
)
