/** Carries everything of a folder to ClickHouse without serving it: before its project moves to another server. */
import { type Config, ConfigError } from '../config.ts'
import { openCapture } from '../ingest/threads/capture.ts'
import type { Log } from '../logs.ts'
import { openControl } from '../storage/control/control-db.ts'
import { openShipper } from './clickhouse.ts'
import { openFolder } from './folder.ts'

/**
 * Resolves with what `work` returns once ClickHouse has everything, no server runs on the folder and none can start.
 * Rejects when ClickHouse cannot be reached.
 */
export async function withAllShipped<Result>(
  config: Config,
  log: Log,
  work: () => Promise<Result>,
): Promise<Result> {
  await using parts = new AsyncDisposableStack()
  openFolder(config.data_dir, log, parts)
  await shipAll(config, log)
  return work()
}

async function shipAll(config: Config, log: Log): Promise<void> {
  await using parts = new AsyncDisposableStack()
  const control = openControl(config.data_dir)
  parts.defer(() => control.close())
  const capture = await openCapture({
    data_dir: config.data_dir,
    limits: { body_bytes_max: config.body_bytes_max },
    dedup_days: config.dedup_days,
    log,
  })
  parts.defer(() => capture.close())
  const opened = await openShipper(config, { control, capture, log })
  if (opened === null)
    throw new ConfigError(
      'TIDEMARK_CLICKHOUSE_URL is not set: projects move between servers that share a ClickHouse',
    )
  parts.defer(() => opened.shipper.close())
  await opened.shipper.run()
}
