/** Reads the manifest: the current files, and the position up to which they contain all events. */
import type { Database } from 'bun:sqlite'
import { Refusal } from '../../errors.ts'
import type { FileRow } from '../log/event-log.ts'
import { filePath, findDamage } from './parquet.ts'

/** A consistent read of events.db's counters. Events up to `flushed_seq` are in files, later ones in the log. */
export type LogState = {
  /** Numbers of the last committed event and of the last committed write to a replicated row. */
  readonly seq: number
  readonly change: number
  readonly version: number
  readonly flushed_seq: number
  readonly trimmed_seq: number
}

/** Reads the counters; within a transaction they are consistent with the rows read in it. */
export function readLogState(db: Database): LogState {
  const state = db
    .query<LogState, []>(
      `select seq, change, version, flushed_seq, trimmed_seq
from clock, manifest
where clock.id = 1 and manifest.id = 1`,
    )
    .get()
  if (state === null) throw new Error('events.db has no clock or no manifest row')
  return state
}

/** The files of one project, oldest month first. */
export function listFiles(db: Database, project_id: number): readonly FileRow[] {
  return db
    .query<FileRow, [number]>(
      'select * from files where project_id = ? order by month, first_seq, id',
    )
    .all(project_id)
}

/** Lists the projects with files. */
export function listProjectsWithFiles(db: Database): readonly number[] {
  return db
    .query<{ id: number }, []>('select distinct project_id as id from files order by 1')
    .all()
    .map(({ id }) => id)
}

/** Lists the files of all projects. */
export function listAllFiles(db: Database): readonly FileRow[] {
  return db
    .query<FileRow, []>('select * from files order by project_id, month, first_seq, id')
    .all()
}

/** The times at which the files of all projects were written, without what else is known of them, which is long. */
export function listFileTimes(db: Database): readonly Pick<FileRow, 'created_at'>[] {
  return db.query<Pick<FileRow, 'created_at'>, []>('select created_at from files').all()
}

/** Refuses a damaged file (`storage_unavailable`): an answer without its events would be wrong without notice. */
export function requireWhole(data_dir: string, file: FileRow): void {
  const damage = findDamage(filePath(data_dir, file), file.byte_count)
  if (damage === null) return
  throw new Refusal('storage_unavailable', `Snapshot file ${file.id} ${damage}.`)
}
