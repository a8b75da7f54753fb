/**
 * An honest client, as a process of its own: every 20 ms it captures, decides and asks, each on its own connection, and
 * prints at SIGTERM how long the answers took. It captures and decides in the attacked project and asks in another one:
 * a project whose query ended a query process has to wait. Beside it runs a timer with nothing to do: how late that is,
 * is the machine's doing. It also writes a block to the server's disk and waits for it: no durable answer is faster.
 */
import { open } from 'node:fs/promises'
import { API_TOKEN } from '../flows/processes/server.ts'

/** Latencies of one kind of request, in milliseconds. */
export type Latencies = {
  readonly name: string
  readonly count: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
  /** Answers that were no 200. */
  readonly refused: number
}

/** What a client is told on its command line. */
export type HonestPlace = {
  readonly url: string
  /** Where it asks. */
  readonly project_id: number
  readonly personal_api_key: string
  /** A file on the server's disk that it makes. */
  readonly block_path: string
}

/** A time at which this process did not run for a while: Unix time in milliseconds. */
export type Pause = { readonly at_ms: number; readonly late_ms: number }

export type HonestReport = {
  readonly latencies: readonly Latencies[]
  /** Writes of one block that wait for the disk, without the server. */
  readonly disk: Latencies
  readonly pauses: readonly Pause[]
}

const EVERY_MS = 20
const PAUSE_MS_MIN = 30
/** Later answers are taken for none. */
const ANSWER_MS_MAX = 60_000

type Kind = {
  readonly name: string
  readonly request: (count: number, project_id: number) => readonly [string, object]
}

const ask = (project_id: number, query: string, refresh: string) =>
  [`/api/projects/${project_id}/query/`, { query: { kind: 'HogQLQuery', query }, refresh }] as const

const KINDS: readonly Kind[] = [
  {
    name: 'capture',
    request: (count) => [
      '/capture/',
      { api_key: API_TOKEN, event: 'honest', distinct_id: `honest-${count % 100}` },
    ],
  },
  {
    name: 'decide',
    request: (count) => [
      '/decide/?v=3',
      { token: API_TOKEN, distinct_id: `honest-${count % 100}` },
    ],
  },
  {
    name: 'cached query',
    request: (_count, project_id) => ask(project_id, 'select 1 as cached', 'blocking'),
  },
  {
    name: 'computed query',
    request: (count, project_id) => ask(project_id, `select ${count} as fresh`, 'force_blocking'),
  },
]

function statisticsOf(name: string, times_ms: readonly number[], refused: number): Latencies {
  const sorted = times_ms.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  const [p50_ms, p99_ms, max_ms] = [at(0.5), at(0.99), sorted.at(-1) ?? 0]
  return { name, count: sorted.length, p50_ms, p99_ms, max_ms, refused }
}

/** Whether a request is answered 200. */
async function send(url: string, key: string, body: object): Promise<boolean> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    await answer.arrayBuffer()
    return answer.status === 200
  } catch {
    return false
  }
}

/** Sends one kind of request every 20 ms, or as soon as the last one is answered. */
async function keepSending(
  { url, project_id, personal_api_key }: HonestPlace,
  { name, request }: Kind,
  isOver: () => boolean,
) {
  const times_ms: number[] = []
  let refused = 0
  for (let count = 0; !isOver(); count += 1) {
    const [path, body] = request(count, project_id)
    const started = performance.now()
    const is_answered = await send(url + path, personal_api_key, body)
    const took_ms = performance.now() - started
    times_ms.push(took_ms)
    if (!is_answered) refused += 1
    await Bun.sleep(Math.max(0, EVERY_MS - took_ms))
  }
  // The first ones warm up.
  return statisticsOf(name, times_ms.slice(5), refused)
}

/** Overwrites one block every 20 ms and waits until it is on the disk. */
async function keepSyncing(path: string, isOver: () => boolean): Promise<Latencies> {
  const file = await open(path, 'w')
  const block = Buffer.alloc(4096, 1)
  const times_ms: number[] = []
  while (!isOver()) {
    const started = performance.now()
    await file.write(block, 0, block.length, 0)
    await file.datasync()
    const took_ms = performance.now() - started
    times_ms.push(took_ms)
    await Bun.sleep(Math.max(0, EVERY_MS - took_ms))
  }
  await file.close()
  return statisticsOf('one block to the disk', times_ms.slice(5), 0)
}

async function beHonest(place: HonestPlace): Promise<HonestReport> {
  let is_over = false
  process.on('SIGTERM', () => {
    is_over = true
  })
  const pauses: Pause[] = []
  let due_ms = performance.now() + EVERY_MS
  const timer = setInterval(() => {
    const late_ms = performance.now() - due_ms
    if (late_ms > PAUSE_MS_MIN) pauses.push({ at_ms: Date.now(), late_ms })
    due_ms = performance.now() + EVERY_MS
  }, EVERY_MS)
  const [disk, ...latencies] = await Promise.all([
    keepSyncing(place.block_path, () => is_over),
    ...KINDS.map((kind) => keepSending(place, kind, () => is_over)),
  ])
  clearInterval(timer)
  return { latencies, disk, pauses }
}

if (import.meta.main) {
  const place: HonestPlace = JSON.parse(process.argv[2] ?? '')
  process.stdout.write(JSON.stringify(await beHonest(place)))
}
