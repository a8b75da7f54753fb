/** `tidemark import` of small events from a file into a running server: its rate, and the disk that they take. */
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importFiles } from '../../src/backup/import.ts'
import { listImportFiles } from '../../src/backup/import-files.ts'
import { openReader } from '../../src/storage/sqlite/sqlite.ts'
import { askUntil } from '../flows/clients/patience.ts'
import { API_TOKEN, startServer } from '../flows/processes/server.ts'
import { processorTime } from './processor-time.ts'

/** Events stored per second, and for each event the processor time of the importing process and of the server, µs. */
export type ImportRate = {
  readonly events_per_s: number
  readonly event_us: number
  readonly server_event_us: number
}

/** A server that takes an import. */
type ImportTarget = { readonly url: string; readonly pid: number; readonly api_token: string }

/** Imports this many new events from a file of lines, which it writes into the folder and deletes. */
export async function importRate(
  folder: string,
  server: ImportTarget,
  count: number,
): Promise<ImportRate> {
  const path = join(folder, 'import.jsonl')
  writeFileSync(path, Array.from({ length: count }, (_, index) => someLine(index)).join(''))
  const used = process.cpuUsage()
  const server_used_ms = processorTime(server.pid)
  const started_ms = performance.now()
  const { events } = await importFiles({
    ...server,
    files: listImportFiles([path]),
    progress_path: join(folder, 'import-progress'),
    onProgress: () => undefined,
  })
  const took_ms = performance.now() - started_ms
  const { user, system } = process.cpuUsage(used)
  const server_ms = processorTime(server.pid) - server_used_ms
  rmSync(path)
  if (events !== count) throw new Error(`${events} of ${count} events were stored`)
  return {
    events_per_s: (events / took_ms) * 1000,
    event_us: (user + system) / events,
    server_event_us: (server_ms * 1000) / events,
  }
}

/**
 * Bytes of a data folder for each event, by the files that have them. `free_bytes` are pages of events.db that the log has
 * left, of all events together: the next events reuse them, so they are no share of an event.
 */
export type DiskUse = {
  readonly all: number
  readonly files: number
  readonly databases: number
  readonly free_bytes: number
}

/** Imports events into a new server, and measures its folder once all of them are in files and the server has stopped. */
export async function diskUse(folder: string, count: number): Promise<DiskUse> {
  const data_dir = join(folder, 'data')
  const env = { TIDEMARK_SNAPSHOT_AGE_S: '1' }
  const server = await startServer({ data_dir, env })
  await importRate(folder, { ...server, api_token: API_TOKEN }, count)
  const readFigure = async (name: string): Promise<number> => {
    const page = await (await fetch(`${server.url}/_metrics`)).text()
    return Number(new RegExp(`^tidemark_${name} (\\d+)$`, 'm').exec(page)?.[1])
  }
  const left = await askUntil(
    () => readFigure('log_events'),
    (events) => events === 0,
  )
  if (left !== 0) throw new Error(`${left} events are in no file`)
  await server.stop()
  const bytesOf = (pattern: string): number =>
    [...new Bun.Glob(pattern).scanSync({ cwd: data_dir, absolute: true })].reduce(
      (sum, path) => sum + statSync(path).size,
      0,
    )
  const free_bytes = freeBytes(join(data_dir, 'events.db'))
  return {
    all: (bytesOf('**/*') - free_bytes) / count,
    files: bytesOf('files/**/*.parquet') / count,
    databases: (bytesOf('events.db*') - free_bytes) / count,
    free_bytes,
  }
}

function freeBytes(path: string): number {
  using db = openReader(path)
  const pages = db.query<{ freelist_count: number }, []>('pragma freelist_count').get()
  const size = db.query<{ page_size: number }, []>('pragma page_size').get()
  return (pages?.freelist_count ?? 0) * (size?.page_size ?? 0)
}

function someLine(index: number): string {
  const event = {
    event: ['$pageview', 'signup', 'click', 'purchase'][index % 4],
    distinct_id: `user-${index % 5000}`,
    timestamp: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
    uuid: Bun.randomUUIDv7(),
    properties: { $current_url: `https://example.com/${index % 50}`, plan: 'pro', n: index % 100 },
  }
  return `${JSON.stringify(event)}\n`
}
