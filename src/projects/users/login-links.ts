/** Login links: a secret that lets its holder set a user's password, once; and the code of the first setup. */

import { eq, lte } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { HOUR_MS } from '../../time.ts'
import { hashKey, makeInviteToken, makeSetupCode } from '../keys/secrets.ts'
import { login_links } from '../tables.ts'
import { hasPasswords } from './passwords.ts'
import { ensureOwner } from './user.ts'

const LINK_VALID_MS = HOUR_MS
const SETUP_VALID_MS = 24 * HOUR_MS

/** Makes a link for a user, valid for an hour; the user's earlier links end. The token is returned only here. */
export function makeLoginLink(db: ControlDB, user_id: number, now: Date): string {
  const token = makeInviteToken()
  storeLink(db, { user_id, token, valid_ms: LINK_VALID_MS }, now)
  return token
}

/**
 * Makes the code with which the owner sets the first password, valid for a day: `K7QP-2MXT-9RWD`. Null if anybody has a
 * password. The owner's earlier codes end.
 */
export function makeOwnerCode(db: ControlDB, now: Date): string | null {
  return db.transaction(
    (tx) => {
      if (hasPasswords(tx)) return null
      const code = makeSetupCode()
      const link = {
        user_id: ensureOwner(tx, now).id,
        token: readCode(code),
        valid_ms: SETUP_VALID_MS,
      }
      storeLink(tx, link, now)
      return code
    },
    { behavior: 'immediate' },
  )
}

/** A typed code as it is stored: people type it with small letters, blanks, and letters for digits. */
export function readCode(code: string): string {
  return code
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')
}

/** The user of a link. Refuses (`not_found`) one that was used, replaced or has expired; `attr` is the refused field. */
export function getLinkUser(db: ControlDB, token: string, attr: string, now: Date): number {
  const its = eq(login_links.token_hash, hashKey(token))
  const link = db.select().from(login_links).where(its).get()
  if (link !== undefined && link.expires_at > now) return link.user_id
  const detail = 'This is no longer valid, or never was.'
  throw new Refusal('not_found', detail, { attr })
}

/** Ends all links of a user, as one was used. Call it in the transaction that found the user by it. */
export function endLinksOf(db: ControlDB, user_id: number): void {
  db.delete(login_links).where(eq(login_links.user_id, user_id)).run()
}

function storeLink(
  db: ControlDB,
  {
    user_id,
    token,
    valid_ms,
  }: { readonly user_id: number; readonly token: string; readonly valid_ms: number },
  now: Date,
): void {
  endLinksOf(db, user_id)
  db.delete(login_links).where(lte(login_links.expires_at, now)).run()
  const expires_at = new Date(now.getTime() + valid_ms)
  const values = { token_hash: hashKey(token), user_id, created_at: now, expires_at }
  db.insert(login_links).values(values).run()
}
