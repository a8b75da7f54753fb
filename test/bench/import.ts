/** `tidemark import` of small events from a file into a running server. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importFiles } from '../../src/backup/import.ts'
import { listImportFiles } from '../../src/backup/import-files.ts'

/** Events stored per second, and the importing process's processor time for each in µs. */
export type ImportRate = { readonly events_per_s: number; readonly event_us: number }

/** Imports this many new events from a file of lines, which it writes into the folder and deletes. */
export async function importRate(
  folder: string,
  server: { readonly url: string; readonly api_token: string },
  count: number,
): Promise<ImportRate> {
  const path = join(folder, 'import.jsonl')
  writeFileSync(path, Array.from({ length: count }, (_, index) => someLine(index)).join(''))
  const used = process.cpuUsage()
  const started_ms = performance.now()
  const { events } = await importFiles({
    ...server,
    files: listImportFiles([path]),
    progress_path: join(folder, 'import-progress'),
    tell: () => undefined,
  })
  const took_ms = performance.now() - started_ms
  const { user, system } = process.cpuUsage(used)
  rmSync(path)
  if (events !== count) throw new Error(`${events} of ${count} events were stored`)
  return { events_per_s: (events / took_ms) * 1000, event_us: (user + system) / events }
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
