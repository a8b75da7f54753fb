/** Users, who own keys and are members of organizations. The first one owns the instance. */
import { asc, eq } from 'drizzle-orm'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { users } from '../tables.ts'

export type User = typeof users.$inferSelect

/** Finds a user by id; null if there is none. */
export function findUser(db: ControlDB, id: number): User | null {
  return db.select().from(users).where(eq(users.id, id)).get() ?? null
}

/** The owner of the instance: the first user, created if there is none. */
export function ensureOwner(db: ControlDB, now: Date): User {
  const first = db.select().from(users).orderBy(asc(users.id)).limit(1).get()
  if (first !== undefined) return first
  const uuid = Bun.randomUUIDv7()
  return db
    .insert(users)
    .values({ uuid, distinct_id: uuid, first_name: 'Owner', created_at: now })
    .returning()
    .get()
}

/** Makes a project and its organization the user's `@current` ones. */
export function chooseProject(
  db: Pick<ControlDB, 'update'>,
  user_id: number,
  project: { readonly id: number; readonly organization_id: string },
): void {
  db.update(users)
    .set({ current_project_id: project.id, current_organization_id: project.organization_id })
    .where(eq(users.id, user_id))
    .run()
}

/** Makes an organization the user's `@current` one, with the first of its projects that the user can see. */
export function chooseOrganization(
  db: Pick<ControlDB, 'update'>,
  user_id: number,
  organization: { readonly id: string; readonly first_project_id: number | null },
): void {
  db.update(users)
    .set({
      current_organization_id: organization.id,
      current_project_id: organization.first_project_id,
    })
    .where(eq(users.id, user_id))
    .run()
}

/** Finds a user by uuid; null if there is none. */
export function findUserByUuid(db: ControlDB, uuid: string): User | null {
  return db.select().from(users).where(eq(users.uuid, uuid)).get() ?? null
}

/** Creates a user. Addresses are not verified: two users may have the same one, which gives neither a right. */
export function createUser(
  db: ControlDB,
  draft: { readonly email: string; readonly first_name: string },
  now: Date,
): User {
  const email = draft.email.toLowerCase()
  const uuid = Bun.randomUUIDv7()
  return db
    .insert(users)
    .values({ uuid, distinct_id: uuid, email, first_name: draft.first_name, created_at: now })
    .returning()
    .get()
}

/** Renames a user. */
export function renameUser(
  db: Pick<ControlDB, 'update'>,
  id: number,
  names: { readonly first_name?: string; readonly last_name?: string },
): void {
  if (Object.keys(names).length > 0) db.update(users).set(names).where(eq(users.id, id)).run()
}

/** Changes a user's address, which is kept in small letters. */
export function changeEmail(db: Pick<ControlDB, 'update'>, id: number, email: string): void {
  db.update(users).set({ email: email.toLowerCase() }).where(eq(users.id, id)).run()
}

/** Every user, oldest first. */
export function listUsers(db: ControlDB): readonly User[] {
  return db.select().from(users).orderBy(asc(users.id)).all()
}

/** The users with an address, oldest first. */
export function findUsersByEmail(db: ControlDB, email: string): readonly User[] {
  const its = eq(users.email, email.toLowerCase())
  return db.select().from(users).where(its).orderBy(asc(users.id)).all()
}
