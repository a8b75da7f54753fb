/** How much of a project its members may use: a level for everybody, and levels of single members. */
import { and, eq, inArray } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { OBJECTS, type Scope } from './scopes.ts'
import { ADMIN, MEMBER, type MemberLevel, timestamp } from './tables.ts'

const access_controls = sqliteTable(
  'access_controls',
  {
    project_id: integer().notNull(),
    resource: text().notNull(),
    user_id: integer().notNull(),
    access_level: text().$type<AccessLevel>().notNull(),
    updated_at: timestamp().notNull(),
  },
  (table) => [primaryKey({ columns: [table.project_id, table.resource, table.user_id] })],
)

/** The project as a whole is a resource like those in it. */
export const PROJECT_RESOURCE = 'project'

/** From least to most, as clients name them. */
export const PROJECT_LEVELS = ['none', 'member', 'admin'] as const
export const RESOURCE_LEVELS = ['none', 'viewer', 'editor'] as const

export type ProjectLevel = (typeof PROJECT_LEVELS)[number]
export type ResourceLevel = (typeof RESOURCE_LEVELS)[number]
export type AccessLevel = ProjectLevel | ResourceLevel

/** Everything in a project that has a level of its own. */
export const RESOURCES: readonly string[] = OBJECTS.filter(
  (object) => !['organization', 'organization_member', 'project', 'user'].includes(object),
)

/** Whom a level is for when it is for everybody. */
export const EVERYBODY = 0

const DEFAULT_LEVELS = { project: 'member', resource: 'editor' } as const

export type AccessControl = typeof access_controls.$inferSelect

/** What is set for a project, the level for everybody first. */
export function listAccessControls(db: ControlDB, project_id: number): readonly AccessControl[] {
  return db
    .select()
    .from(access_controls)
    .where(eq(access_controls.project_id, project_id))
    .orderBy(access_controls.resource, access_controls.user_id)
    .all()
}

/** The level of whoever has none of their own. */
export function defaultLevel(set: readonly AccessControl[], resource: string): AccessLevel {
  const row = set.find((one) => one.resource === resource && one.user_id === EVERYBODY)
  if (row !== undefined) return row.access_level
  return resource === PROJECT_RESOURCE ? DEFAULT_LEVELS.project : DEFAULT_LEVELS.resource
}

/** What a plain member has. */
export function levelOf(
  set: readonly AccessControl[],
  resource: string,
  user_id: number,
): AccessLevel {
  const own = set.find((one) => one.resource === resource && one.user_id === user_id)
  return own?.access_level ?? defaultLevel(set, resource)
}

/**
 * How much a user is in each of some projects, by project id; projects they may not see are missing.
 * Administrators of the organization are administrators of all its projects.
 */
export function levelsInProjects(
  db: ControlDB,
  user_id: number,
  projects: readonly { readonly id: number; readonly level: MemberLevel }[],
): ReadonlyMap<number, MemberLevel> {
  const plain = projects.filter(({ level }) => level < ADMIN).map(({ id }) => id)
  const set =
    plain.length === 0
      ? []
      : db
          .select()
          .from(access_controls)
          .where(
            and(
              inArray(access_controls.project_id, plain),
              eq(access_controls.resource, PROJECT_RESOURCE),
            ),
          )
          .all()
  const levels = new Map<number, MemberLevel>()
  for (const { id, level } of projects) {
    const its = set.filter(({ project_id }) => project_id === id)
    const own = level >= ADMIN ? 'admin' : levelOf(its, PROJECT_RESOURCE, user_id)
    if (own === 'admin') levels.set(id, level >= ADMIN ? level : ADMIN)
    else if (own !== 'none') levels.set(id, MEMBER)
  }
  return levels
}

/** Levels by resource; null for administrators, whom no level limits. */
export type Levels = ReadonlyMap<string, AccessLevel> | null

/** The levels of a member in a project. */
export function levelsOf(
  db: ControlDB,
  who: { readonly user_id: number; readonly project_id: number; readonly level: MemberLevel },
): Levels {
  if (who.level >= ADMIN) return null
  const set = listAccessControls(db, who.project_id)
  return new Map(RESOURCES.map((resource) => [resource, levelOf(set, resource, who.user_id)]))
}

/** The refusal of a member whose levels do not allow what a scope is for; null when they do. */
export function refusalByLevels(levels: Levels, scope: Scope): Refusal | null {
  const [object = '', action] = scope.split(':')
  const held = levels?.get(object) ?? 'editor'
  if (held === 'editor' || (held === 'viewer' && action === 'read')) return null
  const needed = action === 'read' ? 'viewer' : 'editor'
  return new Refusal('permission_denied', `You do not have ${needed} access to this resource.`)
}

/** Sets a level, or takes it back with null. `user_id` may be EVERYBODY. Answers what was set before. */
export function setAccessLevel(
  db: Pick<ControlDB, 'delete' | 'insert' | 'select'>,
  which: { readonly project_id: number; readonly resource: string; readonly user_id: number },
  access_level: AccessLevel | null,
  now: Date,
): AccessLevel | null {
  const { project_id, resource, user_id } = which
  const its = and(
    eq(access_controls.project_id, project_id),
    eq(access_controls.resource, resource),
    eq(access_controls.user_id, user_id),
  )
  const before = db.select().from(access_controls).where(its).get()?.access_level ?? null
  if (access_level === null) db.delete(access_controls).where(its).run()
  else {
    db.insert(access_controls)
      .values({ ...which, access_level, updated_at: now })
      .onConflictDoUpdate({
        target: [access_controls.project_id, access_controls.resource, access_controls.user_id],
        set: { access_level, updated_at: now },
      })
      .run()
  }
  return before
}
