/** Signup by an invite's link: its holder joins with a key or a session, or as a new user with a password or a key. */
import { SignupBody } from '../../contract/management/organization.ts'
import { Refusal } from '../../errors.ts'
import { createApiKey } from '../../projects/keys/api-key.ts'
import { findOrganization } from '../../projects/organization.ts'
import {
  type Caller,
  type ControlDB,
  requireScope,
  requireWholeUser,
} from '../../projects/rights/access.ts'
import {
  acceptInvite,
  getInvite,
  type Invite,
  parseFirstName,
} from '../../projects/users/members.ts'
import { hashPassword, storePassword } from '../../projects/users/passwords.ts'
import { createUser, findUser, type User } from '../../projects/users/user.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { readBody } from '../bodies/body.ts'
import { validatorOf } from '../bodies/shape.ts'
import { findSessionOf, isFromBrowser } from '../browser/session-cookie.ts'
import { beginSession } from '../browser/session-start.ts'
import { requestIp } from '../callers/client-ip.ts'
import type { Endpoint, PathParams } from '../endpoint.ts'
import { bearerOf, getRequestCaller } from '../route.ts'

const BODY = validatorOf(SignupBody)
type EndpointCall = Parameters<Endpoint['answer']>

const PATH = '/api/signup/:token/'

/** Creates the endpoints of a link; the link itself is the credential. */
export function signupEndpoints(app: AppContext): readonly Endpoint[] {
  return [
    { method: 'GET', path: PATH, answer: (...requested) => answerInvite(app, requested) },
    { method: 'POST', path: PATH, answer: (...requested) => join(app, requested) },
  ]
}

/** Answers with the invite: the organization, the level, the invited address. */
function answerInvite(app: AppContext, requested: EndpointCall): Response {
  const invite = requireInvite(app, requested)
  const { target_email, first_name, level, expires_at } = invite
  const organization = organizationOf(app.control, invite)
  return answerJson({ organization, target_email, first_name, level, expires_at })
}

async function join(app: AppContext, requested: EndpointCall): Promise<Response> {
  const [request, params, socket] = requested
  // The invite is checked before the body is read, so that a bad link costs no more.
  const { created_by } = requireInvite(app, requested)
  const now = app.now()
  const is_known = bearerOf(request) !== null || findSessionOf(app, request) !== null
  const caller = is_known ? getRequestCaller(app, request, socket) : null
  const stored = caller === null ? null : joiner(app, caller)
  const body = stored === null ? await readNewcomer(app, request, created_by) : null
  const joined = app.control.transaction(
    (tx) => {
      const invite = inviteOf(app, tx, params)
      const user = stored ?? newUser(tx, body, now)
      acceptInvite(tx, invite, user, now)
      if (body !== null && body.hash !== null) {
        storePassword(tx, { user_id: user.id, email: body.email, hash: body.hash }, now)
      }
      const personal_api_key = body?.hash === null ? newKey(tx, user, now) : null
      return { user, organization: organizationOf(tx, invite), personal_api_key }
    },
    { behavior: 'immediate' },
  )
  const { id, uuid, email, first_name } = joined.user
  const begins = body !== null && body.hash !== null && isFromBrowser(request)
  const ip = requestIp(app, request, socket)
  const headers = begins ? beginSession(app, request, { user_id: id, ip }).headers : {}
  return answerJson({ ...joined, user: { uuid, email, first_name } }, 201, headers)
}

/** Reads the body of a new user, with the password's hash; null for one who gets a key instead. */
async function readNewcomer(
  app: AppContext,
  request: Request,
  inviter: number | null,
): Promise<Newcomer> {
  const { first_name, email, password } = await readBody(app.bodies, request, BODY)
  const owner = `invites of user ${inviter}`
  const hash = password === undefined ? null : await hashPassword(password, email, owner)
  return { first_name, email, hash }
}

type Newcomer = {
  readonly first_name: string
  readonly email: string
  readonly hash: string | null
}

/** The user who joins by a key; null for a new user. Refuses keys limited to organizations or projects. */
function joiner(app: AppContext, caller: Caller): User | null {
  requireScope(caller, 'user:write')
  requireWholeUser(caller)
  return findUser(app.control, caller.user_id)
}

function newUser(
  db: ControlDB,
  body: { readonly first_name: string; readonly email: string } | null,
  now: Date,
): User {
  if (body === null) throw new Refusal('required', 'This field is required.', { attr: 'email' })
  const first_name = parseFirstName(body.first_name)
  return createUser(db, { email: body.email, first_name }, now)
}

/** Creates a new user's first key, which is shown only once; without a key they could do nothing. */
function newKey(db: ControlDB, { id }: User, now: Date): string {
  const wanted = {
    user_id: id,
    label: 'First key',
    scopes: ['*'],
    organization_id: null,
    project_id: null,
  }
  return createApiKey(db, wanted, now).value
}

/** Returns the invite of the link. Refuses an unknown link, and too many unknown ones. */
function requireInvite(app: AppContext, [request, params, socket]: EndpointCall): Invite {
  const look = (): Invite => inviteOf(app, app.control, params)
  return app.failed_keys.guard(request, socket, look)
}

function inviteOf(app: AppContext, db: ControlDB, params: PathParams): Invite {
  return getInvite(db, params['token'] ?? '', app.now())
}

function organizationOf(db: ControlDB, { organization_id }: Invite): object | null {
  const organization = findOrganization(db, organization_id)
  return organization && { id: organization.id, name: organization.name }
}
