/** Prepared statements that every request of the management API runs: building one costs ten times its execution. */
import { and, eq, sql } from 'drizzle-orm'
import type { ControlDB } from '../storage/control/control-db.ts'
import { memberships, personal_api_keys, projects, sessions } from './tables.ts'

/** Statements by database. */
const cache = new WeakMap<ControlDB, Lookups>()

export type Lookups = ReturnType<typeof buildLookups>

/** The statements of a database. A transaction is another object, for which they are built again. */
export function createLookups(db: ControlDB): Lookups {
  const cached = cache.get(db)
  if (cached !== undefined) return cached
  const lookups = buildLookups(db)
  cache.set(db, lookups)
  return lookups
}

function buildLookups(db: ControlDB) {
  const { placeholder } = sql
  return {
    key: db
      .select()
      .from(personal_api_keys)
      .where(eq(personal_api_keys.key_hash, placeholder('key_hash')))
      .prepare(),
    membership: db
      .select()
      .from(memberships)
      .where(
        and(
          eq(memberships.organization_id, placeholder('organization_id')),
          eq(memberships.user_id, placeholder('user_id')),
        ),
      )
      .prepare(),
    project: db
      .select()
      .from(projects)
      .where(eq(projects.id, placeholder('id')))
      .prepare(),
    session: db
      .select()
      .from(sessions)
      .where(eq(sessions.token_hash, placeholder('token_hash')))
      .prepare(),
  }
}
