/** Schemas of logging in: the session, the first setup, links that set a password. */
import { t } from 'elysia'
import { Moment, NullableText, pageOfItems, Uuid, Whole } from '../common.ts'

const EMAIL_LENGTH_MAX = 254
const PASSWORD_LENGTH_MAX = 200
const CODE_LENGTH_MAX = 100
const NAME_LENGTH_MAX = 200

/** A password that is set; the room says which are too weak. */
export const Password = t.String({ maxLength: PASSWORD_LENGTH_MAX })
const Email = t.String({ format: 'email', maxLength: EMAIL_LENGTH_MAX })
const Code = t.String({ maxLength: CODE_LENGTH_MAX })
const Name = t.String({ maxLength: NAME_LENGTH_MAX })

/** Body of POST /api/login/. */
export const LoginBody = t.Object(
  { email: t.String({ maxLength: EMAIL_LENGTH_MAX }), password: Password },
  { additionalProperties: true },
)

/** Body of POST /api/setup/. */
export const SetupBody = t.Object(
  {
    code: Code,
    email: Email,
    password: Password,
    first_name: t.Optional(Name),
    organization_name: t.Optional(Name),
    timezone: t.Optional(Name),
  },
  { additionalProperties: true },
)

/** Body of POST /api/reset/. */
export const ResetBody = t.Object(
  { token: Code, password: Password },
  { additionalProperties: true },
)

/** Body of POST /api/users/@me/password/. */
export const PasswordBody = t.Object(
  { current_password: Password, password: Password },
  { additionalProperties: true },
)

const SessionUser = t.Object({
  uuid: Uuid,
  email: NullableText,
  first_name: t.String(),
  last_name: t.String(),
  /** The project that @current means. */
  current_project: t.Nullable(Whole),
})

const SessionOrganization = t.Object({ id: Uuid, name: t.String(), membership_level: Whole })

const SessionProject = t.Object({
  id: Whole,
  organization: Uuid,
  name: t.String(),
  api_token: t.String(),
  timezone: t.String(),
  week_start_day: t.Nullable(Whole),
  ingested_event: t.Boolean(),
  /** Resources of which the user is no editor: of an administrator none. */
  read_only: t.Array(t.String()),
})

/**
 * The first answer of every page. `setup`: no user has a password yet; `out`: the browser has no session;
 * `in`: with the user, and everything that the user can see.
 */
export const SessionAnswer = t.Object({
  state: t.UnionEnum(['setup', 'out', 'in']),
  user: t.Optional(SessionUser),
  organizations: t.Optional(t.Array(SessionOrganization)),
  projects: t.Optional(t.Array(SessionProject)),
})

/** One session in the list of a user's sessions. */
const SessionItem = t.Object({
  id: Uuid,
  is_current: t.Boolean(),
  user_agent: t.String(),
  ip: t.String(),
  created_at: Moment,
  seen_at: Moment,
  expires_at: Moment,
})
export const LoginSessionPage = pageOfItems(SessionItem)
