/** Schemas of organizations, members and invites. */
import { t } from 'elysia'
import { Password } from '../browser/login.ts'
import { Moment, NullableText, pageOfItems, Uuid, Whole } from '../common.ts'
import { ProjectItem } from './project.ts'

/** An organization as one of its members sees it. */
export const OrganizationAnswer = t.Object({
  id: Uuid,
  name: t.String(),
  slug: t.String(),
  logo_media_id: t.Null(),
  created_at: Moment,
  updated_at: Moment,
  membership_level: Whole,
  /** Members configure plugins, and install none. */
  plugins_access_level: Whole,
  /** Nothing is sold here. */
  available_product_features: t.Array(t.Object({})),
  customer_id: t.Null(),
  is_member_join_email_enabled: t.Boolean(),
  metadata: t.Object({}),
  teams: t.Array(ProjectItem),
  projects: t.Array(ProjectItem),
  member_count: Whole,
})
export const OrganizationPage = pageOfItems(OrganizationAnswer)

/** Body of POST /api/organizations/. */
export const OrganizationBody = t.Object({ name: t.String() }, { additionalProperties: true })

/** Body of PATCH and PUT of one. */
export const OrganizationChange = t.Partial(OrganizationBody, { additionalProperties: true })

const LevelChoice = t.UnionEnum([1, 8, 15])

const MemberUser = t.Object({
  id: Whole,
  uuid: Uuid,
  distinct_id: t.String(),
  first_name: t.String(),
  last_name: t.String(),
  email: NullableText,
  /** Addresses are not verified. */
  is_email_verified: t.Null(),
  hedgehog_config: t.Null(),
})

export const MemberAnswer = t.Object({
  id: Uuid,
  user: MemberUser,
  level: Whole,
  joined_at: Moment,
  updated_at: Moment,
  /** There is no second factor and no other account to log in with; the time of a login is not stored. */
  is_2fa_enabled: t.Boolean(),
  has_social_auth: t.Boolean(),
  last_login: t.Null(),
})
export const MemberPage = pageOfItems(MemberAnswer)

/** Body of PATCH of a member. */
export const MemberChange = t.Object({ level: LevelChoice }, { additionalProperties: true })

const invite = {
  id: Uuid,
  target_email: NullableText,
  first_name: t.String(),
  level: Whole,
  created_at: Moment,
  updated_at: Moment,
  expires_at: Moment,
}

const InviteAnswer = t.Object(invite)
export const InvitePage = pageOfItems(InviteAnswer)

/** A new invite; its link is shown only once. */
export const NewInviteAnswer = t.Object({ ...invite, link: t.String() })

const EMAIL_LENGTH_MAX = 254
const Email = t.String({ format: 'email', maxLength: EMAIL_LENGTH_MAX })

/** Body of POST …/invites/. */
export const InviteBody = t.Object(
  {
    target_email: t.Optional(t.Nullable(Email)),
    first_name: t.Optional(t.String()),
    level: t.Optional(LevelChoice),
  },
  { additionalProperties: true },
)

/** Body of POST /api/signup/{token}/: a new user. Callers with a key or a session omit it. */
export const SignupBody = t.Object(
  { first_name: t.String(), email: Email, password: t.Optional(Password) },
  { additionalProperties: true },
)
