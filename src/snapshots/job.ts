/** The snapshot job: notices when the log is long or old, has it written into files, and trims it (contract C6). */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { listFiles, readLogState } from '../storage/manifest.ts'
import { listMirrorMarks } from '../storage/mirror-files.ts'
import { projectFolder } from '../storage/parquet.ts'
import { openReader } from '../storage/sqlite.ts'
import { createBackground } from './background.ts'
import { SnapshotChildren, type SnapshotReport } from './child.ts'
import { createCompactor } from './compaction.ts'
import { createExpirer } from './expiry.ts'
import { giveBack } from './give-back.ts'
import { createMirrorer } from './mirrors.ts'
import { lengthOf, type SnapshotNeeds, trimmableOf, workOptions } from './needs.ts'
import { createRemover } from './removal.ts'
import type { WorkCounts } from './stepper.ts'
import { workTidily } from './tidily.ts'

export type SnapshotJob = {
  /** What was done in the background since the start, by kind of work. */
  readonly work: Readonly<Record<string, WorkCounts>>
  /** Looks after the log from now on until `close`, and once after the files. */
  start(): void
  /** Writes a snapshot of everything committed, however little. Rejects when it cannot; nothing is lost then. */
  run(): Promise<void>
  /** Puts files together until all are as they should be. */
  compact(): Promise<void>
  /** Removes the events of every removal that is ordered. */
  removeEvents(): Promise<void>
  /** Deletes the months that are older than their project keeps. */
  expire(): Promise<void>
  /** Writes persons and what else events are joined with into files, where that is due. */
  keepMirrors(): Promise<void>
  /** Deletes the files of a project that is gone, between two snapshots. */
  forgetProject(project_id: number): Promise<void>
  /** Kills a snapshot under way; what it wrote is swept at the next start. */
  close(): Promise<void>
}

/** Opens a reader of its own; nothing happens before `start` or `run`. */
export function createSnapshotJob(needs: SnapshotNeeds): SnapshotJob {
  const db = openReader(join(needs.data_dir, 'events.db'))
  const children = new SnapshotChildren()
  let current: Promise<void> = Promise.resolve()
  let is_closed = false
  const isClosed = (): boolean => is_closed
  const compactor = createCompactor(db, children, needs)
  const remover = createRemover(db, children, needs)
  const expirer = createExpirer(db, children, needs)
  const mirrorer = createMirrorer(db, children, needs)

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = current.catch(() => undefined).then(() => (is_closed ? undefined : work()))
    current = turn
    return turn
  }
  let snapshots: WorkCounts = { done: 0, failed: 0 }
  const snapshot = async (): Promise<void> => {
    try {
      await takeSnapshots(db, children, needs)
      snapshots = { ...snapshots, done: snapshots.done + 1 }
    } catch (error) {
      snapshots = { ...snapshots, failed: snapshots.failed + 1 }
      throw error
    }
  }
  // What is to be gone goes before anything is made of it.
  const steppers = [remover, expirer, mirrorer, compactor]
  const background = createBackground(db, needs, { inTurn, snapshot, steppers, isClosed })
  return {
    get work() {
      return {
        snapshot: snapshots,
        compaction: compactor.counts,
        removal: remover.counts,
        expiry: expirer.counts,
        mirrors: mirrorer.counts,
      }
    },
    start() {
      void inTurn(() => recover(db, needs)).then(() => background.start())
      void verify(children, needs, isClosed)
    },
    run: () => inTurn(snapshot),
    compact: () => inTurn(() => compactor.all()),
    removeEvents: () => inTurn(() => remover.all()),
    expire: () => inTurn(() => expirer.all()),
    keepMirrors: () => inTurn(() => mirrorer.all()),
    forgetProject: (project_id) => inTurn(() => forgetFiles(db, needs, project_id)),
    async close() {
      is_closed = true
      background.stop()
      children.kill()
      await current.catch(() => undefined)
      db.close()
    },
  }
}

async function recover(db: Database, needs: SnapshotNeeds): Promise<void> {
  try {
    await giveBack(db, needs)
  } catch (error) {
    needs.log.error({ err: error }, 'damaged snapshot files could not be given back to the log')
  }
}

async function verify(
  children: SnapshotChildren,
  needs: SnapshotNeeds,
  isClosed: () => boolean,
): Promise<void> {
  try {
    await verifyAll(children, needs)
  } catch (error) {
    if (!isClosed()) needs.log.error({ err: error }, 'snapshot files could not be verified')
  }
}

/** Everything that is committed now, in pieces that fit into memory. */
async function takeSnapshots(
  db: Database,
  children: SnapshotChildren,
  needs: SnapshotNeeds,
): Promise<void> {
  const { seq, flushed_seq } = readLogState(db)
  for (let written = flushed_seq; written < seq; ) {
    written = await takeSnapshot(children, needs, { after_seq: written, up_to_seq: seq })
  }
  await needs.readers.adoptManifest()
  await needs.capture.trim(trimmableOf(needs, seq))
}

/** The manifest first: what no row names may lie there until the next start, but is never read. */
async function forgetFiles(db: Database, needs: SnapshotNeeds, project_id: number): Promise<void> {
  const files = listFiles(db, project_id)
  if (files.length > 0) {
    const removed = files.map(({ id }) => id)
    await needs.capture.commitFiles({ flushed_seq: null, added: [], removed })
  }
  for (const { relation } of listMirrorMarks(db, project_id)) {
    const mirror = { project_id, relation, mark: null, added: [], removed: [] }
    await needs.capture.commitFiles({ flushed_seq: null, added: [], removed: [], mirror })
  }
  needs.readers.reopenProject(project_id)
  rmSync(projectFolder(needs.data_dir, project_id), { recursive: true, force: true })
}

type Range = { readonly after_seq: number; readonly up_to_seq: number }

/** Rows → files → manifest → readers → trim. Each step may be the last one before a crash. Returns the last event written. */
async function takeSnapshot(
  children: SnapshotChildren,
  needs: SnapshotNeeds,
  range: Range,
): Promise<number> {
  const { capture, readers, log } = needs
  const started_at = performance.now()
  const { files, last_seq } = await writeRange(children, needs, range)
  await capture.commitFiles({ flushed_seq: last_seq, added: files, removed: [] })
  const rows = files.reduce((sum, file) => sum + file.row_count, 0)
  const bytes = files.reduce((sum, file) => sum + file.byte_count, 0)
  const ms = Math.round(performance.now() - started_at)
  log.info({ files: files.length, rows, bytes, ms, last_seq }, 'snapshot written')
  await readers.adoptManifest()
  await capture.trim(trimmableOf(needs, last_seq))
  return last_seq
}

async function writeRange(
  children: SnapshotChildren,
  needs: SnapshotNeeds,
  range: Range,
): Promise<SnapshotReport> {
  const options = { ...workOptions(needs), length_max: lengthOf(needs) }
  return workTidily(needs, () => children.run({ kind: 'write', ...range, ...options }))
}

/** Reads every file once. The questions of a project with a damaged one are refused from then on. */
async function verifyAll(children: SnapshotChildren, needs: SnapshotNeeds): Promise<void> {
  const { data_dir, readers, log } = needs
  const { files } = await children.run({ kind: 'verify', data_dir })
  for (const file of files) {
    const { id, project_id, month, first_seq, last_seq } = file
    log.error({ file: id, project_id, month, first_seq, last_seq }, 'a snapshot file is damaged')
    readers.reopenProject(project_id)
  }
}
