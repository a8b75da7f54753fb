/** Organizations, which own projects and have members. */
import { and, asc, count, eq } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { changesBetween, recordActivity } from './activity.ts'
import { createLookups } from './lookups.ts'
import { parseName } from './names.ts'
import { listForRemoval } from './removals.ts'
import { memberships, OWNER, organizations, projects } from './tables.ts'
import { ensureOwner } from './users/user.ts'

export type Organization = typeof organizations.$inferSelect
export type Membership = typeof memberships.$inferSelect

const NAME_LENGTH_MAX = 64

/**
 * Creates an organization for a user, by default the owner of the instance. Refuses a blank or too long name, and an
 * organization beyond the limit.
 */
export function createOrganization(
  db: ControlDB,
  draft: {
    readonly name: string
    readonly user_id?: number
    /** Limit of organizations that a user owns, with this one. */
    readonly owned_max?: number
  },
  now: Date,
): Organization {
  const id = Bun.randomUUIDv7()
  const name = parseName(draft.name, NAME_LENGTH_MAX)
  return db.transaction(
    (tx) => {
      const organization = tx
        .insert(organizations)
        .values({ id, name, slug: freeSlug(tx, name, id), created_at: now, updated_at: now })
        .returning()
        .get()
      const user_id = draft.user_id ?? ensureOwner(tx, now).id
      const owned = and(eq(memberships.user_id, user_id), eq(memberships.level, OWNER))
      const organizations_owned =
        tx.select({ count: count() }).from(memberships).where(owned).get()?.count ?? 0
      if (draft.owned_max !== undefined && organizations_owned >= draft.owned_max) {
        throw new Refusal('invalid_input', `A user may own ${draft.owned_max} organizations.`)
      }
      tx.insert(memberships)
        .values({ organization_id: id, user_id, level: OWNER, joined_at: now })
        .run()
      return organization
    },
    // A transaction that reads first and writes later fails at once if another process has written in between.
    { behavior: 'immediate' },
  )
}

/** Parses the name of an organization; `attr` is the refused field. */
export const parseOrganizationName = (name: string, attr: string): string =>
  parseName(name, NAME_LENGTH_MAX, attr)

/** Finds an organization by id; null if there is none. */
export function findOrganization(db: ControlDB, id: string): Organization | null {
  return db.select().from(organizations).where(eq(organizations.id, id)).get() ?? null
}

/** All organizations, oldest first. */
export function listOrganizations(db: ControlDB): readonly Organization[] {
  return db.select().from(organizations).orderBy(asc(organizations.created_at)).all()
}

/** A user's membership of an organization; null without one. */
export function findMembership(
  db: ControlDB,
  organization_id: string,
  user_id: number,
): Membership | null {
  return createLookups(db).membership.get({ organization_id, user_id }) ?? null
}

/** All memberships of a user. */
export function findMembershipsOf(db: ControlDB, user_id: number): readonly Membership[] {
  return db.select().from(memberships).where(eq(memberships.user_id, user_id)).all()
}

/** Renames an organization. Refuses a blank or too long name. */
export function renameOrganization(
  db: ControlDB,
  before: Organization,
  { user_id, name }: { readonly user_id: number; readonly name: string },
  now: Date,
): Organization {
  const after = { ...before, name: parseName(name, NAME_LENGTH_MAX) }
  const changes = changesBetween('Organization', { name: before.name }, { name: after.name })
  if (changes.length === 0) return before
  return db.transaction(
    (tx) => {
      const organization = tx
        .update(organizations)
        .set({ name: after.name, updated_at: now })
        .where(eq(organizations.id, before.id))
        .returning()
        .get()
      if (organization === undefined) throw new Refusal('not_found', 'Organization not found.')
      recordActivity(
        tx,
        {
          organization_id: before.id,
          project_id: null,
          user_id,
          scope: 'Organization',
          item_id: before.id,
          activity: 'updated',
          name: after.name,
          changes,
        },
        now,
      )
      return organization
    },
    { behavior: 'immediate' },
  )
}

/** Deletes an organization with its projects, and queues their data for removal. Returns the project ids. */
export function deleteOrganization(db: ControlDB, id: string, now: Date): readonly number[] {
  return db.transaction(
    (tx) => {
      const project_ids = tx
        .select({ id: projects.id })
        .from(projects)
        .where(eq(projects.organization_id, id))
        .all()
        .map((project) => project.id)
      tx.delete(organizations).where(eq(organizations.id, id)).run()
      listForRemoval(tx, project_ids, now)
      return project_ids
    },
    { behavior: 'immediate' },
  )
}

/** Number of members of an organization. */
export function countMembers(db: ControlDB, organization_id: string): number {
  const of_organization = eq(memberships.organization_id, organization_id)
  return (
    db.select({ members: count() }).from(memberships).where(of_organization).get()?.members ?? 0
  )
}

/** The owner of an organization, of several the one who joined first. Refuses an unknown organization. */
export function getOrganizationOwner(db: ControlDB, organization_id: string): number {
  const owner = db
    .select()
    .from(memberships)
    .where(and(eq(memberships.organization_id, organization_id), eq(memberships.level, OWNER)))
    .orderBy(asc(memberships.joined_at), asc(memberships.user_id))
    .limit(1)
    .get()
  if (owner !== undefined) return owner.user_id
  throw new Refusal('not_found', 'Organization not found.', { attr: 'organization' })
}

/** The name as a URL slug: `Acme, Inc.` → `acme-inc`, with the end of the id if another organization has that slug. */
function freeSlug(db: Pick<ControlDB, 'select'>, name: string, id: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  const slug = plain === '' ? id : plain
  const holder = db.select().from(organizations).where(eq(organizations.slug, slug)).get()
  return holder === undefined ? slug : `${slug}-${id.slice(-12)}`
}
