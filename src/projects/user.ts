/** Users: the people behind keys. The first one owns the instance. */
import { asc, eq } from 'drizzle-orm'
import type { ControlDB } from '../storage/control.ts'
import { users } from './tables.ts'

export type User = typeof users.$inferSelect

/** Finds a user by id; null when there is none. */
export function findUser(db: ControlDB, id: number): User | null {
  return db.select().from(users).where(eq(users.id, id)).get() ?? null
}

/** The owner of the instance: the first user, made when there is none yet. */
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
