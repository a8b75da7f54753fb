/** Signed tokens with which a page may follow a project's live events for seven days. */
import { createHmac, randomBytes } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { ControlDB } from '../../storage/control/control-db.ts'
import type { Project } from '../settings/project.ts'

const instance_secrets = sqliteTable('instance_secrets', {
  name: text().primaryKey(),
  value: text().notNull(),
})

const AUDIENCE = 'posthog:livestream'
const SECRET_NAME = 'live_events'
const SECRET_BYTES = 32
const VALID_S = 7 * 24 * 60 * 60
const HEADER = encode({ alg: 'HS256', typ: 'JWT' })

/** The payload of a token. */
type LiveClaims = {
  readonly team_id: number
  readonly api_token: string
  readonly aud: string
  /** Seconds since 1970 UTC. */
  readonly exp: number
}

/** Signs a token for a project: a JWT (RFC 7519, HS256). */
export function makeLiveToken(
  db: ControlDB,
  project: Pick<Project, 'api_token' | 'id'>,
  now: Date,
): string {
  const claims: LiveClaims = {
    team_id: project.id,
    api_token: project.api_token,
    aud: AUDIENCE,
    exp: Math.floor(now.getTime() / 1000) + VALID_S,
  }
  const signed = `${HEADER}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secretOf(db)).update(signed).digest('base64url')}`
}

function secretOf(db: ControlDB): string {
  const stored = db
    .select()
    .from(instance_secrets)
    .where(eq(instance_secrets.name, SECRET_NAME))
    .get()
  if (stored !== undefined) return stored.value
  const value = randomBytes(SECRET_BYTES).toString('base64url')
  // Two processes may generate one at once: both use the stored one.
  db.insert(instance_secrets).values({ name: SECRET_NAME, value }).onConflictDoNothing().run()
  return secretOf(db)
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
