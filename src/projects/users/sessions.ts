/** Sessions of browsers: made at login, found by a cookie's token, stored as its hash, listed and ended. */

import { and, asc, desc, eq, gt, lte, ne } from 'drizzle-orm'
import { isStorageTrouble, Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { DAY_MS } from '../../time.ts'
import { hashKey, makeSessionToken } from '../keys/secrets.ts'
import { createLookups } from '../lookups.ts'
import type { Caller } from '../rights/access.ts'
import { sessions } from '../tables.ts'

export type LoginSession = typeof sessions.$inferSelect

/** The time after its last use at which a session ends … */
const IDLE_MS = 14 * DAY_MS
/** … and the longest time after the login. */
export const SESSION_AGE_MAX_MS = 90 * DAY_MS
/** The shortest time between two recorded uses: a write per request would cost more than the request. */
const SEEN_STEP_MS = 60 * 60 * 1000
/** Sessions of one user; a login beyond them ends the oldest. */
const SESSIONS_MAX = 50
const USER_AGENT_LENGTH_MAX = 300

/** Starts a session; its token is returned only here. */
export function startSession(
  db: ControlDB,
  by: { readonly user_id: number; readonly user_agent: string; readonly ip: string },
  now: Date,
): { readonly session: LoginSession; readonly token: string } {
  const token = makeSessionToken()
  const values = {
    id: Bun.randomUUIDv7(),
    user_id: by.user_id,
    token_hash: hashKey(token),
    user_agent: by.user_agent.slice(0, USER_AGENT_LENGTH_MAX).toWellFormed().replaceAll('\0', ''),
    ip: by.ip,
    created_at: now,
    seen_at: now,
    expires_at: new Date(now.getTime() + IDLE_MS),
  }
  const session = db.transaction(
    (tx) => {
      tx.delete(sessions).where(lte(sessions.expires_at, now)).run()
      const oldest = tx
        .select({ id: sessions.id })
        .from(sessions)
        .where(eq(sessions.user_id, by.user_id))
        .orderBy(desc(sessions.created_at), desc(sessions.id))
        .limit(1)
        .offset(SESSIONS_MAX - 1)
        .get()
      if (oldest !== undefined) tx.delete(sessions).where(eq(sessions.id, oldest.id)).run()
      return tx.insert(sessions).values(values).returning().get()
    },
    { behavior: 'immediate' },
  )
  return { session, token }
}

/** Finds the session of a cookie's token; null if it is unknown or over. Records its use, at most once an hour. */
export function findSession(db: ControlDB, token: string, now: Date): LoginSession | null {
  const session = createLookups(db).session.get({ token_hash: hashKey(token) })
  if (session === undefined || session.expires_at <= now) return null
  noteSeen(db, session, now)
  return session
}

/** The caller of a session: its user, without the limits that a key may have. */
export function callerOfSession({ id, user_id }: LoginSession): Caller {
  // No end: a key that the user creates in the browser may outlive the session.
  const unlimited = { scoped_organizations: null, scoped_projects: null, expires_at: null }
  return { id, user_id, scopes: ['*'], ...unlimited }
}

/** A user's sessions that are not over, the last used first. */
export function listSessions(db: ControlDB, user_id: number, now: Date): readonly LoginSession[] {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.user_id, user_id), gt(sessions.expires_at, now)))
    .orderBy(desc(sessions.seen_at), asc(sessions.id))
    .all()
}

/** Ends one session of a user. Refuses an unknown one. */
export function endSession(db: ControlDB, user_id: number, id: string): void {
  const its = and(eq(sessions.id, id), eq(sessions.user_id, user_id))
  const [gone] = db.delete(sessions).where(its).returning().all()
  if (gone === undefined) throw new Refusal('not_found', 'Not found.')
}

/** Ends all sessions of a user, but the one with the id `except`. */
export function endSessionsOf(db: ControlDB, user_id: number, except: string | null): void {
  const others = except === null ? undefined : ne(sessions.id, except)
  db.delete(sessions)
    .where(and(eq(sessions.user_id, user_id), others))
    .run()
}

/** Records a use and moves the end. A full disk must not prevent reads: then the next use is recorded. */
function noteSeen(db: ControlDB, { id, seen_at, created_at }: LoginSession, now: Date): void {
  if (now.getTime() - seen_at.getTime() < SEEN_STEP_MS) return
  const end_ms = Math.min(now.getTime() + IDLE_MS, created_at.getTime() + SESSION_AGE_MAX_MS)
  const seen = { seen_at: now, expires_at: new Date(end_ms) }
  try {
    db.update(sessions).set(seen).where(eq(sessions.id, id)).run()
  } catch (error) {
    if (!isStorageTrouble(error)) throw error
  }
}
