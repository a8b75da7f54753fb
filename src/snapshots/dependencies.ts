/** The dependencies of the snapshot job: settings, the writer of events.db, the readers of files, a log. */
import type { Database } from 'bun:sqlite'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { temporaryFolder } from '../storage/files/parquet.ts'
import type { NewFiles } from '../storage/log/event-log.ts'
import type { Timings } from '../threads/timings.ts'
import type { SnapshotChildren } from './child.ts'
import type { FaultPoint } from './fault-injection.ts'
import type { CompactionRule } from './plan-compaction.ts'

/** The conditions for writing files of a relation. */
export type ReplicaRule = {
  /** Fewer rows stay in the database only, where reading them is fast. */
  readonly rows: number
  /** The shortest time between two writings of a file, per row that it has: about a hundredth of one core. */
  readonly pause_us_per_row: number
  /** After this time one changed row suffices, so that deleted data leaves the files. */
  readonly age_s: number
  /** Files with fewer rows are merged with new rows. */
  readonly small_rows: number
  /**
   * Changes of one step. Steps are small, since a reading transaction keeps the log from being checkpointed, and a flush
   * that becomes due waits for the step.
   */
  readonly changes_max: number
}

type SnapshotSettings = {
  /** A snapshot is due with this many events in the log. */
  readonly rows: number
  /** A snapshot is due when the oldest event in the log has this age. */
  readonly age_s: number
  readonly memory_mb: number
  /** Maximum number of property columns per project; by default 60. */
  readonly columns_max?: number
  /** For tests: when files are put together. */
  readonly compaction?: CompactionRule
  /** For tests: when persons are written into files. */
  readonly replicas?: ReplicaRule
  /** For tests: characters of events that are written at a time. */
  readonly length_max?: number
}

/** The part of a pino logger that the job uses. */
type SnapshotLog = {
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
    /** Deletes the events of a removal from the log. */
    removeEvents(removal_id: number): Promise<void>
    /** Deletes a finished removal. */
    finishRemoval(removal_id: number): Promise<void>
  }
  /** The readers of files. */
  readonly readers: {
    /** Makes readers adopt the manifest; the log is trimmed after it has resolved. */
    adoptManifest(): Promise<void>
    /** Called when a file of the project is damaged. */
    reopenProject(project_id: number): void
  }
  readonly log: SnapshotLog
  /** Records how long each finished step took, by kind of work. */
  readonly timings?: Timings['snapshots']
  /** The position up to which the log may be trimmed, for parts that read the log itself; without it all that is in files is. */
  readonly trimmable?: (flushed_seq: number) => number
  /** The retention of a project in months; null for unlimited. */
  readonly monthsKept?: (project_id: number) => number | null
  /** False leaves the snapshot process all files of the user; otherwise Landlock is asked for. */
  readonly is_confined?: boolean
  /** For tests: where the snapshot process is cut off. */
  readonly fault?: FaultPoint | null
}

/** The context of a running job: the dependencies, a reader of events.db, and the processes that write files. */
export type JobContext = SnapshotContext & {
  readonly db: Database
  readonly children: SnapshotChildren
}

/** More memory than this has no effect. */
const MEMORY_MB_MAX = 512
/** Half of the processor's cores at most: the rest is for ingestion and queries. */
const THREADS = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)))
const COLUMNS_MAX = 60

/** The position up to which the log may be trimmed. */
export function trimmableOf({ trimmable }: SnapshotContext, flushed_seq: number): number {
  return trimmable?.(flushed_seq) ?? flushed_seq
}

/** Characters of rows that one MiB of memory is good for: they are there as rows, sorted, and as columns. */
const LENGTH_PER_MB = 256 * 1024

/** Characters of rows per write. */
export function lengthOf(context: SnapshotContext): number {
  return context.settings.length_max ?? workOptions(context).memory_mb * LENGTH_PER_MB
}

/** The options of every piece of work in the snapshot process. */
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
