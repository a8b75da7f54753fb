/** Operations of users on their personal API keys: list, create, change, roll and revoke. */
import { and, asc, count, eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { changesBetween, recordActivity } from '../activity.ts'
import { parseName } from '../names.ts'
import { findMembershipsOf } from '../organization.ts'
import { type Caller, listVisibleOrganizations, listVisibleProjects } from '../rights/access.ts'
import { allows, parseScopes, type Scopes } from '../rights/scopes.ts'
import { personal_api_keys } from '../tables.ts'
import { type ApiKey, LABEL_LENGTH_MAX } from './api-key.ts'
import { hashKey, makePersonalKey, maskKey } from './secrets.ts'

const KEYS_MAX = 10

/** The editable fields of a key. A missing field keeps its value; in a new key it means no limit. */
export type KeyFields = {
  readonly label?: string
  readonly scopes?: readonly string[]
  readonly scoped_organizations?: readonly string[] | null
  readonly scoped_projects?: readonly number[] | null
  readonly expires_at?: Date | null
}

/** A key with its value, which is shown only once. */
export type NewApiKey = { readonly key: ApiKey; readonly value: string }

/** The keys of the caller's user that have no more rights than the caller's key, oldest first. */
export function listApiKeys(db: ControlDB, caller: Caller): readonly ApiKey[] {
  return db
    .select()
    .from(personal_api_keys)
    .where(eq(personal_api_keys.user_id, caller.user_id))
    .orderBy(asc(personal_api_keys.created_at), asc(personal_api_keys.id))
    .all()
    .filter((key) => isWithin(caller, key))
}

/** A key of the caller's user; `@current` is the caller's key. Refuses keys of others, and keys with more rights. */
export function getApiKey(db: ControlDB, caller: Caller, id: string): ApiKey {
  const by_id = and(
    eq(personal_api_keys.id, id === '@current' ? caller.id : id),
    eq(personal_api_keys.user_id, caller.user_id),
  )
  const key = db.select().from(personal_api_keys).where(by_id).get()
  if (key === undefined) throw new Refusal('not_found', 'Not found.')
  if (isWithin(caller, key)) return key
  throw new Refusal('permission_denied', 'This key has more rights than the caller has.')
}

/** Whether a key has no right beyond the caller's key. */
function isWithin(caller: Caller, key: ApiKey): boolean {
  return (
    key.scopes.every((scope) => hasScope(caller, scope)) &&
    isLimitWithin(key.scoped_organizations, caller.scoped_organizations) &&
    isLimitWithin(key.scoped_projects, caller.scoped_projects)
  )
}

/** Whether a limit is contained in another; null is no limit. */
function isLimitWithin<T>(limit: readonly T[] | null, whole: readonly T[] | null): boolean {
  return whole === null || (limit?.every((item) => whole.includes(item)) ?? false)
}

const hasScope = (caller: Caller, scope: Scopes[number]): boolean =>
  scope === '*' ? caller.scopes.includes('*') : allows(caller.scopes, scope)

/** Creates a key with no right beyond the caller's key. */
export function addApiKey(db: ControlDB, caller: Caller, fields: KeyFields, now: Date): NewApiKey {
  const value = makePersonalKey()
  const columns = {
    label: parseName(fields.label ?? '', LABEL_LENGTH_MAX, 'label'),
    ...parseReach(db, caller, {
      scopes: fields.scopes ?? [],
      scoped_organizations: fields.scoped_organizations ?? null,
      scoped_projects: fields.scoped_projects ?? null,
    }),
    expires_at: parseExpiry(caller, fields.expires_at ?? null, now),
  }
  const key = db.transaction(
    (tx) => {
      requireRoom(tx, caller.user_id)
      const inserted = tx
        .insert(personal_api_keys)
        .values({
          id: Bun.randomUUIDv7(),
          user_id: caller.user_id,
          key_hash: hashKey(value),
          mask_value: maskKey(value),
          created_at: now,
          ...columns,
        })
        .returning()
        .get()
      addActivity(tx, caller, { before: null, after: inserted }, now)
      return inserted
    },
    { behavior: 'immediate' },
  )
  return { key, value }
}

/** Changes a key. Refuses rights beyond the caller's key. */
export function changeApiKey(
  db: ControlDB,
  caller: Caller,
  before: ApiKey,
  { fields, now }: { readonly fields: KeyFields; readonly now: Date },
): ApiKey {
  const { label, expires_at, scopes, scoped_organizations, scoped_projects } = fields
  const reach = {
    ...before,
    ...withoutUndefined({ scopes, scoped_organizations, scoped_projects }),
  }
  requireNoLater(caller, before.expires_at)
  const changes = {
    ...(label === undefined ? {} : { label: parseName(label, LABEL_LENGTH_MAX, 'label') }),
    ...(expires_at === undefined ? {} : { expires_at: parseExpiry(caller, expires_at, now) }),
    ...parseReach(db, caller, reach),
  }
  return updateKey(db, caller, { before, changes }, now)
}

/** Gives a key a new value; the old one is invalid from the commit on. */
export function rollApiKey(db: ControlDB, caller: Caller, before: ApiKey, now: Date): NewApiKey {
  // A caller with fewer rights than the key must not get its value.
  parseReach(db, caller, before)
  requireNoLater(caller, before.expires_at)
  const value = makePersonalKey()
  const changes = {
    key_hash: hashKey(value),
    mask_value: maskKey(value),
    last_rolled_at: now,
    last_used_at: null,
  }
  return { key: updateKey(db, caller, { before, changes }, now), value }
}

/** Deletes a key. */
export function revokeApiKey(db: ControlDB, caller: Caller, key: ApiKey, now: Date): void {
  db.transaction(
    (tx) => {
      addActivity(tx, caller, { before: key, after: null }, now)
      tx.delete(personal_api_keys).where(eq(personal_api_keys.id, key.id)).run()
    },
    { behavior: 'immediate' },
  )
}

/** Writes changes of a key with their entry in the activity log, in one transaction. */
function updateKey(
  db: ControlDB,
  caller: Caller,
  { before, changes }: { readonly before: ApiKey; readonly changes: Partial<ApiKey> },
  now: Date,
): ApiKey {
  return db.transaction(
    (tx) => {
      const after = tx
        .update(personal_api_keys)
        .set(changes)
        .where(eq(personal_api_keys.id, before.id))
        .returning()
        .get()
      if (after === undefined) throw new Refusal('not_found', 'Not found.')
      addActivity(tx, caller, { before, after }, now)
      return after
    },
    { behavior: 'immediate' },
  )
}

type Reach = {
  readonly scopes: readonly string[]
  readonly scoped_organizations: readonly string[] | null
  readonly scoped_projects: readonly number[] | null
}

/** Parses scopes and limits. Refuses unknown ones, and rights beyond the caller's key. */
function parseReach(db: ControlDB, caller: Caller, reach: Reach) {
  const scopes = parseScopes(reach.scopes)
  requireScopesOf(caller, scopes)
  const organizations = reach.scoped_organizations?.length ? reach.scoped_organizations : null
  const projects = reach.scoped_projects?.length ? reach.scoped_projects : null
  const visible = new Set(listVisibleOrganizations(db, caller).map(({ item }) => item.id))
  const unknown_organization = organizations?.find((id) => !visible.has(id))
  if (unknown_organization !== undefined) {
    const shown = unknown_organization.slice(0, 100)
    throw new Refusal('does_not_exist', `There is no organization ${shown}.`, {
      attr: 'scoped_organizations',
    })
  }
  const ids = new Set(listVisibleProjects(db, caller).map(({ id }) => id))
  const unknown_project = projects?.find((id) => !ids.has(id))
  if (unknown_project !== undefined) {
    const detail = `There is no project ${unknown_project}.`
    throw new Refusal('does_not_exist', detail, { attr: 'scoped_teams' })
  }
  if (caller.scoped_organizations !== null && organizations === null)
    throw refuseBeyond('organizations')
  if (caller.scoped_projects !== null && projects === null) throw refuseBeyond('projects')
  return { scopes, scoped_organizations: organizations, scoped_projects: projects }
}

function requireScopesOf(caller: Caller, scopes: Scopes): void {
  const missing = scopes.find((scope) => !hasScope(caller, scope))
  if (missing !== undefined) throw refuseBeyond(`scope '${missing}'`)
}

function refuseBeyond(what: string): Refusal {
  return new Refusal('permission_denied', `A key cannot grant more than it has: ${what}.`)
}

function parseExpiry(caller: Caller, expires_at: Date | null, now: Date): Date | null {
  if (expires_at !== null && expires_at <= now) {
    throw new Refusal('invalid_input', 'A key cannot end in the past.', { attr: 'expires_at' })
  }
  requireNoLater(caller, expires_at)
  return expires_at
}

/** Refuses an expiry (null: never) after that of the caller's key. */
function requireNoLater({ expires_at: caller_end }: Caller, expires_at: Date | null): void {
  if (caller_end !== null && (expires_at === null || expires_at > caller_end))
    throw refuseBeyond('time')
}

function requireRoom(db: Pick<ControlDB, 'select'>, user_id: number): void {
  const keys =
    db
      .select({ keys: count() })
      .from(personal_api_keys)
      .where(eq(personal_api_keys.user_id, user_id))
      .get()?.keys ?? 0
  if (keys < KEYS_MAX) return
  const detail = `You can only have ${KEYS_MAX} personal API keys. Remove an existing key before creating a new one.`
  throw new Refusal('invalid_input', detail)
}

/** Adds an entry to the activity log of every organization of the user, without the key's hash. */
function addActivity(
  db: ControlDB,
  { user_id }: Caller,
  { before, after }: { readonly before: ApiKey | null; readonly after: ApiKey | null },
  now: Date,
): void {
  const key = after ?? before
  if (key === null) return
  const activity = before === null ? 'created' : after === null ? 'deleted' : 'updated'
  const changes =
    before === null || after === null
      ? []
      : changesBetween('PersonalAPIKey', publicOf(before), publicOf(after))
  for (const { organization_id } of findMembershipsOf(db, user_id)) {
    recordActivity(
      db,
      {
        organization_id,
        project_id: null,
        user_id,
        scope: 'PersonalAPIKey',
        item_id: key.id,
        activity,
        name: key.label,
        changes,
      },
      now,
    )
  }
}

function publicOf({ label, mask_value, scopes, ...rest }: ApiKey) {
  const { scoped_organizations, scoped_projects, expires_at } = rest
  return { label, mask_value, scopes, scoped_organizations, scoped_projects, expires_at }
}

/** Removes undefined members. */
function withoutUndefined<T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
