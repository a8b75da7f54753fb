/** Opens the snapshot job with the settings of server and projects. */
import type { Config } from '../config.ts'
import type { Capture } from '../ingest/threads/capture.ts'
import type { Log } from '../logs.ts'
import { trimLimit } from '../plugins/destinations.ts'
import { retentionMonths } from '../projects/settings/retention.ts'
import type { QueryEngine } from '../query/engine/engine.ts'
import { createSnapshotJob, type SnapshotJob } from '../snapshots/job.ts'
import type { Control } from '../storage/control/control-db.ts'
import type { Timings } from '../threads/timings.ts'

type SnapshotParts = {
  readonly control: Control
  readonly capture: Capture
  readonly engine: QueryEngine
  readonly timings: Timings
  readonly log: Log
}

/** Opens the job without starting it. Close it before ingestion. */
export function openSnapshots(
  config: Config,
  { control, capture, engine, timings, log }: SnapshotParts,
): SnapshotJob {
  return createSnapshotJob({
    data_dir: config.data_dir,
    settings: {
      rows: config.snapshot_rows,
      age_s: config.snapshot_age_s,
      memory_mb: config.query_memory_mb,
    },
    capture,
    readers: engine,
    monthsKept: (project_id) => retentionMonths(control.db, project_id, config.retention_months),
    trimmable: (flushed_seq) => trimLimit(control.db, flushed_seq),
    is_confined: config.query_confinement === 'on',
    timings: timings.snapshots,
    log,
  })
}
