/** Authentication of callers, and the organizations and projects that a caller can see. */
import { and, asc, eq, inArray } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { type ApiKey, findApiKey } from '../keys/api-key.ts'
import { findMembership, type Organization } from '../organization.ts'
import { findProject, type Project } from '../settings/project.ts'
import { type MemberLevel, memberships, organizations, projects } from '../tables.ts'
import { findUser } from '../users/user.ts'
import { levelsInProjects } from './access-controls.ts'
import { refusalByScopes, type Scope } from './scopes.ts'

/** The caller of one request: a personal API key, acting for its user. */
export type Caller = Pick<
  ApiKey,
  'expires_at' | 'id' | 'user_id' | 'scopes' | 'scoped_organizations' | 'scoped_projects'
>

/** The type of control.db, for rooms that get it as an argument. */
export type { ControlDB }

/** A project or organization that the caller can see, with the caller's level in its organization. */
export type WithLevel<Item> = { readonly item: Item; readonly level: MemberLevel }

/** The id of the current project or organization, by default the first that the caller can see. */
export const CURRENT = '@current'
const ID_DIGITS = /^[1-9]\d{0,14}$/

/** Authenticates a personal API key. Refuses a missing, unknown or expired one. */
export function getCaller(db: ControlDB, key: string | null, now: Date): Caller {
  if (key === null) {
    throw new Refusal('not_authenticated', 'Authentication credentials were not provided.')
  }
  const caller = findApiKey(db, key, now)
  if (caller !== null) return caller
  const detail = 'Personal API key found in request Authorization header is invalid.'
  throw new Refusal('authentication_failed', detail)
}

/** Refuses a caller whose key lacks the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  const refusal = refusalByScopes(caller.scopes, scope)
  if (refusal !== null) throw refusal
}

/**
 * The project named in a path. Refuses a project of an organization that the caller cannot see as `not_found`, and a
 * project that the caller sees beyond the key's limit as `permission_denied`.
 */
export function getVisibleProject(db: ControlDB, caller: Caller, id: string): WithLevel<Project> {
  const project = id === CURRENT ? findCurrentProject(db, caller) : findProjectByText(db, id)
  const level = project && findLevel(db, caller, project)
  if (!project || !level) throw new Refusal('not_found', 'Project not found.')
  if (caller.scoped_projects !== null && !caller.scoped_projects.includes(project.id)) {
    const detail = `API key does not have access to the requested project: ID ${project.id}.`
    throw new Refusal('permission_denied', detail)
  }
  return { item: project, level }
}

/** The organization named in a path. Refuses (`not_found`) one that the caller cannot see. */
export function getVisibleOrganization(
  db: ControlDB,
  caller: Caller,
  id: string,
): WithLevel<Organization> {
  const visible_organizations = listVisibleOrganizations(db, caller)
  const visible =
    id === CURRENT
      ? currentOrganization(db, caller, visible_organizations)
      : visible_organizations.find(({ item }) => item.id === id.toLowerCase())
  if (visible === undefined) throw new Refusal('not_found', 'Organization not found.')
  return visible
}

/** Refuses a key that is limited to projects, on routes about a whole organization. */
export function requireWholeOrganization(caller: Caller): void {
  if (caller.scoped_projects === null) return
  const detail = 'API keys with scoped projects are only supported on project-based endpoints.'
  throw new Refusal('permission_denied', detail)
}

/** Refuses a key that is limited to organizations or projects, on routes about its user. */
export function requireWholeUser(caller: Caller): void {
  if (caller.scoped_projects === null && caller.scoped_organizations === null) return
  const detail = 'This needs an API key that is not limited to organizations or projects.'
  throw new Refusal('permission_denied', detail)
}

/** Refuses a caller whose level is below `level_min`. */
export function requireLevel(level: MemberLevel, level_min: MemberLevel): void {
  if (level >= level_min) return
  throw new Refusal('permission_denied', 'Your organization access level is insufficient.')
}

/** Every organization that the caller can see, by date of joining. */
export function listVisibleOrganizations(
  db: ControlDB,
  caller: Caller,
): readonly WithLevel<Organization>[] {
  const allowed = organizationsOfProjects(db, caller)
  return db
    .select({ item: organizations, level: memberships.level })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organization_id))
    .where(eq(memberships.user_id, caller.user_id))
    .orderBy(asc(memberships.joined_at), asc(organizations.id))
    .all()
    .filter(({ item }) => reaches(caller, item.id) && (allowed === null || allowed.has(item.id)))
}

/** The organizations of the projects that a key is limited to; null for a key without that limit. */
function organizationsOfProjects(
  db: ControlDB,
  { scoped_projects }: Caller,
): ReadonlySet<string> | null {
  if (scoped_projects === null) return null
  const rows = db
    .select({ id: projects.organization_id })
    .from(projects)
    .where(inArray(projects.id, [...scoped_projects]))
    .all()
  return new Set(rows.map(({ id }) => id))
}

/** Every project that the caller can see, oldest first. */
export function listVisibleProjects(db: ControlDB, caller: Caller): readonly Project[] {
  return listProjectsWithLevel(db, caller).map(({ item }) => item)
}

/** Every project that the caller can see, with the caller's level, oldest first. */
export function listProjectsWithLevel(
  db: ControlDB,
  caller: Caller,
): readonly WithLevel<Project>[] {
  const organization_levels = new Map(
    listVisibleOrganizations(db, caller).map(({ item, level }) => [item.id, level]),
  )
  const in_reach = and(
    inArray(projects.organization_id, [...organization_levels.keys()]),
    caller.scoped_projects === null ? undefined : inArray(projects.id, [...caller.scoped_projects]),
  )
  const all = db.select().from(projects).where(in_reach).orderBy(asc(projects.id)).all()
  const candidates = all.flatMap(({ id, organization_id }) => {
    const level = organization_levels.get(organization_id)
    return level === undefined ? [] : [{ id, level }]
  })
  const levels = levelsInProjects(db, caller.user_id, candidates)
  return all.flatMap((item) => {
    const level = levels.get(item.id)
    return level === undefined ? [] : [{ item, level }]
  })
}

/** The user's last choice if this key reaches it, otherwise the first project that it reaches. */
function findCurrentProject(db: ControlDB, caller: Caller): Project | undefined {
  const visible = listVisibleProjects(db, caller)
  const current_id = findUser(db, caller.user_id)?.current_project_id
  return visible.find(({ id }) => id === current_id) ?? visible[0]
}

function currentOrganization(
  db: ControlDB,
  caller: Caller,
  visible_organizations: readonly WithLevel<Organization>[],
): WithLevel<Organization> | undefined {
  const current_id = findUser(db, caller.user_id)?.current_organization_id
  return (
    visible_organizations.find(({ item }) => item.id === current_id) ?? visible_organizations[0]
  )
}

function findProjectByText(db: ControlDB, id: string): Project | null {
  return ID_DIGITS.test(id) ? findProject(db, Number(id)) : null
}

function findLevel(db: ControlDB, caller: Caller, project: Project): MemberLevel | null {
  if (!reaches(caller, project.organization_id)) return null
  const level = findMembership(db, project.organization_id, caller.user_id)?.level
  if (level === undefined) return null
  return levelsInProjects(db, caller.user_id, [{ id: project.id, level }]).get(project.id) ?? null
}

function reaches(caller: Caller, organization_id: string): boolean {
  return caller.scoped_organizations?.includes(organization_id) ?? true
}
