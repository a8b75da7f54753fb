/** What the service of questions is made of, and how it is asked. */
import type { QueryEngine } from './engine.ts'
import type { RefreshMode } from './refresh.ts'

export type ServiceSettings = {
  /** How long a caller waits for an answer. */
  readonly timeout_ms: number
  /** How long a question may take in the background. */
  readonly background_timeout_ms: number
  readonly background_running_max: number
  readonly background_waiting_max: number
  /** Bytes of answers kept, and as much again for results of background questions. */
  readonly cache_bytes_max: number
  readonly export_rows_max: number
}

export type ServiceParts = {
  readonly data_dir: string
  readonly engine: Pick<QueryEngine, 'ask'>
  readonly settings: ServiceSettings
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
}

/** How a question is asked. */
export type HowAsked = {
  readonly mode: RefreshMode
  /** The name under which its status is read and it is cancelled; null for one of our own. */
  readonly client_query_id: string | null
  /** Aborting says that the caller does not wait any more. */
  readonly signal: AbortSignal
}

export type HowExported = {
  /** Aborting says that nobody reads any more. */
  readonly signal: AbortSignal
  /** Called when nothing more comes; not when the export is refused. */
  readonly onEnd: () => void
}
