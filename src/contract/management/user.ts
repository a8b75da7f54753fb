/** Schemas of the user behind a key. */
import { t } from 'elysia'
import { Moment, NullableText, pageOfItems, Uuid, Whole } from '../common.ts'
import { OrganizationAnswer } from './organization.ts'
import { ProjectAnswer } from './project.ts'

export const UserAnswer = t.Object({
  id: Whole,
  uuid: Uuid,
  distinct_id: t.String(),
  email: NullableText,
  first_name: t.String(),
  last_name: t.String(),
  date_joined: Moment,
  /** Addresses are not verified. */
  is_email_verified: t.Null(),
  has_password: t.Boolean(),
  is_staff: t.Boolean(),
  notification_settings: t.Object({}),
  theme_mode: t.Null(),
  organization: t.Nullable(OrganizationAnswer),
  organizations: t.Array(t.Object({ id: Uuid, name: t.String(), slug: t.String() })),
  team: t.Nullable(ProjectAnswer),
})

/** The caller, as the only user in a list: others are listed as members of organizations. */
export const UserPage = pageOfItems(UserAnswer)

/** Body of PATCH /api/users/@me/. */
export const UserChange = t.Partial(
  t.Object({
    first_name: t.String(),
    last_name: t.String({ maxLength: 150 }),
    set_current_organization: t.String(),
    set_current_team: Whole,
  }),
  { additionalProperties: true },
)
