/** Opens the query service and the limits of keys with the server's settings. */
import { MIB } from '../bytes.ts'
import type { Config } from '../config.ts'
import type { Log } from '../logs.ts'
import { KeyLimits } from '../query/service/key-limits.ts'
import { QueryService } from '../query/service/service.ts'
import type { Timings } from '../threads/timings.ts'
import type { EventHolder } from './events.ts'

/** Opens the service in front of the engine. Close it before the engine. */
export function openQueryService(
  config: Config,
  {
    engine,
    timings,
    log,
    now,
  }: {
    readonly engine: EventHolder['engine']
    readonly timings: Timings
    readonly log: Log
    readonly now: () => Date
  },
): QueryService {
  return new QueryService({
    data_dir: config.data_dir,
    engine,
    settings: {
      timeout_ms: config.query_timeout_s * 1000,
      background_timeout_ms: config.query_background_timeout_s * 1000,
      // The other slots are for waiting queries.
      background_running_max: Math.max(1, Math.floor(config.queries_running_max / 2)),
      background_waiting_max: config.queries_background_max,
      slow_ms: config.slow_query_ms,
      has_plan: config.slow_query_plan === 'on',
      cache_bytes_max: config.query_cache_mb * MIB,
      export_rows_max: config.export_rows_max,
      export_bytes_max: config.export_mb_max * MIB,
      export_timeout_ms: config.export_timeout_s * 1000,
    },
    timings,
    log,
    now,
  })
}

/** The limits of personal API keys. */
export function openKeyLimits(config: Config, now: () => Date): KeyLimits {
  return new KeyLimits(
    {
      running_max: config.queries_per_key_max,
      per_minute: config.query_rate_per_minute,
      per_hour: config.query_rate_per_hour,
    },
    now,
  )
}
