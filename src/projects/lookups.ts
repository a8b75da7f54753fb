/**
 * Reads the rows that every request of the management API needs: its key, project, membership or session. The statements
 * are built once, and found rows are kept until something is written to control.db. Reading a project, with its 50 columns,
 * and a key took a quarter of the main thread's time for an answer from the cache.
 */
import type { Database } from 'bun:sqlite'
import { and, eq, sql } from 'drizzle-orm'
import { ClockCache } from '../storage/clock-cache.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { memberships, personal_api_keys, projects, sessions } from './tables.ts'

/** Statements by database. */
const cache = new WeakMap<ControlDB, Lookups>()

export type Lookups = ReturnType<typeof buildLookups>

/** Rows that are kept, of all lookups of a kind. */
const ROWS_MAX = 1000

type Lookup<Row> = { get(values: Record<string, unknown>): Row | undefined }

/** Returns the lookups of a database. A transaction is another object, for which they are built again. */
export function createLookups(db: ControlDB): Lookups {
  const cached = cache.get(db)
  if (cached !== undefined) return cached
  const lookups = buildLookups(db)
  cache.set(db, lookups)
  return lookups
}

function buildLookups(db: ControlDB) {
  const { placeholder } = sql
  const changes = findChanges(db)
  return {
    key: keepRows(
      changes,
      db
        .select()
        .from(personal_api_keys)
        .where(eq(personal_api_keys.key_hash, placeholder('key_hash')))
        .prepare(),
    ),
    membership: keepRows(
      changes,
      db
        .select()
        .from(memberships)
        .where(
          and(
            eq(memberships.organization_id, placeholder('organization_id')),
            eq(memberships.user_id, placeholder('user_id')),
          ),
        )
        .prepare(),
    ),
    project: keepRows(
      changes,
      db
        .select()
        .from(projects)
        .where(eq(projects.id, placeholder('id')))
        .prepare(),
    ),
    session: keepRows(
      changes,
      db
        .select()
        .from(sessions)
        .where(eq(sessions.token_hash, placeholder('token_hash')))
        .prepare(),
    ),
  }
}

/** Returns a lookup that reads each row once until something changes. Callers do not change the rows. */
function keepRows<Row>(changes: DatabaseChanges | null, statement: Lookup<Row>): Lookup<Row> {
  if (changes === null) return statement
  const rows = new ClockCache<Row>(ROWS_MAX)
  let version = ''
  return {
    get(values) {
      const now = changes.version()
      // A transaction's writes may be rolled back.
      if (now === null) return statement.get(values)
      if (now !== version) rows.clear()
      version = now
      const key = JSON.stringify(values)
      const kept = rows.get(key)
      if (kept !== undefined) return kept
      const row = statement.get(values)
      if (row !== undefined) rows.set(key, row)
      return row
    },
  }
}

/** Tells whether a database has changed: by this connection, or by another one before this turn of the event loop. */
class DatabaseChanges {
  readonly #client: Database
  readonly #own
  readonly #others
  /** Read once in a turn of the event loop: it takes 2 µs, a read transaction. Null before the first use in a turn. */
  #others_version: number | null = null

  constructor(client: Database) {
    this.#client = client
    this.#own = client.prepare<{ count: number }, []>('select total_changes() as count')
    this.#others = client.prepare<{ data_version: number }, []>('pragma data_version')
  }

  /** The same text as long as nothing was written; null within a transaction. */
  version(): string | null {
    if (this.#client.inTransaction) return null
    if (this.#others_version === null) {
      this.#others_version = this.#others.get()?.data_version ?? 0
      setImmediate(() => {
        this.#others_version = null
      })
    }
    return `${this.#own.get()?.count} ${this.#others_version}`
  }
}

/** Null for a transaction, whose lookups end with it. */
function findChanges(db: ControlDB): DatabaseChanges | null {
  return '$client' in db ? new DatabaseChanges(db.$client as Database) : null
}
