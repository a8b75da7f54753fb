/** What a standby lacks when its primary is killed under load: answered requests, and how much of their stream they are. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../cli/command.ts'
import { askUntil } from '../flows/clients/patience.ts'
import { API_TOKEN, askHogQL, startServer } from '../flows/processes/server.ts'
import { seeded, someEvent } from './events.ts'

/** The loss of one kill. */
export type StandbyLoss = {
  /** Events that were answered with 200 and are not in the standby. */
  readonly events: number
  /** Time from the answer to the first of their requests until the kill; 0 if nothing is lost. */
  readonly ms: number
  /** Events per second that were answered before the kill. */
  readonly events_per_s: number
}

/** The stream: senders, the events of each request, and the interval between two requests of one sender. */
const SENDERS = 4
const BATCH_SIZE = 50
const SEND_EVERY_MS = 20
const PERSONS = 10_000
/** The time that it lasts before the kill; up to a second more, so that kills meet every moment of a round. */
const STREAM_MS = 1500

const KEY = { TIDEMARK_REPLICA_KEY: 'a-secret-of-both-servers' }

/** The losses of a number of kills, each of a primary and a standby of its own. */
export async function standbyLosses(folder: string, kills: number): Promise<StandbyLoss[]> {
  const losses: StandbyLoss[] = []
  for (let kill = 0; kill < kills; kill += 1) {
    const own = join(folder, String(kill))
    mkdirSync(own, { recursive: true })
    losses.push(await lossOfKill(own))
    rmSync(own, { recursive: true, force: true })
  }
  return losses
}

async function lossOfKill(folder: string): Promise<StandbyLoss> {
  const primary = await startServer({ data_dir: join(folder, 'primary'), env: KEY })
  const data_dir = join(folder, 'standby')
  const env = { ...KEY, TIDEMARK_REPLICA_OF: primary.url }
  const standby = await startServer({ data_dir, env })
  await askUntil(
    () => behindOf(standby.url),
    (behind_s) => behind_s !== null,
  )
  const stream = openStream(primary.url)
  await Bun.sleep(STREAM_MS + Math.random() * 1000)
  const killed_ms = performance.now()
  await primary.kill()
  const answered = await stream.close()
  const { exit_code, err } = await run(['takeover', '--data-dir', data_dir])
  if (exit_code !== 0) throw new Error(`the standby did not take over: ${err}`)
  await askUntil(
    () => fetch(`${standby.url}/_readiness`).catch(() => null),
    (answer) => answer?.ok === true,
  )
  const { results } = await askHogQL(
    standby.url,
    'select properties.request, count() from events group by properties.request limit 50000',
  )
  await standby.stop()
  const stored = new Map(results.map(([request, count]) => [Number(request), Number(count)]))
  const lost = [...answered].filter(([request]) => stored.get(request) !== BATCH_SIZE)
  const first_ms = Math.min(killed_ms, ...lost.map(([, answered_ms]) => answered_ms))
  return {
    events: lost.reduce((sum, [request]) => sum + BATCH_SIZE - (stored.get(request) ?? 0), 0),
    ms: killed_ms - first_ms,
    events_per_s: (answered.size * BATCH_SIZE * 1000) / (killed_ms - stream.started_ms),
  }
}

async function behindOf(url: string): Promise<number | null> {
  const health = await (await fetch(`${url}/_health`)).json()
  return (health as { standby: { behind_s: number | null } }).standby.behind_s
}

/** Sends until the server is gone. `close` resolves with the time of each answer by the number of its request. */
function openStream(url: string): {
  readonly started_ms: number
  close(): Promise<ReadonlyMap<number, number>>
} {
  const answered = new Map<number, number>()
  const random = seeded(11)
  const started_ms = performance.now()
  let last = 0
  const send = async (): Promise<void> => {
    for (;;) {
      const due_ms = performance.now() + SEND_EVERY_MS
      last += 1
      const request = last
      const batch = Array.from({ length: BATCH_SIZE }, () => {
        const event = someEvent(random, PERSONS)
        return { ...event, properties: { ...event.properties, request } }
      })
      const answer = await fetch(`${url}/batch/`, {
        method: 'POST',
        body: JSON.stringify({ api_key: API_TOKEN, batch }),
      }).catch(() => null)
      if (answer === null) return
      if (answer.status !== 200) throw new Error(`a batch was refused: ${await answer.text()}`)
      answered.set(request, performance.now())
      await Bun.sleep(Math.max(0, due_ms - performance.now()))
    }
  }
  const senders = Array.from({ length: SENDERS }, send)
  return {
    started_ms,
    async close() {
      await Promise.all(senders)
      return answered
    },
  }
}
