/** Access levels of members within a project: a default per resource, and overrides of single members. */
import { and, eq, inArray } from 'drizzle-orm'
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { ADMIN, MEMBER, type MemberLevel, timestamp } from '../tables.ts'
import { OBJECTS, type Scope } from './scopes.ts'

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

/** The resource of the project as a whole. */
export const PROJECT_RESOURCE = 'project'

/** In ascending order, by the API's names. */
export const PROJECT_LEVELS = ['none', 'member', 'admin'] as const
export const RESOURCE_LEVELS = ['none', 'viewer', 'editor'] as const

type ProjectLevel = (typeof PROJECT_LEVELS)[number]
type ResourceLevel = (typeof RESOURCE_LEVELS)[number]
export type AccessLevel = ProjectLevel | ResourceLevel

/** The resources in a project that have levels. */
export const RESOURCES: readonly string[] = OBJECTS.filter(
  (object) => !['organization', 'organization_member', 'project', 'user'].includes(object),
)

/** The user id of a default level, which is valid for all members without an override. */
export const EVERYBODY = 0

const DEFAULT_LEVELS = { project: 'member', resource: 'editor' } as const

export type AccessControl = typeof access_controls.$inferSelect

/** The stored levels of a project, defaults first. */
export function listAccessControls(db: ControlDB, project_id: number): readonly AccessControl[] {
  return db
    .select()
    .from(access_controls)
    .where(eq(access_controls.project_id, project_id))
    .orderBy(access_controls.resource, access_controls.user_id)
    .all()
}

/** The level of a member without an override. */
export function defaultLevel(set: readonly AccessControl[], resource: string): AccessLevel {
  const stored = set.find(
    (control) => control.resource === resource && control.user_id === EVERYBODY,
  )
  if (stored !== undefined) return stored.access_level
  return resource === PROJECT_RESOURCE ? DEFAULT_LEVELS.project : DEFAULT_LEVELS.resource
}

/** The level of a member who is not an administrator. */
export function levelOf(
  set: readonly AccessControl[],
  resource: string,
  user_id: number,
): AccessLevel {
  const override = set.find(
    (control) => control.resource === resource && control.user_id === user_id,
  )
  return override?.access_level ?? defaultLevel(set, resource)
}

/** The stored levels that apply to a user in some projects, of one resource or of all. */
function listControlsOf(
  db: ControlDB,
  user_id: number,
  project_ids: readonly number[],
  resource?: string,
): readonly AccessControl[] {
  if (project_ids.length === 0) return []
  const its = and(
    inArray(access_controls.project_id, [...project_ids]),
    inArray(access_controls.user_id, [EVERYBODY, user_id]),
    resource === undefined ? undefined : eq(access_controls.resource, resource),
  )
  return db.select().from(access_controls).where(its).all()
}

/**
 * A user's level in each of some projects, by project id; projects that the user may not see are missing.
 * Administrators of the organization are administrators of all its projects.
 */
export function levelsInProjects(
  db: ControlDB,
  user_id: number,
  projects: readonly { readonly id: number; readonly level: MemberLevel }[],
): ReadonlyMap<number, MemberLevel> {
  const plain = projects.filter(({ level }) => level < ADMIN).map(({ id }) => id)
  const set = listControlsOf(db, user_id, plain, PROJECT_RESOURCE)
  const by_project = Map.groupBy(set, ({ project_id }) => project_id)
  const levels = new Map<number, MemberLevel>()
  for (const { id, level } of projects) {
    const controls = by_project.get(id) ?? []
    const access = level >= ADMIN ? 'admin' : levelOf(controls, PROJECT_RESOURCE, user_id)
    if (access === 'admin') levels.set(id, level >= ADMIN ? level : ADMIN)
    else if (access !== 'none') levels.set(id, MEMBER)
  }
  return levels
}

/** Levels by resource; null for administrators, who have no limits. */
export type Levels = ReadonlyMap<string, AccessLevel> | null

/** The levels of a member in a project. Read for each request: those of other members, who may be many, are not. */
export function levelsOf(
  db: ControlDB,
  member: { readonly user_id: number; readonly project_id: number; readonly level: MemberLevel },
): Levels {
  if (member.level >= ADMIN) return null
  const { user_id, project_id } = member
  return levelsFrom(listControlsOf(db, user_id, [project_id]), user_id)
}

/** The levels of a user in each of some projects, by one query: pages begin with it, also in an organization of 200 projects. */
export function levelsOfEach(
  db: ControlDB,
  user_id: number,
  projects: readonly { readonly id: number; readonly level: MemberLevel }[],
): ReadonlyMap<number, Levels> {
  const plain = projects.filter(({ level }) => level < ADMIN).map(({ id }) => id)
  const set = listControlsOf(db, user_id, plain)
  const by_project = Map.groupBy(set, ({ project_id }) => project_id)
  return new Map(
    projects.map(({ id, level }) => [
      id,
      level >= ADMIN ? null : levelsFrom(by_project.get(id) ?? [], user_id),
    ]),
  )
}

const levelsFrom = (set: readonly AccessControl[], user_id: number): Levels =>
  new Map(RESOURCES.map((resource) => [resource, levelOf(set, resource, user_id)]))

/** The refusal of a member whose level of a resource is too low for a scope; null if it is sufficient. */
export function refusalByLevels(levels: Levels, scope: Scope): Refusal | null {
  const [object = '', action] = scope.split(':')
  const level = levels?.get(object) ?? 'editor'
  if (level === 'editor' || (level === 'viewer' && action === 'read')) return null
  const needed = action === 'read' ? 'viewer' : 'editor'
  return new Refusal('permission_denied', `You do not have ${needed} access to this resource.`)
}

/** Stores a level, or deletes it with null. `user_id` may be EVERYBODY. Returns the level before. */
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
