/** The server's name among those that share a ClickHouse, and the numbers of projects that it has claimed there. */
import { eq, sql } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'

const homes = sqliteTable('home', {
  id: integer().primaryKey(),
  home_id: text().notNull(),
  claimed_log_id: text(),
  number: integer(),
  project_ids_to: integer(),
})

const taken_projects = sqliteTable('taken_projects', {
  project_id: integer().primaryKey(),
  from_home_id: text().notNull(),
})

type HomeRecord = {
  readonly home_id: string
  /** The log id under which this folder has claimed to be the living one of its copies; null before the first time. */
  readonly claimed_log_id: string | null
  /** Null before it is claimed. */
  readonly number: number | null
  /** Numbers of projects to come are claimed up to this one; null without a ClickHouse. */
  readonly project_ids_to: number | null
}

export function getHome(db: ControlDB): HomeRecord {
  const home = db.select().from(homes).where(eq(homes.id, 1)).get()
  if (home === undefined) throw new Error('control.db has no home')
  return home
}

export function storeClaimedLog(db: ControlDB, log_id: string): void {
  db.update(homes).set({ claimed_log_id: log_id }).where(eq(homes.id, 1)).run()
}

/** Numbers of one home: those of 200 homes, and projects taken in, are within 32 bits. */
const BLOCK = 10_000_000

/** Stores the number of this home: definitions and users to come get theirs from its block. */
export function storeHomeNumber(db: ControlDB, number: number): void {
  db.transaction(
    (tx) => {
      tx.update(homes).set({ number }).where(eq(homes.id, 1)).run()
      for (const { name } of tx.all<{ name: string }>(NUMBERED_TABLES))
        raiseIds(tx, name, number * BLOCK)
    },
    { behavior: 'immediate' },
  )
}

/** Projects are claimed one by one. */
const NUMBERED_TABLES = sql`
select name from sqlite_schema
where type = 'table' and sql like '%autoincrement%' and name <> 'projects'`

/** SQLite keeps the last id of a table in this one, once there was one; it has no key. */
function raiseIds(db: ControlDB, table: string, last: number): void {
  db.run(sql`
insert into sqlite_sequence (name, seq)
select ${table}, 0 where not exists (select 1 from sqlite_sequence where name = ${table})`)
  db.run(sql`update sqlite_sequence set seq = max(seq, ${last}) where name = ${table}`)
}

/** The number of the next project: SQLite gives none twice. */
export function nextProjectId(db: ControlDB): number {
  const [last] = db.all<{ seq: number }>(
    sql`select seq from sqlite_sequence where name = 'projects'`,
  )
  return (last?.seq ?? 0) + 1
}

/** Gives projects that are made from now on ids from `id_min` on. Existing projects keep theirs. */
export function raiseProjectIds(db: ControlDB, id_min: number): void {
  if (id_min === 1) return
  db.transaction((tx) => raiseIds(tx, 'projects', id_min - 1), { behavior: 'immediate' })
}

/** Notes that the numbers `from` to `to` are this server's: the next project gets the first of them. */
export function storeClaimedIds(db: ControlDB, from: number, to: number): void {
  db.transaction(
    (tx) => {
      raiseProjectIds(tx, from)
      tx.update(homes).set({ project_ids_to: to }).where(eq(homes.id, 1)).run()
    },
    { behavior: 'immediate' },
  )
}

/** Refuses a project whose number another server in front of the same ClickHouse might give too. */
export function requireClaimedId(db: ControlDB): void {
  const { project_ids_to } = getHome(db)
  if (project_ids_to === null || nextProjectId(db) <= project_ids_to) return
  const detail =
    'Numbers of projects are claimed in ClickHouse, which did not answer yet. Please try again.'
  throw new Refusal('storage_unavailable', detail)
}

/** The home from which a project was taken and is not claimed yet; null for any other project. */
export function findGiver(db: ControlDB, project_id: number): string | null {
  const taken = db
    .select()
    .from(taken_projects)
    .where(eq(taken_projects.project_id, project_id))
    .get()
  return taken?.from_home_id ?? null
}

/** Notes that a taken project is claimed. */
export function forgetGiver(db: ControlDB, project_id: number): void {
  db.delete(taken_projects).where(eq(taken_projects.project_id, project_id)).run()
}
