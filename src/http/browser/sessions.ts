/** The user's sessions in browsers, and the user's password. */
import { LoginSessionPage, PasswordBody } from '../../contract/browser/login.ts'
import { PageQuery } from '../../contract/common.ts'
import { Refusal } from '../../errors.ts'
import { type Caller, requireWholeUser } from '../../projects/rights/access.ts'
import {
  findLoginEmail,
  findUserByPassword,
  hashPassword,
  storePassword,
} from '../../projects/users/passwords.ts'
import {
  endSession,
  endSessionsOf,
  type LoginSession,
  listSessions,
} from '../../projects/users/sessions.ts'
import { answerNothing } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { validatorOf } from '../bodies/shape.ts'
import { requestIp } from '../callers/client-ip.ts'
import { callerRoute, pathNames, type RouteCall } from '../route.ts'
import { noSessionCookie } from './session-cookie.ts'
import { sessionIpsOf } from './session-start.ts'

export const LOGIN_SESSION_ROUTES = [
  callerRoute({
    method: 'GET',
    path: 'sessions/',
    scope: 'user:read',
    summary: "List the user's sessions in browsers.",
    query: PageQuery,
    answers: { 200: LoginSessionPage },
    answer: (app, { request, caller }) => {
      requireWholeUser(caller)
      const all = listSessions(app.control, caller.user_id, app.now())
      return answerPage(request, app.publicUrl(), all, (one) => sessionOnWire(one, caller))
    },
  }),
  callerRoute({
    method: 'DELETE',
    path: 'sessions/:session_id/',
    scope: 'user:write',
    summary: 'End a session; @current is the one of the caller.',
    answers: { 204: null },
    answer: (app, { caller, params }) => {
      requireWholeUser(caller)
      const named = pathNames(params, 'session_id')
      const id = named === '@current' ? caller.id : named
      endSession(app.control, caller.user_id, id)
      const answer = answerNothing()
      if (id === caller.id) answer.headers.set('Set-Cookie', noSessionCookie(app))
      return answer
    },
  }),
  callerRoute({
    method: 'POST',
    path: 'users/@me/password/',
    scope: 'user:write',
    summary: "Change the user's password; all other sessions end.",
    body: validatorOf(PasswordBody),
    answers: { 204: null },
    answer: changePassword,
  }),
] as const

async function changePassword(
  app: AppContext,
  { caller, body, request, socket }: RouteCall<object, typeof PasswordBody>,
): Promise<Response> {
  requireWholeUser(caller)
  const { user_id } = caller
  const email = findLoginEmail(app.control, user_id)
  if (email === null) {
    throw new Refusal(
      'invalid_input',
      "This user has no password: the server's owner makes a link to set one.",
    )
  }
  // Before the old one is verified: in between, a link may set another.
  const hash = await hashPassword(body.password, email)
  const ip = requestIp(app, request, socket)
  const login = { email, ip, session_ips: sessionIpsOf(app, user_id) }
  const found = await app.login_tries.guard(login, () =>
    findUserByPassword(app.control, email, body.current_password),
  )
  if (found !== user_id) {
    throw new Refusal('invalid_input', 'The password is wrong.', { attr: 'current_password' })
  }
  app.control.transaction(
    (tx) => {
      storePassword(tx, { user_id, email, hash }, app.now())
      endSessionsOf(tx, user_id, caller.id)
    },
    { behavior: 'immediate' },
  )
  return answerNothing()
}

function sessionOnWire({ id, ...session }: LoginSession, caller: Caller): object {
  const { user_agent, ip, created_at, seen_at, expires_at } = session
  return { id, is_current: id === caller.id, user_agent, ip, created_at, seen_at, expires_at }
}
