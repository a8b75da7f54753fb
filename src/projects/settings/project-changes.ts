/** Creates, changes and deletes projects, each with an entry in the activity log. */
import { count, eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { type ActivityChange, changesBetween, recordActivity } from '../activity.ts'
import { makeProjectToken } from '../keys/secrets.ts'
import { listForRemoval } from '../removals.ts'
import {
  type AccessLevel,
  EVERYBODY,
  PROJECT_RESOURCE,
  setAccessLevel,
} from '../rights/access-controls.ts'
import { projects, users } from '../tables.ts'
import { chooseProject } from '../users/user.ts'
import { createProject, findProject, PROJECT_NAME_DEFAULT, type Project } from './project.ts'
import { parseProjectFields, type SentFields } from './project-fields.ts'

const TRANSACTION = { behavior: 'immediate' } as const

/** Creates a project and makes it its creator's current one. Refuses invalid fields, and a project beyond the limit. */
export function addProject(
  db: ControlDB,
  request: {
    readonly organization_id: string
    readonly user_id: number
    readonly sent: SentFields
    /** Limit of projects of the organization, with this one. */
    readonly projects_max: number
  },
  now: Date,
): Project {
  const { organization_id, user_id, sent, projects_max } = request
  if (sent['primary_dashboard'] !== undefined && sent['primary_dashboard'] !== null) {
    const detail = 'Primary dashboard cannot be set on project creation.'
    throw new Refusal('invalid_input', detail, { attr: 'primary_dashboard' })
  }
  const fields = parseProjectFields(sent, {})
  return db.transaction((tx) => {
    const its = eq(projects.organization_id, organization_id)
    const there = tx.select({ there: count() }).from(projects).where(its).get()?.there ?? 0
    if (there >= projects_max) {
      throw new Refusal('invalid_input', `An organization may have ${projects_max} projects.`)
    }
    const name = fields.name ?? PROJECT_NAME_DEFAULT
    const creator = tx.select().from(users).where(eq(users.id, user_id)).get()
    const creator_email = creator?.email ?? null
    const project = createProject(tx, { organization_id, name, fields, creator_email }, now)
    syncAccess(tx, project, false, now)
    chooseProject(tx, user_id, project)
    note(tx, { project, user_id, activity: 'created', changes: [] }, now)
    return project
  }, TRANSACTION)
}

/** Changes some fields of a project. Refuses invalid fields. */
export function changeProject(
  db: ControlDB,
  project_id: number,
  edit: { readonly user_id: number; readonly sent: SentFields },
  now: Date,
): Project {
  return db.transaction((tx) => {
    const before = getProject(tx, project_id)
    const fields = parseProjectFields(edit.sent, before)
    if (Object.keys(fields).length === 0) return before
    const changes = changesBetween('Project', before, { ...before, ...fields })
    if (changes.length === 0) return before
    const after = write(tx, project_id, { ...fields, updated_at: now })
    syncAccess(tx, after, before.access_control, now)
    note(tx, { project: after, user_id: edit.user_id, activity: 'updated', changes }, now)
    return after
  }, TRANSACTION)
}

/** Gives a project a new token; the old one is invalid from the commit on. */
export function resetToken(db: ControlDB, project_id: number, user_id: number, now: Date): Project {
  return db.transaction((tx) => {
    const project = write(tx, project_id, { api_token: makeProjectToken(), updated_at: now })
    const changes = [change('api_token', null, null)]
    note(tx, { project, user_id, activity: 'updated', changes }, now)
    return project
  }, TRANSACTION)
}

/** Stores or deletes an access level, with an entry in the activity log. */
export function changeAccess(
  db: ControlDB,
  project: Project,
  request: {
    readonly changed_by: number
    readonly resource: string
    readonly user_id: number
    readonly access_level: AccessLevel | null
  },
  now: Date,
): void {
  const { changed_by, resource, user_id, access_level } = request
  db.transaction((tx) => {
    const which = { project_id: project.id, resource, user_id }
    const before = setAccessLevel(tx, which, access_level, now)
    if (resource === PROJECT_RESOURCE && user_id === EVERYBODY) {
      write(tx, project.id, { access_control: access_level === 'none', updated_at: now })
    }
    const field = user_id === EVERYBODY ? `access:${resource}` : `access:${resource}:${user_id}`
    const changes = before === access_level ? [] : [change(field, before, access_level)]
    if (changes.length === 0) return
    note(tx, { project, user_id: changed_by, activity: 'updated', changes }, now)
  }, TRANSACTION)
}

/** Deletes a project and queues its data for removal. Its token and name are free from the commit on. */
export function deleteProject(db: ControlDB, project: Project, user_id: number, now: Date): void {
  db.transaction((tx) => {
    tx.delete(projects).where(eq(projects.id, project.id)).run()
    listForRemoval(tx, [project.id], now)
    recordActivity(
      tx,
      {
        organization_id: project.organization_id,
        project_id: null,
        user_id,
        scope: 'Project',
        item_id: String(project.id),
        activity: 'deleted',
        name: project.name,
        changes: [],
      },
      now,
    )
  }, TRANSACTION)
}

function getProject(db: ControlDB, id: number): Project {
  const project = findProject(db, id)
  if (project === null) throw new Refusal('not_found', 'Project not found.')
  return project
}

function write(
  db: Pick<ControlDB, 'update'>,
  id: number,
  fields: Partial<typeof projects.$inferInsert>,
): Project {
  const project = db.update(projects).set(fields).where(eq(projects.id, id)).returning().get()
  if (project === undefined) throw new Refusal('not_found', 'Project not found.')
  return project
}

/** Keeps the field `access_control` and the default level equal: a private project has the default level `none`. */
function syncAccess(
  db: Pick<ControlDB, 'delete' | 'insert' | 'select'>,
  { id, access_control }: Project,
  before: boolean,
  now: Date,
): void {
  if (access_control === before) return
  const which = { project_id: id, resource: PROJECT_RESOURCE, user_id: EVERYBODY }
  setAccessLevel(db, which, access_control ? 'none' : null, now)
}

function change(field: string, before: string | null, after: string | null): ActivityChange {
  return { type: 'Project', action: 'changed', field, before, after }
}

function note(
  db: Pick<ControlDB, 'insert'>,
  what: {
    readonly project: Project
    readonly user_id: number
    readonly activity: 'created' | 'updated'
    readonly changes: readonly ActivityChange[]
  },
  now: Date,
): void {
  const { project, user_id, activity, changes } = what
  recordActivity(
    db,
    {
      organization_id: project.organization_id,
      project_id: project.id,
      user_id,
      scope: 'Project',
      item_id: String(project.id),
      activity,
      name: project.name,
      changes: changes.filter(({ field }) => field !== 'updated_at'),
    },
    now,
  )
}
