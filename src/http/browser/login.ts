/** Logging in and out, the first setup, links that set a password: the calls of a browser without a session. */
import type { Static, TSchema } from 'elysia'
import { LoginBody, ResetBody, SetupBody } from '../../contract/browser/login.ts'
import { Refusal } from '../../errors.ts'
import { getOwnerByCode, setUpOwner } from '../../projects/bootstrap.ts'
import { parseOrganizationName } from '../../projects/organization.ts'
import { endLinksOf, getLinkUser } from '../../projects/users/login-links.ts'
import { parseFirstName } from '../../projects/users/members.ts'
import {
  findLoginUser,
  findUserByPassword,
  hashPassword,
  storePassword,
} from '../../projects/users/passwords.ts'
import { endSession, endSessionsOf } from '../../projects/users/sessions.ts'
import { findUser } from '../../projects/users/user.ts'
import { answerNothing } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { readBody } from '../bodies/body.ts'
import { type Validator, validatorOf } from '../bodies/shape.ts'
import { requestIp } from '../callers/client-ip.ts'
import type { ClientSocket, Endpoint } from '../endpoint.ts'
import { requireKnownType } from '../route.ts'
import { findSessionOf, isFromBrowser, noSessionCookie } from './session-cookie.ts'
import { answerLogin, answerSession, sessionIpsOf } from './session-start.ts'

/** A call of a browser, after its header and before its body is read. */
type BrowserCall = {
  readonly request: Request
  readonly socket: ClientSocket
  /** The client's address; '' without a socket. */
  readonly ip: string
}

type AnswerBrowser = (app: AppContext, call: BrowserCall) => Response | Promise<Response>

const LOGIN = validatorOf(LoginBody)
const SETUP = validatorOf(SetupBody)
const RESET = validatorOf(ResetBody)

/** Every endpoint that takes no session. Adding one means adding a line. */
const ENDPOINTS: readonly (readonly ['GET' | 'POST', path: string, AnswerBrowser])[] = [
  ['GET', '/api/session/', (app, { request }) => answerSession(app, findSessionOf(app, request))],
  ['POST', '/api/setup/', setUp],
  ['POST', '/api/login/', logIn],
  ['POST', '/api/logout/', logOut],
  ['POST', '/api/reset/', reset],
]

/** Creates the endpoints. All that change something are refused without the header of our own pages. */
export function loginEndpoints(app: AppContext): readonly Endpoint[] {
  return ENDPOINTS.map(([method, path, answer]) => ({
    method,
    path,
    answer: (request, _params, socket) => {
      if (method === 'POST') requireBrowser(request)
      return answer(app, { request, socket, ip: requestIp(app, request, socket) })
    },
  }))
}

/** Refuses calls that another site's page could have sent: they would log a visitor in as another user, or out. */
function requireBrowser(request: Request): void {
  if (isFromBrowser(request)) return
  throw new Refusal('permission_denied', 'Send the header X-Tidemark: 1.')
}

/** Sets the owner's password by the printed code, and logs in. */
async function setUp(app: AppContext, { request, socket, ip }: BrowserCall): Promise<Response> {
  const body = await readBrowserBody(app, request, SETUP)
  const { code, email, password, ...more } = body
  app.failed_keys.guard(request, socket, () => getOwnerByCode(app.control, code, app.now()))
  const { first_name, organization_name, timezone } = more
  const setup = {
    code,
    email,
    ...(first_name === undefined ? {} : { first_name: parseFirstName(first_name) }),
    ...(organization_name === undefined
      ? {}
      : { organization_name: parseOrganizationName(organization_name, 'organization_name') }),
    ...(timezone === undefined ? {} : { timezone }),
  }
  const hash = await hashPassword(password, email)
  const user_id = setUpOwner(app.control, { ...setup, hash }, app.now())
  return answerLogin(app, request, { user_id, ip })
}

async function logIn(app: AppContext, { request, ip }: BrowserCall): Promise<Response> {
  const { email, password } = await readBrowserBody(app, request, LOGIN)
  const session_ips = sessionIpsOf(app, findLoginUser(app.control, email))
  const user_id = await app.login_tries.guard({ email, ip, session_ips }, () =>
    findUserByPassword(app.control, email, password),
  )
  if (user_id !== null) return answerLogin(app, request, { user_id, ip })
  const detail = 'The email address or the password is wrong.'
  throw new Refusal('authentication_failed', detail, { attr: 'password' })
}

function logOut(app: AppContext, { request }: BrowserCall): Response {
  const session = findSessionOf(app, request)
  if (session !== null) endSession(app.control, session.user_id, session.id)
  const answer = answerNothing()
  answer.headers.set('Set-Cookie', noSessionCookie(app))
  return answer
}

/** Sets a password by a link, ends the user's sessions everywhere, and logs in. */
async function reset(app: AppContext, { request, socket, ip }: BrowserCall): Promise<Response> {
  const { token, password } = await readBrowserBody(app, request, RESET)
  const look = (): number => getLinkUser(app.control, token, 'token', app.now())
  const user_id = app.failed_keys.guard(request, socket, look)
  const email = findUser(app.control, user_id)?.email ?? null
  if (email === null) throw new Refusal('invalid_input', 'This user has no email address.')
  const hash = await hashPassword(password, email)
  app.control.transaction(
    (tx) => {
      // Looked up again: the link may have been used while the password was hashed.
      getLinkUser(tx, token, 'token', app.now())
      endLinksOf(tx, user_id)
      storePassword(tx, { user_id, email, hash }, app.now())
      endSessionsOf(tx, user_id, null)
    },
    { behavior: 'immediate' },
  )
  return answerLogin(app, request, { user_id, ip })
}

async function readBrowserBody<Schema extends TSchema>(
  app: AppContext,
  request: Request,
  shape: Validator<Schema>,
): Promise<Static<Schema>> {
  requireKnownType(request)
  return readBody(app.bodies, request, shape)
}
