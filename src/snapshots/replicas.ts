/** Writes replica files (persons, ids, groups, memberships), so that the first query after a start need not read every person. */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { readLogState } from '../storage/files/manifest.ts'
import { filePath, findDamage } from '../storage/files/parquet.ts'
import {
  listReplicaFiles,
  listReplicaMarks,
  type ReplicaFile,
  type ReplicaMark,
} from '../storage/files/replica-files.ts'
import { FILED_REPLICAS } from '../storage/files/replication-sources.ts'
import { type BackgroundTask, createBackgroundTask } from './background-task.ts'
import { type JobContext, lengthOf, type ReplicaRule, workOptions } from './dependencies.ts'
import { runWithCleanup } from './run-with-cleanup.ts'

const REPLICA_RULE: ReplicaRule = {
  rows: 20_000,
  pause_us_per_row: 360,
  age_s: 3600,
  small_rows: 100_000,
  changes_max: 250_000,
}

const LOOK_MS = 60_000

type DueReplica = {
  readonly project_id: number
  readonly relation: string
  readonly after: number
  readonly files: readonly ReplicaFile[]
}

/** Each step writes files of one relation. */
export function createReplicator(context: JobContext): BackgroundTask {
  const rule = context.settings.replicas ?? REPLICA_RULE
  /** Relation of a project without files → the change number at which it can be due. */
  const not_before = new Map<string, number>()
  const step = async (): Promise<boolean> => {
    if (await dropDamaged(context)) return true
    const due = await findDue(context.db, rule, not_before)
    if (due === null) return false
    await writeDue(context, due)
    return true
  }
  return createBackgroundTask(step, {
    what: 'keeping persons in files',
    context,
    times: context.timings?.with('mirrors'),
    look_ms: LOOK_MS,
  })
}

/** Drops the files of a relation with a damaged one, and writes them again from the database. */
async function dropDamaged(context: JobContext): Promise<boolean> {
  const { capture, data_dir, db, log, readers } = context
  const isDamaged = (file: ReplicaFile): boolean =>
    findDamage(filePath(data_dir, file), file.byte_count) !== null
  const damaged = listReplicaFiles(db).find(isDamaged)
  if (damaged === undefined) return false
  const { id, project_id, relation } = damaged
  const files = listReplicaFiles(db, project_id).filter((file) => file.relation === relation)
  const replica = { project_id, relation, mark: null, added: [], removed: [] }
  await capture.commitFiles({ flushed_seq: null, added: [], removed: [], replica })
  readers.reopenProject(project_id)
  deleteFiles(data_dir, files)
  log.error({ file: id, project_id, relation }, 'a file of persons is damaged: it is written anew')
  return true
}

async function findDue(
  db: Database,
  rule: ReplicaRule,
  not_before: Map<string, number>,
): Promise<DueReplica | null> {
  const marks = listReplicaMarks(db)
  for (const { relation, filed } of FILED_REPLICAS) {
    for (const project_id of projectsIn(db, filed.source)) {
      // Each check takes 1–2 ms; the event loop runs between them.
      await new Promise((resolve) => setImmediate(resolve))
      const { change } = readLogState(db)
      const name = `${relation} ${project_id}`
      if ((not_before.get(name) ?? 0) > change) continue
      const mark = marks.find((one) => one.relation === relation && one.project_id === project_id)
      const files = listReplicaFiles(db, project_id).filter((file) => file.relation === relation)
      const after = mark?.change ?? 0
      const enough = enoughChanges(rule, mark, files)
      const count = countChanges(db, filed.source, { project_id, after, limit: enough })
      if (count >= enough) return { project_id, relation, after, files }
      // Files that are there become due by their age too.
      if (mark === undefined) not_before.set(name, change + enough - count)
    }
  }
  return null
}

/** The number of changed rows at which writing is due now. */
function enoughChanges(
  { rows, pause_us_per_row, age_s }: ReplicaRule,
  mark: ReplicaMark | undefined,
  files: readonly ReplicaFile[],
): number {
  if (mark === undefined) return rows
  if (mark.is_whole === 0) return 1
  // After the clock was set back, files from the future count as old.
  const age_us = Math.abs(Date.now() * 1000 - mark.created_at)
  const held = files.reduce((sum, { row_count }) => sum + row_count, 0)
  if (age_us < held * pause_us_per_row) return Number.POSITIVE_INFINITY
  return age_us < age_s * 1_000_000 ? rows : 1
}

function countChanges(
  db: Database,
  source: string,
  { project_id, after, limit }: { project_id: number; after: number; limit: number },
): number {
  if (limit === Number.POSITIVE_INFINITY) return 0
  const counted = db
    .query<{ count: number }, number[]>(
      `select count(*) as count from (select 1 from ${source} where project_id = ? and change > ? limit ?)`,
    )
    .get(project_id, after, limit)
  return counted?.count ?? 0
}

/** Lists projects with rows in a table, by a loose index scan: one seek per project. */
function projectsIn(db: Database, source: string): readonly number[] {
  return db
    .query<{ id: number }, []>(
      `with recursive found(id) as (
  select min(project_id) from ${source}
  union all
  select (select min(project_id) from ${source} where project_id > found.id) from found where id is not null
)
select id from found where id is not null`,
    )
    .all()
    .map(({ id }) => id)
}

async function writeDue(
  context: JobContext,
  { project_id, relation, after, files }: DueReplica,
): Promise<void> {
  const { capture, data_dir, db, log, readers } = context
  const started_at = performance.now()
  const { change: up_to } = readLogState(db)
  const { small_rows, changes_max } = context.settings.replicas ?? REPLICA_RULE
  const options = {
    ...workOptions(context),
    length_max: lengthOf(context),
    small_rows,
    changes_max,
  }
  const { last_seq: change, replica: step } = await runWithCleanup(context, {
    kind: 'replica',
    project_id,
    relation,
    after,
    files,
    up_to,
    ...options,
  })
  if (step === null) throw new Error(`the snapshot process did not tell of ${relation}`)
  const is_whole = change === up_to ? 1 : 0
  const mark = { project_id, relation, change, is_whole, created_at: Date.now() * 1000 }
  const replica = { project_id, relation, mark, ...step }
  await capture.commitFiles({ flushed_seq: null, added: [], removed: [], replica })
  await readers.adoptManifest()
  // Running queries have hard links. After a crash here, the next start deletes the rest.
  deleteFiles(
    data_dir,
    files.filter(({ id }) => step.removed.includes(id)),
  )
  const rows = step.added.reduce((sum, { row_count }) => sum + row_count, 0)
  const ms = Math.round(performance.now() - started_at)
  const replaced = step.removed.length
  log.info(
    { project_id, relation, files: step.added.length, replaced, rows, ms, change },
    'persons kept in files',
  )
}

function deleteFiles(data_dir: string, files: readonly ReplicaFile[]): void {
  for (const file of files) rmSync(filePath(data_dir, file), { force: true })
}
