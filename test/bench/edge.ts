/** How fast an edge forwards what has gathered while its home was away, beside how fast it took that in. */
import { join } from 'node:path'
import { freePort, PERSONAL_API_KEY, startServer } from '../flows/processes/server.ts'
import type { LoadResult } from './load.ts'

/** Rates in events/s, and what an event took on the line. */
export type ForwardingTimes = {
  readonly taken_per_s: number
  readonly forwarded_per_s: number
  readonly events: number
  readonly bytes_per_event: number
  readonly refused: number
}

const POLL_MS = 20

/** Fills an edge without its home by `load`, whose batches have a given number of events; then lets it forward. */
export async function forwardingTimes(
  folder: string,
  api_token: string,
  batch_size: number,
  load: (port: number) => Promise<LoadResult>,
): Promise<ForwardingTimes> {
  const home_port = freePort()
  const startHome = () =>
    startServer({ data_dir: join(folder, 'home'), api_token, port: home_port })
  const home = await startHome()
  const edge_port = freePort()
  const edge = await startServer({
    data_dir: join(folder, 'edge'),
    port: edge_port,
    env: {
      TIDEMARK_FORWARD_TO: `http://127.0.0.1:${home_port}`,
      TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY,
    },
  })
  await home.stop()
  const result = await load(edge_port)
  const events = await figure(edge.url, 'tidemark_edge_backlog_events')
  const again = await startHome()
  const bytes_before = await figure(edge.url, 'tidemark_edge_forwarded_bytes_total')
  // From the first batch that the home takes: the edge may be waiting before its next try.
  let left = events
  while (left > 0 && left === events) {
    await Bun.sleep(POLL_MS)
    left = await figure(edge.url, 'tidemark_edge_backlog_events')
  }
  const started_ms = performance.now()
  while ((await figure(edge.url, 'tidemark_edge_backlog_events')) > 0) await Bun.sleep(POLL_MS)
  const took_s = (performance.now() - started_ms) / 1000
  const bytes = (await figure(edge.url, 'tidemark_edge_forwarded_bytes_total')) - bytes_before
  await edge.stop()
  await again.stop()
  return {
    taken_per_s: result.requests_per_s * batch_size,
    forwarded_per_s: left / took_s,
    events,
    bytes_per_event: bytes / events,
    refused: result.refused,
  }
}

async function figure(url: string, name: string): Promise<number> {
  const page = await (await fetch(`${url}/_metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1])
}
