/** Members of an organization with their levels, and invites by link. */
import { and, asc, count, eq, gt, gte, ne, type SQL } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { changesBetween, recordActivity } from '../activity.ts'
import { hashKey, makeInviteToken } from '../keys/secrets.ts'
import { parseName } from '../names.ts'
import { findMembership, type Membership } from '../organization.ts'
import { ADMIN, type MemberLevel, memberships, OWNER, timestamp, users } from '../tables.ts'
import type { User } from './user.ts'

const invites = sqliteTable('organization_invites', {
  id: text().primaryKey(),
  organization_id: text().notNull(),
  token_hash: text().notNull(),
  target_email: text(),
  first_name: text().notNull().default(''),
  level: integer().$type<MemberLevel>().notNull(),
  created_by: integer(),
  created_at: timestamp().notNull(),
  updated_at: timestamp().notNull(),
  expires_at: timestamp().notNull(),
})

export type Invite = typeof invites.$inferSelect
export type Member = { readonly membership: Membership; readonly user: User }

/** The user who makes a change, with a level that bounds the levels this user may give. */
type MemberActor = { readonly user_id: number; readonly level: MemberLevel }

const FIRST_NAME_LENGTH_MAX = 30
const INVITES_MAX = 1000
const VALID_MS = 3 * 24 * 60 * 60 * 1000
const TRANSACTION = { behavior: 'immediate' } as const

/** The members of an organization, by date of joining. */
export function listMembers(db: ControlDB, organization_id: string): readonly Member[] {
  return db
    .select({ membership: memberships, user: users })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(eq(memberships.organization_id, organization_id))
    .orderBy(asc(memberships.joined_at), asc(users.id))
    .all()
}

/** The member with a user's uuid. Refuses (`not_found`) a user outside of the organization. */
export function getMember(db: ControlDB, organization_id: string, uuid: string): Member {
  const its = and(
    eq(memberships.organization_id, organization_id),
    eq(users.uuid, uuid.toLowerCase()),
  )
  const member = db
    .select({ membership: memberships, user: users })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(its)
    .get()
  if (member === undefined) throw new Refusal('not_found', 'Not found.')
  return member
}

/** Changes a member's level. Takes an administrator, up to that one's level. The last owner stays owner. */
export function changeLevel(
  db: ControlDB,
  actor: MemberActor,
  { membership, user }: Member,
  { level, now }: { readonly level: MemberLevel; readonly now: Date },
): void {
  requirePower(actor, membership.level, level)
  if (user.id === actor.user_id) {
    throw new Refusal('permission_denied', "You can't change your own access level.")
  }
  db.transaction((tx) => {
    if (membership.level === OWNER && level !== OWNER) requireOtherOwner(tx, membership)
    if (level < membership.level) dropInvitesOf(tx, membership)
    tx.update(memberships).set({ level }).where(byMembership(membership)).run()
    note(tx, actor, { membership, user, activity: 'updated', after: { level } }, now)
  }, TRANSACTION)
}

/** Removes a member. Administrators may remove others, every member may leave. The last owner stays. */
export function removeMember(
  db: ControlDB,
  actor: MemberActor,
  { membership, user }: Member,
  now: Date,
): void {
  if (user.id !== actor.user_id) requirePower(actor, membership.level, membership.level)
  db.transaction((tx) => {
    if (membership.level === OWNER) requireOtherOwner(tx, membership)
    dropInvitesOf(tx, membership)
    tx.delete(memberships).where(byMembership(membership)).run()
    note(tx, actor, { membership, user, activity: 'deleted', after: null }, now)
  }, TRANSACTION)
}

/** Valid invites, newest last. */
export function listInvites(db: ControlDB, organization_id: string, now: Date): readonly Invite[] {
  return validInvites(db, eq(invites.organization_id, organization_id), now)
}

/** Invites that have not expired, and whose creators may still create them: an invite ends with its creator's right. */
function validInvites(db: ControlDB, filter: SQL, now: Date): readonly Invite[] {
  const by_maker = and(
    eq(memberships.organization_id, invites.organization_id),
    eq(memberships.user_id, invites.created_by),
    gte(memberships.level, invites.level),
    gte(memberships.level, ADMIN),
  )
  return db
    .select({ invite: invites })
    .from(invites)
    .innerJoin(memberships, by_maker)
    .where(and(filter, gt(invites.expires_at, now)))
    .orderBy(asc(invites.created_at))
    .all()
    .map(({ invite }) => invite)
}

/** Creates an invite: a user with its token may join, once, until it expires. The token is returned only here. */
export function createInvite(
  db: ControlDB,
  actor: MemberActor,
  draft: {
    readonly organization_id: string
    readonly target_email: string | null
    readonly first_name: string
    readonly level: MemberLevel
  },
  now: Date,
): { readonly invite: Invite; readonly token: string } {
  requirePower(actor, draft.level, draft.level)
  if (listInvites(db, draft.organization_id, now).length >= INVITES_MAX) {
    throw new Refusal('invalid_input', `There are ${INVITES_MAX} invites already.`)
  }
  const token = makeInviteToken()
  const invite = db
    .insert(invites)
    .values({
      ...draft,
      id: Bun.randomUUIDv7(),
      token_hash: hashKey(token),
      created_by: actor.user_id,
      created_at: now,
      updated_at: now,
      expires_at: new Date(now.getTime() + VALID_MS),
    })
    .returning()
    .get()
  return { invite, token }
}

/** Deletes an invite. Refuses one of another organization. */
export function deleteInvite(db: ControlDB, organization_id: string, id: string): void {
  const its = and(eq(invites.id, id), eq(invites.organization_id, organization_id))
  const [gone] = db.delete(invites).where(its).returning().all()
  if (gone === undefined) throw new Refusal('not_found', 'Not found.')
}

/** The invite of a link's token. Refuses one that was used, deleted or has expired. */
export function getInvite(db: ControlDB, token: string, now: Date): Invite {
  const [invite] = validInvites(db, eq(invites.token_hash, hashKey(token)), now)
  if (invite === undefined) throw new Refusal('not_found', 'The invite is no longer valid.')
  return invite
}

/** Deletes a member's invites, so that they are not valid again if the member returns. */
function dropInvitesOf(
  db: Pick<ControlDB, 'delete'>,
  { organization_id, user_id }: Membership,
): void {
  const its = and(eq(invites.organization_id, organization_id), eq(invites.created_by, user_id))
  db.delete(invites).where(its).run()
}

/** Adds a user to the organization and deletes the invite. Call it in the transaction that read the invite. */
export function acceptInvite(
  db: ControlDB,
  invite: Invite,
  user: Pick<User, 'email' | 'id'>,
  now: Date,
): void {
  const { organization_id, target_email, level } = invite
  if (target_email !== null && user.email?.toLowerCase() !== target_email.toLowerCase()) {
    const detail = 'This invite is intended for another email address.'
    throw new Refusal('invalid_input', detail, { attr: 'email' })
  }
  if (findMembership(db, organization_id, user.id) !== null) {
    throw new Refusal('invalid_input', 'You are already a member of this organization.')
  }
  addMember(db, { organization_id, level }, user, now)
  db.delete(invites).where(eq(invites.id, invite.id)).run()
}

/** Adds a user to an organization. Refuses an address that another member has. */
export function addMember(
  db: ControlDB,
  to: { readonly organization_id: string; readonly level: MemberLevel },
  user: Pick<User, 'email' | 'id'>,
  now: Date,
): void {
  requireOwnAddress(db, to.organization_id, user)
  db.insert(memberships)
    .values({ ...to, user_id: user.id, joined_at: now })
    .run()
}

/**
 * Refuses an address that another member has. Addresses are not verified: they only have to be unique among members.
 */
export function requireOwnAddress(
  db: ControlDB,
  organization_id: string,
  { id, email }: Pick<User, 'email' | 'id'>,
): void {
  if (email === null) return
  const other = and(
    eq(memberships.organization_id, organization_id),
    eq(users.email, email),
    ne(users.id, id),
  )
  const holder = db
    .select({ id: users.id })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(other)
    .get()
  if (holder === undefined) return
  const detail = 'There is already a member with this email address.'
  throw new Refusal('unique', detail, { attr: 'email' })
}

/** Parses a first name. */
export const parseFirstName = (name: string): string =>
  parseName(name, FIRST_NAME_LENGTH_MAX, 'first_name')

function requirePower({ level }: MemberActor, before: MemberLevel, after: MemberLevel): void {
  if (level >= ADMIN && level >= before && level >= after) return
  throw new Refusal('permission_denied', 'Your organization access level is insufficient.')
}

function requireOtherOwner(db: Pick<ControlDB, 'select'>, { organization_id }: Membership): void {
  const owners = and(eq(memberships.organization_id, organization_id), eq(memberships.level, OWNER))
  const owner_count =
    db.select({ members: count() }).from(memberships).where(owners).get()?.members ?? 0
  if (owner_count > 1) return
  throw new Refusal('invalid_input', 'An organization needs an owner.', { attr: 'level' })
}

function byMembership({ organization_id, user_id }: Membership) {
  return and(eq(memberships.organization_id, organization_id), eq(memberships.user_id, user_id))
}

function note(
  db: ControlDB,
  actor: MemberActor,
  what: Member & {
    readonly activity: 'deleted' | 'updated'
    readonly after: { readonly level: MemberLevel } | null
  },
  now: Date,
): void {
  const { membership, user, activity, after } = what
  const scope = 'OrganizationMembership'
  recordActivity(
    db,
    {
      organization_id: membership.organization_id,
      project_id: null,
      user_id: actor.user_id,
      scope,
      item_id: user.uuid,
      activity,
      name: user.first_name,
      changes: after === null ? [] : changesBetween(scope, { level: membership.level }, after),
    },
    now,
  )
}
