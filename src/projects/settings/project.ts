/** Projects, the unit of isolation of events and queries. */
import { and, asc, eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { makeProjectToken } from '../keys/secrets.ts'
import { createLookups } from '../lookups.ts'
import { parseName } from '../names.ts'
import { findOrganization } from '../organization.ts'
import { projects } from '../tables.ts'
import { requireClaimedId } from './home.ts'
import type { ProjectFields } from './project-fields.ts'
import { testAccountFilters } from './test-accounts.ts'

export type Project = typeof projects.$inferSelect

export const PROJECT_NAME_DEFAULT = 'Default project'
const NAME_LENGTH_MAX = 200

type ProjectRequest = {
  readonly organization_id: string
  readonly name: string
  /** A token preset by an unattended install; generated if missing. */
  readonly api_token?: string
  /** The creator's address: users of its domain are filtered as test accounts. */
  readonly creator_email?: string | null
  /** Overrides of the API's defaults. */
  readonly fields?: ProjectFields
}

/** Creates a project. Refuses an unknown organization, a blank or too long name, and a number that is not claimed. */
export function createProject(db: ControlDB, request: ProjectRequest, now: Date): Project {
  const name = parseName(request.name, NAME_LENGTH_MAX)
  if (findOrganization(db, request.organization_id) === null) {
    throw new Refusal('not_found', 'Organization not found.', { attr: 'organization' })
  }
  requireClaimedId(db)
  const { id } = db
    .insert(projects)
    .values({
      uuid: Bun.randomUUIDv7(),
      organization_id: request.organization_id,
      api_token: request.api_token ?? makeProjectToken(),
      test_account_filters: testAccountFilters(request.creator_email ?? null),
      ...request.fields,
      // One rule of names for both parameters.
      name,
      created_at: now,
      updated_at: now,
    })
    .returning({ id: projects.id })
    .get()
  // Read again: a trigger has added the first dashboard.
  const project = db.select().from(projects).where(eq(projects.id, id)).get()
  if (project === undefined) throw new Error(`project ${id} is gone as soon as it was made`)
  return project
}

/** Finds a project by id; null if there is none. */
export function findProject(db: ControlDB, id: number): Project | null {
  return createLookups(db).project.get({ id }) ?? null
}

/** The ids of all projects. */
export function listProjectIds(db: ControlDB): readonly number[] {
  const rows = db.select({ id: projects.id }).from(projects).all()
  return rows.map(({ id }) => id)
}

/** Finds a project by its token; null if there is none. */
export function findProjectByToken(db: ControlDB, api_token: string): Project | null {
  return db.select().from(projects).where(eq(projects.api_token, api_token)).get() ?? null
}

/** All projects of an organization, oldest first. */
export function listProjects(db: ControlDB, organization_id: string): readonly Project[] {
  return db
    .select()
    .from(projects)
    .where(eq(projects.organization_id, organization_id))
    .orderBy(asc(projects.id))
    .all()
}

/** Records that a project has received its first event. Idempotent. */
export function markIngested(db: ControlDB, id: number): void {
  const unmarked = and(eq(projects.id, id), eq(projects.ingested_event, false))
  db.update(projects).set({ ingested_event: true }).where(unmarked).run()
}
