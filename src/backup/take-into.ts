/**
 * Takes a moved project into a folder that has other projects. Ids and change numbers stay the same, since servers that
 * share a ClickHouse count in separate blocks. Rows of persons are copied first: after a crash the project does not
 * exist yet, and the command is run again.
 */
import type { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readLogState } from '../storage/files/manifest.ts'
import { temporaryFolder } from '../storage/files/parquet.ts'
import { isShipped } from '../storage/log/shipments.ts'
import { FolderInUse, type FolderLock, takeLock } from '../storage/process/lock.ts'
import { CONTROL_MIGRATIONS, EVENTS_MIGRATIONS } from '../storage/sqlite/sql-files.ts'
import { migrate, openWriter } from '../storage/sqlite/sqlite.ts'
import { BackupFault } from './fill-folder.ts'

type TakeOptions = {
  readonly project_id: number
  /** The folder that gets the project. It has other projects, and no server runs on it. */
  readonly data_dir: string
  /** Makes a folder of the project alone, which is deleted afterwards. */
  readonly unpack: (folder: string) => Promise<void>
  /** For tests: kills this process after a step. */
  readonly fault?: TakeFault | null
}

/** The steps after which a process can be killed, in order. */
export const TAKE_FAULTS = ['unpacked', 'rows_copied', 'taken'] as const
export type TakeFault = (typeof TAKE_FAULTS)[number]

/** A table of control.db with rows of a project, and the condition for a row `r` of the copy. */
type CopiedTable = {
  readonly name: string
  readonly rows: string
  /** The column that is numbered again: nothing names it. */
  readonly renumbered?: string
}

const OWN = 'r.project_id = $project_id'
const ofParent = (parent: string, column: string): string =>
  `r.${column} in (select id from source.${parent} where project_id = $project_id)`

/** Adding a line brings a table along. A table that is not here belongs to no project, or is made again. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  { name: 'projects', rows: 'r.id = $project_id' },
  ...[
    'access_controls',
    'actions',
    'alerts',
    'annotations',
    'cohorts',
    'dashboards',
    'definition_versions',
    'definitions',
    'demo_runs',
    'early_access_features',
    'experiment_holdouts',
    'experiment_saved_metrics',
    'experiments',
    'exports',
    'feature_flags',
    'group_type_names',
    'insight_variables',
    'insights',
    'plugin_configs',
    'product_intents',
    'project_retention',
    'scheduled_changes',
    'subscriptions',
    'surveys',
    'taken_projects',
  ].map((name) => ({ name, rows: OWN })),
  { name: 'activity_log', rows: OWN, renumbered: 'id' },
  { name: 'plugin_logs', rows: OWN, renumbered: 'seq' },
  { name: 'alert_checks', rows: ofParent('alerts', 'alert_id'), renumbered: 'id' },
  { name: 'cohort_calculations', rows: ofParent('cohorts', 'cohort_id'), renumbered: 'id' },
  { name: 'dashboard_tiles', rows: ofParent('dashboards', 'dashboard_id') },
  { name: 'experiment_metric_links', rows: ofParent('experiments', 'experiment_id') },
  { name: 'insight_views', rows: ofParent('insights', 'insight_id') },
  { name: 'shared_dashboards', rows: ofParent('dashboards', 'dashboard_id') },
  { name: 'survey_archived_responses', rows: ofParent('surveys', 'survey_id') },
]

/** Tables of control.db that stay behind although they have a project: notes of the server. */
export const LEFT_TABLES: ReadonlySet<string> = new Set(['moved_projects', 'removed_projects'])

/** Columns with the number of a user, who may have another one here. */
const USER_COLUMNS: ReadonlySet<string> = new Set([
  'created_by',
  'last_modified_by',
  'owner',
  'updated_by',
  'user_id',
  'verified_by',
])

/** Tables of events.db that stay behind: what is in ClickHouse already, on its way in, or made again. */
const LEFT_EVENT_TABLES: ReadonlySet<string> = new Set([
  'edge_persons',
  'event_removals',
  'events',
  'files',
  'mirror_files',
  'mirrors',
  'request_slices',
  'slice_progress',
  'sliced_requests',
])

/** Takes the project; at once when it is there already. Throws a BackupFault, and changes nothing, when it cannot. */
export async function takeInto({
  project_id,
  data_dir,
  unpack,
  fault,
}: TakeOptions): Promise<void> {
  if (!isShipped(data_dir))
    throw new BackupFault(`${data_dir} does not hold its events in ClickHouse`)
  const lock = lockStopped(data_dir)
  const folder = join(temporaryFolder(data_dir), 'taken')
  try {
    rmSync(folder, { recursive: true, force: true })
    await unpack(folder)
    reachFault('unpacked', fault)
    migrateAll(folder)
    migrateAll(data_dir)
    using control = openAttached(data_dir, folder, 'control.db')
    using events = openAttached(data_dir, folder, 'events.db')
    const same_project =
      'select 1 from projects join source.projects as s using (id, uuid) where id = ?'
    if (control.query(same_project).get(project_id) !== null) return
    requireFreeNumbers(control, project_id)
    requireDelivered(control, events, project_id)
    events.transaction(() => copyRows(events, project_id)).immediate()
    reachFault('rows_copied', fault)
    const { seq } = readLogState(events)
    control.transaction(() => copyDefinitions(control, project_id, seq)).immediate()
    reachFault('taken', fault)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    lock.release()
  }
}

/** A server holds positions and persons in memory that rows from elsewhere would contradict: it must be stopped. */
function lockStopped(data_dir: string): FolderLock {
  try {
    return takeLock(data_dir, process.pid, new Date())
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error
    throw new BackupFault(
      `${error.message}: stop it, take the project, and start it again. Its clients are refused meanwhile, and send again`,
    )
  }
}

function reachFault(point: TakeFault, fault: TakeFault | null | undefined): void {
  if (point === fault) process.kill(process.pid, 'SIGKILL')
}

function migrateAll(folder: string): void {
  using control = openWriter(join(folder, 'control.db'))
  migrate(control, CONTROL_MIGRATIONS)
  using events = openWriter(join(folder, 'events.db'))
  migrate(events, EVENTS_MIGRATIONS)
}

/** Opens a database of the folder, with that of the copy as `source`. */
function openAttached(data_dir: string, folder: string, name: string): Database {
  const db = openWriter(join(data_dir, name))
  db.query('attach ? as source').run(join(folder, name))
  return db
}

/** Refuses numbers that are in use here: both servers have counted from 1, before they shared a ClickHouse. */
function requireFreeNumbers(control: Database, project_id: number): void {
  const token = control
    .query(
      'select 1 from projects join source.projects as s using (api_token) where s.id = $project_id',
    )
    .get({ project_id })
  if (token !== null) throw new BackupFault('a project with the same API key is there already')
  for (const { name, rows, renumbered } of COPIED_TABLES) {
    if (renumbered !== undefined || !columnsOf(control, name).includes('id')) continue
    // Ids of property and event definitions are unique in their project only.
    if (name === 'definitions') continue
    const taken = control
      .query<{ id: number | string }, { project_id: number }>(
        `select r.id from source.${name} as r join main.${name} as t on t.id = r.id where ${rows} limit 1`,
      )
      .get({ project_id })
    if (taken !== null)
      throw new BackupFault(
        `${name} ${taken.id} of project ${project_id} is the number of another one there: take the project into a new folder`,
      )
  }
}

/** Refuses events that a destination has not got yet: they are read from the log, which stays behind. */
function requireDelivered(control: Database, events: Database, project_id: number): void {
  const { seq } = control
    .query<{ seq: number | null }, { project_id: number }>(
      'select min(sent_seq) as seq from source.plugin_configs where project_id = $project_id and enabled = 1',
    )
    .get({ project_id }) ?? { seq: null }
  if (seq === null) return
  const waiting = events
    .query('select 1 from source.events where project_id = ? and seq > ? limit 1')
    .get(project_id, seq)
  if (waiting !== null)
    throw new BackupFault(
      `destinations of project ${project_id} have not got its last events: take the project into a new folder`,
    )
}

/** Brings persons, their ids, groups, members of cohorts and the window of uuids. */
function copyRows(events: Database, project_id: number): void {
  const removals = events.query('select 1 from source.event_removals where project_id = ? limit 1')
  if (removals.get(project_id) !== null)
    throw new BackupFault(
      `events of deleted persons of project ${project_id} are not removed yet: take the project into a new folder`,
    )
  // Changes to come must be newer, in ClickHouse too.
  events.run(
    'update main.clock set change = max(change, (select change from source.clock where id = 1))',
  )
  for (const name of tablesWithProject(events)) {
    events.query(`delete from main.${name} where project_id = ?`).run(project_id)
    if (LEFT_EVENT_TABLES.has(name)) continue
    const renumbered = name === 'merges' ? 'id' : null
    const columns = columnsOf(events, name).filter((column) => column !== renumbered)
    // ClickHouse has all warnings under their numbers: here the next one must not have a number of theirs.
    const others =
      name === 'ingestion_warnings'
        ? ' and r.id > (select coalesce(max(id), 0) from main.ingestion_warnings)'
        : ''
    events
      .query(
        `insert or replace into main.${name} (${quoted(columns)})
select ${quoted(columns, 'r.')} from source.${name} as r where r.project_id = ?${others}${renumbered === null ? '' : ' order by r.id'}`,
      )
      .run(project_id)
  }
  events.run(
    "insert into main.sqlite_sequence (name, seq) select 'event_removals', 0 where not exists (select 1 from main.sqlite_sequence where name = 'event_removals')",
  )
  events.run(`update main.sqlite_sequence
set seq = max(seq, coalesce((select max(seq) from source.sqlite_sequence where name = 'event_removals'), 0))
where name = 'event_removals'`)
}

function copyDefinitions(control: Database, project_id: number, seq: number): void {
  control.run('pragma defer_foreign_keys = on')
  copyPeople(control, project_id)
  for (const table of COPIED_TABLES) {
    copyTable(control, table, project_id)
    // Every project begins with a dashboard, which this one has already.
    if (table.name === 'projects')
      control.query('delete from main.dashboards where project_id = ?').run(project_id)
  }
  control
    .query(
      'update main.projects set primary_dashboard = (select primary_dashboard from source.projects where id = $project_id) where id = $project_id',
    )
    .run({ project_id })
  control
    .query(
      'update main.plugin_configs set sent_seq = $seq where project_id = $project_id and sent_seq is not null',
    )
    .run({ project_id, seq })
  control.query('delete from main.moved_projects where project_id = ?').run(project_id)
  // The numbers that came along are of another block: SQLite goes on from them, unless it has a higher one.
  control.run('update main.home set number = null')
}

function copyTable(
  control: Database,
  { name, rows, renumbered }: CopiedTable,
  project_id: number,
): void {
  const columns = columnsOf(control, name).filter((column) => column !== renumbered)
  const values = columns.map((column) =>
    USER_COLUMNS.has(column) ? userHere(column) : `r."${column}"`,
  )
  // The triggers of flags and cohorts have begun a version.
  const insert = name === 'definition_versions' ? 'insert or replace' : 'insert'
  control
    .query(
      `${insert} into main.${name} (${quoted(columns)}) select ${values.join(', ')} from source.${name} as r where ${rows}`,
    )
    .run({ project_id })
}

/** The number of a user here; 0 for one who was deleted there. */
const userHere = (column: string): string =>
  `iif(r.${column} is null, null, coalesce((select id from temp.moved_users where old_id = r.${column}), 0))`

const quoted = (columns: readonly string[], table = ''): string =>
  columns.map((column) => `${table}"${column}"`).join(', ')

/** Brings the project's organization with its members, their passwords, and their keys for this project alone. */
function copyPeople(control: Database, project_id: number): void {
  control.run(`insert or ignore into main.organizations
select id, name, iif(slug in (select slug from main.organizations), id, slug), created_at, updated_at
from source.organizations
where id = (${ORGANIZATION})`)
  control.run('create temp table moved_users (old_id integer primary key, id integer not null)')
  const users = control
    .query<{ id: number; is_member: number }, { project_id: number }>(
      `select id, id in (${MEMBERS}) as is_member from source.users
where id in (${MEMBERS}) or id in (${namedUsers(control)})
order by id`,
    )
    .all({ project_id })
  for (const { id, is_member } of users) copyUser(control, id, is_member === 1)
  control.run(`insert or ignore into main.memberships
select m.organization_id, u.id, m.level, m.joined_at
from source.memberships as m join temp.moved_users as u on u.old_id = m.user_id
where m.organization_id = (${ORGANIZATION})`)
  const columns = columnsOf(control, 'personal_api_keys')
  const values = columns.map((column) => {
    if (column === 'user_id') return 'u.id'
    if (column === 'scoped_organizations') return 'null'
    return column === 'scoped_projects' ? 'json_array($project_id)' : `k."${column}"`
  })
  control
    .query(
      `insert or ignore into main.personal_api_keys (${quoted(columns)})
select ${values.join(', ')}
from source.personal_api_keys as k join temp.moved_users as u on u.old_id = k.user_id
where k.user_id in (${MEMBERS})
  and (k.scoped_projects is null or $project_id in (select value from json_each(k.scoped_projects)))
  and (k.scoped_organizations is null
    or (${ORGANIZATION}) in (select value from json_each(k.scoped_organizations)))`,
    )
    .run({ project_id })
}

/** The copy has one project. */
const ORGANIZATION = 'select organization_id from source.projects'
const MEMBERS = `select user_id from source.memberships where organization_id = (${ORGANIZATION})`

/** The users whom the project's rows name. */
const namedUsers = (control: Database): string =>
  COPIED_TABLES.flatMap(({ name, rows }) =>
    columnsOf(control, name)
      .filter((column) => USER_COLUMNS.has(column))
      .map((column) => `select r.${column} from source.${name} as r where ${rows}`),
  ).join(' union ')

/** A user with the same address is the same one; a new one keeps the number, if it is free. */
function copyUser(control: Database, old_id: number, is_member: boolean): void {
  const same = control
    .query<{ id: number }, { old_id: number }>(
      `select t.id from main.users as t join source.users as s on s.uuid = t.uuid or s.email = t.email
where s.id = $old_id order by s.uuid = t.uuid desc limit 1`,
    )
    .get({ old_id })
  const id = same?.id ?? insertUser(control, old_id)
  control.query('insert into temp.moved_users values (?, ?)').run(old_id, id)
  if (same !== null || !is_member) return
  control
    .query(
      'insert into main.passwords select $id, email, hash, changed_at from source.passwords where user_id = $old_id',
    )
    .run({ id, old_id })
}

function insertUser(control: Database, old_id: number): number {
  const columns = columnsOf(control, 'users').filter(
    (column) => column !== 'id' && !column.startsWith('current_'),
  )
  const inserted = control
    .query<{ id: number }, { old_id: number }>(
      `insert into main.users (id, ${quoted(columns)})
select iif(id in (select id from main.users), null, id), ${quoted(columns)} from source.users where id = $old_id
returning id`,
    )
    .get({ old_id })
  if (inserted === null) throw new Error(`user ${old_id} of the copy is gone`)
  return inserted.id
}

function columnsOf(db: Database, table: string): readonly string[] {
  return db
    .query<{ name: string }, [string]>("select name from pragma_table_info(?, 'main')")
    .all(table)
    .map(({ name }) => name)
}

function tablesWithProject(db: Database): readonly string[] {
  return db
    .query<{ name: string }, []>(
      `select name from main.sqlite_schema as t
where type = 'table' and exists (select 1 from pragma_table_info(t.name, 'main') where name = 'project_id')
order by name`,
    )
    .all()
    .map(({ name }) => name)
}
