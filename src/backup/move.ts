/**
 * Moves a project whose events are in ClickHouse to another server: a copy of the whole folder without the others'
 * data. Steps: note → copy → leave → seal → forget. Each may be the last one before a crash, and is done again by the
 * same command; only a sealed copy can be taken, and only into one folder.
 */
import type { Database } from 'bun:sqlite'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readLogState } from '../storage/files/manifest.ts'
import { syncPath } from '../storage/files/parquet.ts'
import { findShippingPosition, newestLogId } from '../storage/log/shipments.ts'
import { isIncomplete } from '../storage/process/incomplete-marker.ts'
import { CONTROL_MIGRATIONS } from '../storage/sqlite/sql-files.ts'
import { migrate, openReader, openWriter } from '../storage/sqlite/sqlite.ts'
import { takeBackup } from './backup.ts'
import { BackupFault } from './fill-folder.ts'
import { restoreBackup } from './restore.ts'
import { type TakeFault, takeInto } from './take-into.ts'

type MoveRequest = {
  /** No server runs on it, and everything of it is in ClickHouse. */
  readonly data_dir: string
  readonly project_id: number
  /** The copy's folder. */
  readonly folder: string
  /** For tests: kills this process after a step. */
  readonly fault?: MoveFault | null
}

export const MOVE_FAULTS = ['noted', 'copied', 'left', 'sealed'] as const
type MoveFault = (typeof MOVE_FAULTS)[number]

type MovedProject = {
  readonly folder: string
  readonly left_at: number | null
}

/** The note that seals a copy. */
const SEAL = 'moved.json'
/** The note of the folder that a copy was taken into. */
const TAKEN = 'taken.json'

/** Finds how far the move of a project has come; null when none has begun. */
function findMove(control: Database, project_id: number): MovedProject | null {
  return control
    .query<MovedProject, [number]>(
      'select folder, left_at from moved_projects where project_id = ?',
    )
    .get(project_id)
}

/** Moves a project into a copy, and deletes it here. Nothing of it in ClickHouse is touched. */
export async function moveOut(request: MoveRequest, now: Date): Promise<void> {
  const { data_dir, project_id, fault } = request
  const folder = resolve(request.folder)
  using control = openWriter(join(data_dir, 'control.db'))
  const begun = findMove(control, project_id)
  const has_left = begun !== null && begun.left_at !== null
  if (has_left && begun.folder !== folder)
    throw new BackupFault(`project ${project_id} has moved to ${begun.folder}`)
  if (!has_left) {
    if (control.query('select 1 from projects where id = ?').get(project_id) === null)
      throw new BackupFault(`${data_dir} has no project ${project_id}`)
    requireShipped(data_dir)
    // A copy without a seal is that of a move that was cut off.
    if (begun?.folder === folder && !isIncomplete(folder) && !existsSync(join(folder, SEAL)))
      rmSync(folder, { recursive: true, force: true })
    noteMove(control, { project_id, folder }, now)
    reachFault('noted', fault)
    await takeBackup({ data_dir, folder, is_copied: true }, now)
    reachFault('copied', fault)
    leave(control, project_id, now)
    reachFault('left', fault)
  }
  writeNote(folder, SEAL, { project_id })
  reachFault('sealed', fault)
  using events = openWriter(join(data_dir, 'events.db'))
  deleteRows(events, 'project_id = ?', project_id)
}

function reachFault(point: MoveFault, fault: MoveFault | null | undefined): void {
  if (point === fault) process.kill(process.pid, 'SIGKILL')
}

function noteMove(
  control: Database,
  { project_id, folder }: Pick<MoveRequest, 'folder' | 'project_id'>,
  now: Date,
): void {
  control
    .query(
      `insert into moved_projects (project_id, api_token, folder, started_at)
select id, api_token, ?2, ?3 from projects where id = ?1
on conflict (project_id) do update set folder = excluded.folder, started_at = excluded.started_at`,
    )
    .run(project_id, folder, now.getTime() * 1000)
}

/** From this commit on the project is the copy's. */
function leave(control: Database, project_id: number, now: Date): void {
  control.transaction(() => {
    control
      .query(
        `update moved_projects
set left_at = ?2, api_token = (select api_token from projects where id = ?1)
where project_id = ?1`,
      )
      .run(project_id, now.getTime() * 1000)
    control.query('delete from projects where id = ?').run(project_id)
  })()
}

/** Throws unless ClickHouse has everything of a folder: the copy and the folder would both send the rest. */
function requireShipped(data_dir: string): void {
  using events = openReader(join(data_dir, 'events.db'))
  if (!isAllShipped(events))
    throw new BackupFault(`not everything of ${data_dir} is in ClickHouse yet`)
}

/** Whether ClickHouse has everything of a log, and no request waits to be stored. */
function isAllShipped(events: Database): boolean {
  const position = findShippingPosition(events)
  if (position === null) return false
  const { seq, change } = readLogState(events)
  const waiting = events.query('select 1 from sliced_requests limit 1').get()
  return position.shipped_seq >= seq && position.shipped_change >= change && waiting === null
}

/**
 * Makes a data folder of a sealed copy, with its one project, or brings it into a folder that has others, while no server
 * runs there. After a crash, the same call does it again. `fault` kills this process after a step, for tests.
 */
export async function takeIn(
  copy: string,
  data_dir: string,
  fault: TakeFault | null = null,
): Promise<number> {
  const { project_id } = readSeal(copy)
  const to = resolve(data_dir)
  const taken = readNote(copy, TAKEN)
  if (taken !== null && taken['data_dir'] !== to)
    throw new BackupFault(`${copy} was taken into ${String(taken['data_dir'])} already`)
  const is_whole = existsSync(join(to, 'control.db')) && !isIncomplete(to)
  const has_others = taken === null ? is_whole : taken['has_others'] === true
  if (taken !== null && is_whole && !has_others) return project_id
  writeNote(copy, TAKEN, { data_dir: to, has_others })
  const unpack = async (folder: string): Promise<void> => {
    await restoreBackup(copy, folder, () => keepProject(folder, project_id))
  }
  if (!has_others) await unpack(to)
  else
    await takeInto({ project_id, data_dir: to, unpack, fault }).catch((error: unknown) => {
      // The folder was not changed: the copy may be taken into another one.
      if (error instanceof BackupFault) rmSync(join(copy, TAKEN), { force: true })
      throw error
    })
  return project_id
}

/** Deletes the other projects of a copied folder, whose log has begun a new name. */
function keepProject(data_dir: string, project_id: number): void {
  using events = openWriter(join(data_dir, 'events.db'))
  if (!isAllShipped(events))
    throw new BackupFault(`not everything of this copy is in ClickHouse: move again`)
  deleteRows(events, 'project_id <> ?', project_id)
  // ClickHouse has the rows of persons as they are here: they need not be sent again under the log's new name.
  events.query('update shipping set persons_log_id = ? where id = 1').run(newestLogId(events))
  using control = openWriter(join(data_dir, 'control.db'))
  migrate(control, CONTROL_MIGRATIONS)
  control.transaction(() => {
    control.query('delete from projects where id <> ?').run(project_id)
    control.run('delete from moved_projects')
    control.run('delete from removed_projects')
    // The copy is a new home, which may claim the project from the old home.
    control.run('delete from taken_projects')
    control
      .query('insert into taken_projects (project_id, from_home_id) select ?, home_id from home')
      .run(project_id)
    control.run(
      'update home set home_id = lower(hex(randomblob(12))), claimed_log_id = null, number = null, project_ids_to = null',
    )
  })()
}

const TABLES_OF_PROJECTS = `select name from sqlite_schema
where type = 'table'
  and exists (select 1 from pragma_table_info(sqlite_schema.name) where name = 'project_id')
order by name`

/** Deletes rows of every table with a project id, in one transaction. The names come from the database's own schema. */
function deleteRows(events: Database, which: string, project_id: number): void {
  events.transaction(() => {
    for (const { name } of events.query<{ name: string }, []>(TABLES_OF_PROJECTS).all())
      events.query(`delete from ${name} where ${which}`).run(project_id)
  })()
}

const NOTE_LENGTH_MAX = 8192

/** Reads a small JSON object of a copy; null when it is not there. */
function readNote(folder: string, name: string): Readonly<Record<string, unknown>> | null {
  const path = join(folder, name)
  if (!existsSync(path)) return null
  const text = readFileSync(path, 'utf8')
  try {
    const note: unknown = text.length <= NOTE_LENGTH_MAX ? JSON.parse(text) : null
    if (typeof note === 'object' && note !== null) return { ...note }
  } catch {
    // The fault below says so.
  }
  throw new BackupFault(`${path} is none of ours`)
}

function readSeal(copy: string): { readonly project_id: number } {
  const project_id = readNote(copy, SEAL)?.['project_id']
  if (typeof project_id === 'number' && Number.isSafeInteger(project_id)) return { project_id }
  throw new BackupFault(
    `${copy} is not the copy of a moved project: run "clickhouse move" to its end`,
  )
}

function writeNote(folder: string, name: string, note: object): void {
  const path = join(folder, name)
  writeFileSync(`${path}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600 })
  syncPath(`${path}.new`)
  renameSync(`${path}.new`, path)
  syncPath(folder)
}
