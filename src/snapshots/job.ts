/** The snapshot job: when the log is long or old, writes it into files and trims it. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { listAllFiles, listFiles, readLogState } from '../storage/files/manifest.ts'
import { projectFolder } from '../storage/files/parquet.ts'
import { listReplicaFiles, listReplicaMarks } from '../storage/files/replica-files.ts'
import { openReader } from '../storage/sqlite/sqlite.ts'
import { secondsSince } from '../threads/timings.ts'
import { createBackground, trimLog } from './background.ts'
import type { WorkCounts } from './background-task.ts'
import { SnapshotChildren, type SnapshotReport } from './child.ts'
import { createCompactor } from './compaction.ts'
import {
  type JobContext,
  lengthOf,
  type SnapshotContext,
  trimmableOf,
  workOptions,
} from './dependencies.ts'
import { createExpirer } from './expiry.ts'
import { createRemover } from './removal.ts'
import { createReplicator } from './replicas.ts'
import { restoreDamaged } from './restore-damaged.ts'
import { runWithCleanup } from './run-with-cleanup.ts'

export type SnapshotJob = {
  /** Numbers of background steps since the start, by task. */
  readonly work: Readonly<Record<string, WorkCounts>>
  /** Starts the background loop until `close`, and verifies all files once. */
  start(): void
  /** Writes a snapshot of everything committed. Rejects on failure, which loses nothing. */
  run(): Promise<void>
  /** Compacts until no plan is left. */
  compact(): Promise<void>
  /** Executes every pending removal. */
  removeEvents(): Promise<void>
  /** Deletes the months beyond their project's retention. */
  expire(): Promise<void>
  /** Writes replica files that are due. */
  writeReplicas(): Promise<void>
  /** Deletes the files of a deleted project, between two snapshots. */
  forgetProject(project_id: number): Promise<void>
  /** Kills a running snapshot; the next start deletes its unfinished files. */
  close(): Promise<void>
}

/** Opens a reader of events.db; nothing runs before `start` or `run`. */
export function createSnapshotJob(dependencies: SnapshotContext): SnapshotJob {
  const context = openContext(dependencies)
  const { db, children } = context
  let current: Promise<void> = Promise.resolve()
  const compactor = createCompactor(context)
  const remover = createRemover(context)
  const expirer = createExpirer(context)
  const replicator = createReplicator(context)

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = current
      .catch(() => undefined)
      .then(() => (children.is_killed ? undefined : work()))
    current = turn
    return turn
  }
  let snapshots: WorkCounts = { done: 0, failed: 0 }
  const snapshot = async (): Promise<void> => {
    const started_ms = performance.now()
    try {
      await takeSnapshots(context)
      context.timings?.with('snapshot').record(secondsSince(started_ms))
      snapshots = { ...snapshots, done: snapshots.done + 1 }
    } catch (error) {
      snapshots = { ...snapshots, failed: snapshots.failed + 1 }
      throw error
    }
  }
  // Removals come first, so that removed events are not written again.
  const tasks = [remover, expirer, replicator, compactor]
  const background = createBackground(context, { inTurn, snapshot, tasks })
  return {
    get work() {
      return {
        snapshot: snapshots,
        compaction: compactor.counts,
        removal: remover.counts,
        expiry: expirer.counts,
        mirrors: replicator.counts,
      }
    },
    start() {
      void inTurn(() => recover(context)).then(() => background.start())
      void verify(context)
    },
    run: () => inTurn(snapshot),
    compact: () => inTurn(() => compactor.all()),
    removeEvents: () => inTurn(() => remover.all()),
    expire: () => inTurn(() => expirer.all()),
    writeReplicas: () => inTurn(() => replicator.all()),
    forgetProject: (project_id) => inTurn(() => forgetFiles(context, project_id)),
    async close() {
      background.stop()
      children.kill()
      await current.catch(() => undefined)
      db.close()
    },
  }
}

function openContext(dependencies: SnapshotContext): JobContext {
  const { data_dir, is_confined = true } = dependencies
  const db = openReader(join(data_dir, 'events.db'))
  return { ...dependencies, db, children: new SnapshotChildren(is_confined ? data_dir : null) }
}

async function recover(context: JobContext): Promise<void> {
  try {
    await restoreDamaged(context)
  } catch (error) {
    context.log.error({ err: error }, 'damaged snapshot files could not be given back to the log')
  }
}

async function verify(context: JobContext): Promise<void> {
  try {
    await verifyAll(context)
  } catch (error) {
    if (!context.children.is_killed)
      context.log.error({ err: error }, 'snapshot files could not be verified')
  }
}

/** Writes everything committed by now, in pieces that fit into memory. */
async function takeSnapshots(context: JobContext): Promise<void> {
  const { seq, flushed_seq } = readLogState(context.db)
  for (let written = flushed_seq; written < seq; ) {
    written = await takeSnapshot(context, { after_seq: written, up_to_seq: seq })
  }
  await trimLog(context)
}

/** Deletes the manifest's rows first: files without a row are never read, and the next start deletes them. */
async function forgetFiles(context: JobContext, project_id: number): Promise<void> {
  const files = listFiles(context.db, project_id)
  if (files.length > 0) {
    const removed = files.map(({ id }) => id)
    await context.capture.commitFiles({ flushed_seq: null, added: [], removed })
  }
  for (const { relation } of listReplicaMarks(context.db, project_id)) {
    const replica = { project_id, relation, mark: null, added: [], removed: [] }
    await context.capture.commitFiles({ flushed_seq: null, added: [], removed: [], replica })
  }
  context.readers.reopenProject(project_id)
  rmSync(projectFolder(context.data_dir, project_id), { recursive: true, force: true })
}

/**
 * A log of this many snapshots' rows does not wait for other work: the disk would fill. Beside 100,000 events/s, which kept both
 * cores of a machine busy, a process wrote a file of 210,000 events in 12 s; one that leaves them to ingestion wrote none in 18.
 */
const URGENT_SNAPSHOTS = 5

type LogRange = { readonly after_seq: number; readonly up_to_seq: number }

/** Rows → files → manifest → readers → trim. Each step may be the last one before a crash. Returns the last event written. */
async function takeSnapshot(context: JobContext, range: LogRange): Promise<number> {
  const { capture, readers, log } = context
  const started_at = performance.now()
  const { files, last_seq } = await writeRange(context, range)
  await capture.commitFiles({ flushed_seq: last_seq, added: files, removed: [] })
  const rows = files.reduce((sum, file) => sum + file.row_count, 0)
  const bytes = files.reduce((sum, file) => sum + file.byte_count, 0)
  const ms = Math.round(performance.now() - started_at)
  log.info({ files: files.length, rows, bytes, ms, last_seq }, 'snapshot written')
  await readers.adoptManifest()
  await capture.trim(trimmableOf(context, last_seq))
  return last_seq
}

async function writeRange(context: JobContext, range: LogRange): Promise<SnapshotReport> {
  const options = { ...workOptions(context), length_max: lengthOf(context) }
  const is_urgent = range.up_to_seq - range.after_seq >= URGENT_SNAPSHOTS * context.settings.rows
  return runWithCleanup(context, { kind: 'write', ...range, ...options, is_urgent })
}

/** Verifies every file once; queries of a project with a damaged one are refused from then on. */
async function verifyAll(context: JobContext): Promise<void> {
  const { data_dir, db, children, readers, log } = context
  // A process for nothing would take a tenth of what the start of a new server takes.
  if (listAllFiles(db).length === 0 && listReplicaFiles(db).length === 0) return
  const { files } = await children.run({ kind: 'verify', data_dir })
  for (const file of files) {
    const { id, project_id, month, first_seq, last_seq } = file
    log.error({ file: id, project_id, month, first_seq, last_seq }, 'a snapshot file is damaged')
    readers.reopenProject(project_id)
  }
}
