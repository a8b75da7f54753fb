/** What the snapshot job is given: its settings, the one writer of events.db, the readers of files, a log. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { temporaryFolder } from '../storage/files/parquet.ts'
import type { NewFiles } from '../storage/log/event-log.ts'
import type { FaultPoint } from './fault-injection.ts'
import type { CompactionRule } from './plan-compaction.ts'

/** When files of a relation are due. */
export type ReplicaRule = {
  /** Fewer rows are read from the database in no time. */
  readonly rows: number
  /** Files are written again at most so often per row that they have: about a hundredth of one core. */
  readonly pause_us_per_row: number
  /** After this even one changed row is worth it: what was deleted is to be gone from files too. */
  readonly age_s: number
  /** Files with fewer rows are put together with what is new. */
  readonly small_rows: number
  /**
   * Changes of one step: what a reading transaction keeps from being checkpointed meanwhile stays small, and a flush that
   * becomes due does not wait long.
   */
  readonly changes_max: number
}

export type SnapshotSettings = {
  /** Events in the log that make a snapshot due. */
  readonly rows: number
  /** Age of the oldest event in the log that makes one due. */
  readonly age_s: number
  readonly memory_mb: number
  /** Properties of a project that get columns of their own; 60 when left out. */
  readonly columns_max?: number
  /** For tests: when files are put together. */
  readonly compaction?: CompactionRule
  /** For tests: when persons are written into files. */
  readonly mirrors?: ReplicaRule
  /** For tests: characters of events that are written at a time. */
  readonly length_max?: number
}

/** What is written to the log; a pino logger fits. */
export type SnapshotLog = {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type SnapshotContext = {
  readonly data_dir: string
  readonly settings: SnapshotSettings
  /** The one writer of events.db. */
  readonly capture: {
    commitFiles(files: NewFiles): Promise<void>
    trim(up_to_seq: number): Promise<void>
    /** Deletes from the log what an ordered removal names. */
    removeEvents(removal_id: number): Promise<void>
    /** Forgets an ordered removal: nothing of its events is left. */
    finishRemoval(removal_id: number): Promise<void>
  }
  /** Whoever reads files. */
  readonly readers: {
    /** The log is trimmed when this has resolved. */
    adoptManifest(): Promise<void>
    /** A file of the project was found damaged. */
    reopenProject(project_id: number): void
  }
  readonly log: SnapshotLog
  /** Up to where the log may be trimmed for those who read it themselves; all that is in files when left out. */
  readonly trimmable?: (flushed_seq: number) => number
  /** For how many months a project keeps events; null for ever. */
  readonly monthsKept?: (project_id: number) => number | null
  /** For tests: where the snapshot process is cut off. */
  readonly fault?: FaultPoint | null
}

/** More memory than this makes no piece of work better. */
const MEMORY_MB_MAX = 512
/** Half of the processor's cores at most: the rest is for ingestion and queries. */
const THREADS = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)))
const COLUMNS_MAX = 60

/** Up to where the log is to be trimmed when so much is in files. */
export function trimmableOf({ trimmable }: SnapshotContext, flushed_seq: number): number {
  return trimmable?.(flushed_seq) ?? flushed_seq
}

/** Characters of rows that one MiB of memory is good for: they are there as rows, sorted, and as columns. */
const LENGTH_PER_MB = 256 * 1024

/** Characters of rows that are written at a time. */
export function lengthOf(context: SnapshotContext): number {
  return context.settings.length_max ?? workOptions(context).memory_mb * LENGTH_PER_MB
}

/** What every piece of work in the snapshot process is told. */
export function workOptions({ data_dir, settings, fault }: SnapshotContext) {
  return {
    data_dir,
    work_dir: join(temporaryFolder(data_dir), `snapshot-${process.pid}`),
    memory_mb: Math.min(settings.memory_mb, MEMORY_MB_MAX),
    threads: THREADS,
    columns_max: settings.columns_max ?? COLUMNS_MAX,
    fault: fault ?? null,
  }
}
