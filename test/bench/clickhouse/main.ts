/**
 * ClickHouse measured beside this machine's engine: ship rate, processor time and bytes per event, capture while events
 * are shipped, and the bench's questions and insights on both. `bun run bench:clickhouse [events]`
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

const EVENTS = IS_SMALL ? SIZES.insight_events : Number(process.argv[2] ?? 500_000)
const SHIPPED_EVENTS = IS_SMALL ? SIZES.imported_events : 300_000

const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-clickhouse-'))
const print = (lines: string | readonly string[]): void => {
  for (const line of [lines].flat()) process.stdout.write(`${line}\n`)
}

try {
  // Kept for the next run, but for a small one.
  const dataset = IS_SMALL ? join(folder, 'dataset') : join(tmpdir(), `tidemark-bench-${EVENTS}`)
  await ensureDataset(dataset, EVENTS)
  const copy = join(folder, 'copy')
  cpSync(dataset, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') })
  print(await measureCapture(folder, SIZES.rounds))
  print(await measureShipping(SHIPPED_EVENTS))
  await using cluster = await startCluster()
  print(await measureFilling(cluster, copy))
  await using engines = new BothEngines(cluster, dataset)
  print(await engines.measureQuestions(SIZES.rounds))
  print(await engines.measureInsights(SIZES.rounds))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
