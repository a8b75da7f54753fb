/** Personal API keys: created, shown once, stored as a hash, and recognized by it. */
import { asc, eq } from 'drizzle-orm'
import { isStorageTrouble, Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { createLookups } from '../lookups.ts'
import { parseName } from '../names.ts'
import { findOrganization } from '../organization.ts'
import { parseScopes } from '../rights/scopes.ts'
import { findProject } from '../settings/project.ts'
import { personal_api_keys } from '../tables.ts'
import { equalHashes, hashKey, makePersonalKey, maskKey } from './secrets.ts'

export type ApiKey = typeof personal_api_keys.$inferSelect

export const LABEL_LENGTH_MAX = 40
const USED_STEP_MS = 60 * 60 * 1000

type ApiKeyRequest = {
  readonly user_id: number
  readonly label: string
  readonly scopes: readonly string[]
  /** The only organization that it reaches; null for all of the user's. */
  readonly organization_id: string | null
  /** The only project of that organization that it reaches; null for all. */
  readonly project_id: number | null
  /** A value preset by an unattended install; generated if missing. */
  readonly value?: string
}

/**
 * Creates a key; its `value` is returned here only.
 * Refuses unknown scopes, organizations and projects, and a project of another organization.
 */
export function createApiKey(
  db: ControlDB,
  request: ApiKeyRequest,
  now: Date,
): { readonly key: ApiKey; readonly value: string } {
  const scopes = parseScopes(request.scopes)
  const label = parseName(request.label, LABEL_LENGTH_MAX, 'label')
  requireReach(db, request)
  const value = request.value ?? makePersonalKey()
  const key = db
    .insert(personal_api_keys)
    .values({
      id: Bun.randomUUIDv7(),
      user_id: request.user_id,
      label,
      key_hash: hashKey(value),
      mask_value: maskKey(value),
      scopes,
      scoped_organizations: request.organization_id === null ? null : [request.organization_id],
      scoped_projects: request.project_id === null ? null : [request.project_id],
      created_at: now,
    })
    .returning()
    .get()
  return { key, value }
}

/** Finds the key with this value; null if it is unknown or expired. Records its use, at most once an hour. */
export function findApiKey(db: ControlDB, value: string, now: Date): ApiKey | null {
  const key_hash = hashKey(value)
  const key = createLookups(db).key.get({ key_hash })
  if (key === undefined || !equalHashes(key.key_hash, key_hash)) return null
  if (key.expires_at !== null && key.expires_at <= now) return null
  noteUse(db, key, now)
  return key
}

/** Records the use of a key. A full disk must not prevent reads: then the next use is recorded. */
function noteUse(db: ControlDB, { id, last_used_at }: ApiKey, now: Date): void {
  const used_ms = last_used_at?.getTime() ?? 0
  if (now.getTime() - used_ms < USED_STEP_MS) return
  try {
    db.update(personal_api_keys)
      .set({ last_used_at: now })
      .where(eq(personal_api_keys.id, id))
      .run()
  } catch (error) {
    if (!isStorageTrouble(error)) throw error
  }
}

/** All keys of all users, oldest first, without their hashes. */
export function listAllKeys(db: ControlDB): readonly Omit<ApiKey, 'key_hash'>[] {
  return db
    .select()
    .from(personal_api_keys)
    .orderBy(asc(personal_api_keys.created_at))
    .all()
    .map(({ key_hash: _hash, ...shown }) => shown)
}

/** Gives any key a new value, for the command line. Refuses an unknown one. */
export function rollKeyById(db: ControlDB, id: string, now: Date): string {
  const value = makePersonalKey()
  const changes = {
    key_hash: hashKey(value),
    mask_value: maskKey(value),
    last_rolled_at: now,
    last_used_at: null,
  }
  const its = eq(personal_api_keys.id, id)
  const [rolled] = db.update(personal_api_keys).set(changes).where(its).returning().all()
  if (rolled === undefined) throw new Refusal('not_found', 'There is no such key.')
  return value
}

/** Deletes any key, for the command line. Refuses an unknown one. */
export function revokeKeyById(db: ControlDB, id: string): void {
  const [gone] = db.delete(personal_api_keys).where(eq(personal_api_keys.id, id)).returning().all()
  if (gone === undefined) throw new Refusal('not_found', 'There is no such key.')
}

function requireReach(db: ControlDB, { organization_id, project_id }: ApiKeyRequest): void {
  if (organization_id !== null && findOrganization(db, organization_id) === null) {
    throw new Refusal('not_found', 'Organization not found.', { attr: 'organization' })
  }
  if (project_id === null) return
  if (findProject(db, project_id)?.organization_id !== organization_id) {
    throw new Refusal('not_found', 'Project not found.', { attr: 'project' })
  }
}
