/**
 * ClickHouse measured beside this machine's engine: ship rate, processor time and bytes per event, capture while events
 * are shipped, and the bench's queries and insights on both. `bun run bench:clickhouse [events] [part …]`; `capture`
 * alone takes less than three minutes.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '../../clickhouse/cluster.ts'
import { ensureDataset } from '../dataset/dataset.ts'
import { IS_SMALL, SIZES } from '../sizes.ts'
import { measureCapture } from './capture.ts'
import { BothEngines } from './engines.ts'
import { measureFilling, measureShipping } from './shipping.ts'

const SHIPPED_EVENTS = IS_SMALL ? SIZES.imported_events : 300_000

const args = process.argv.slice(2)
const events = IS_SMALL
  ? SIZES.insight_events
  : Number(args.find((arg) => /^\d+$/.test(arg)) ?? 500_000)

/** The parts in their order. A line adds one, which `main.ts <its name>` runs alone. */
const PARTS: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  capture: async (folder) => print(await measureCapture(folder)),
  shipping: async () => print(await measureShipping(SHIPPED_EVENTS)),
  engines: measureEngines,
}

async function measureEngines(folder: string): Promise<void> {
  // Kept for the next run, but for a small one.
  const dataset = IS_SMALL ? join(folder, 'dataset') : join(tmpdir(), `tidemark-bench-${events}`)
  await ensureDataset(dataset, events)
  const copy = join(folder, 'copy')
  cpSync(dataset, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') })
  await using cluster = await startCluster()
  print(await measureFilling(cluster, copy))
  await using engines = new BothEngines(cluster, dataset)
  print(await engines.measureQueries(SIZES.rounds))
  print(await engines.measureInsights(SIZES.rounds))
}

function print(lines: string | readonly string[]): void {
  for (const line of [lines].flat()) process.stdout.write(`${line}\n`)
}

const names = args.filter((arg) => !/^\d+$/.test(arg))
const unknown = names.find((name) => !Object.hasOwn(PARTS, name))
if (unknown !== undefined)
  throw new Error(`no part is named ${unknown}: ${Object.keys(PARTS).join(', ')}`)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-clickhouse-'))
try {
  for (const [name, measure] of Object.entries(PARTS))
    if (names.length === 0 || names.includes(name)) await measure(folder)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
