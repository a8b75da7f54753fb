/** Opens the store that holds the events and answers queries: this machine, or ClickHouse. */
import type { Config } from '../config.ts'
import type { Capture } from '../ingest/threads/capture.ts'
import type { Log } from '../logs.ts'
import { QueryEngine } from '../query/engine/engine.ts'
import type { SnapshotJob } from '../snapshots/job.ts'
import type { Control } from '../storage/control/control-db.ts'
import type { Timings } from '../threads/timings.ts'
import { type EnginePart, openClickHouse } from './clickhouse.ts'
import { openSnapshots } from './snapshots.ts'

type EventParts = {
  readonly control: Control
  readonly capture: Capture
  readonly timings: Timings
  readonly log: Log
}

/** An engine that answers queries, and the job that takes events out of the log. Close the job first, both before ingestion. */
export type EventHolder = {
  readonly engine: EnginePart
  readonly snapshots: Pick<SnapshotJob, 'close' | 'forgetProject' | 'start' | 'work'>
  readonly are_in_clickhouse: boolean
}

/** Opens them without starting the work on the log. events.db must exist. */
export async function openEvents(config: Config, parts: EventParts): Promise<EventHolder> {
  const clickhouse = await openClickHouse(config, {
    ...parts,
    openFolding: () => openEngine(config, parts.log),
  })
  if (clickhouse !== null)
    return {
      engine: clickhouse.engine,
      snapshots: clickhouse.shipper,
      are_in_clickhouse: true,
    }
  const engine = openEngine(config, parts.log)
  const snapshots = openSnapshots(config, { ...parts, engine })
  return { engine, snapshots, are_in_clickhouse: false }
}

function openEngine(config: Config, log: Log): QueryEngine {
  return new QueryEngine({
    data_dir: config.data_dir,
    settings: {
      memory_mb: config.query_memory_mb,
      spill_mb: config.query_spill_mb,
      threads: config.query_threads,
      result_bytes_max: config.query_result_bytes_max,
      running_max: config.queries_running_max,
      waiting_max: config.queries_waiting_max,
    },
    is_confined: config.query_confinement === 'on',
    log,
  })
}
