/** The look-ups that every request of the management API makes, built once: building one costs ten times its run. */
import { and, eq, sql } from 'drizzle-orm'
import type { ControlDB } from '../storage/control/control-db.ts'
import { memberships, personal_api_keys, projects } from './tables.ts'

// A statement is a constant of its database, so remembering it changes no answer.
const known = new WeakMap<ControlDB, Lookups>()

export type Lookups = ReturnType<typeof buildLookups>

/** The look-ups of a database; of a transaction's too, where they are built again. */
export function createLookups(db: ControlDB): Lookups {
  const found = known.get(db)
  if (found !== undefined) return found
  const built = buildLookups(db)
  known.set(db, built)
  return built
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
  }
}
