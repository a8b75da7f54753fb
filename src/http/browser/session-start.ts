/** Starts a session of a browser, and serializes the first answer of its pages. */
import { Refusal } from '../../errors.ts'
import {
  type ControlDB,
  listProjectsWithLevel,
  listVisibleOrganizations,
} from '../../projects/rights/access.ts'
import { type Levels, levelsOfEach } from '../../projects/rights/access-controls.ts'
import { hasPasswords } from '../../projects/users/passwords.ts'
import {
  callerOfSession,
  endSession,
  type LoginSession,
  listSessions,
  startSession,
} from '../../projects/users/sessions.ts'
import { findUser } from '../../projects/users/user.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import { findSessionOf, sessionCookie } from './session-cookie.ts'

/** The user who logs in, and the address of the request. */
export type Login = { readonly user_id: number; readonly ip: string }

/**
 * Starts a session and returns the headers that give it to the browser. The browser's session until now ends, and the new
 * one has a new token: a token that an attacker planted before the login is invalid after it (session fixation).
 */
export function beginSession(
  app: AppContext,
  request: Request,
  { user_id, ip }: Login,
): { readonly session: LoginSession; readonly headers: Readonly<Record<string, string>> } {
  const before = findSessionOf(app, request)
  if (before !== null) endSession(app.control, before.user_id, before.id)
  const user_agent = request.headers.get('user-agent') ?? ''
  const { session, token } = startSession(app.control, { user_id, user_agent, ip }, app.now())
  return { session, headers: { 'Set-Cookie': sessionCookie(app, token) } }
}

/** Starts a session and answers it like GET /api/session/. */
export function answerLogin(app: AppContext, request: Request, login: Login): Response {
  const { session, headers } = beginSession(app, request, login)
  return answerSession(app, session, headers)
}

/** Answers the state of a browser, with the user, organizations and projects. */
export function answerSession(
  app: AppContext,
  session: LoginSession | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  // The page is about to ask for its first chart.
  if (session !== null) app.engine.wake()
  const state = session !== null ? 'in' : hasPasswords(app.control) ? 'out' : 'setup'
  const body = session === null ? { state } : { state, ...serializeSession(app.control, session) }
  return answerJson(body, 200, { 'Cache-Control': 'no-store', ...headers })
}

/** The addresses that a user's sessions came from; none without a user. */
export function sessionIpsOf(app: AppContext, user_id: number | null): readonly string[] {
  return listSessions(app.control, user_id ?? 0, app.now()).map(({ ip }) => ip)
}

function serializeSession(db: ControlDB, session: LoginSession): object {
  const caller = callerOfSession(session)
  const user = findUser(db, session.user_id)
  if (user === null) throw new Refusal('not_found', 'Not found.')
  const projects = listProjectsWithLevel(db, caller)
  const [first] = projects
  const current = projects.find(({ item }) => item.id === user.current_project_id) ?? first ?? null
  const { uuid, email, first_name, last_name } = user
  const levels = levelsOfEach(
    db,
    user.id,
    projects.map(({ item: { id }, level }) => ({ id, level })),
  )
  return {
    user: { uuid, email, first_name, last_name, current_project: current?.item.id ?? null },
    organizations: listVisibleOrganizations(db, caller).map(({ item: { id, name }, level }) => ({
      id,
      name,
      membership_level: level,
    })),
    projects: projects.map(({ item: project }) => ({
      id: project.id,
      organization: project.organization_id,
      name: project.name,
      api_token: project.api_token,
      timezone: project.timezone,
      week_start_day: project.week_start_day,
      ingested_event: project.ingested_event,
      read_only: listReadOnly(levels.get(project.id) ?? null),
    })),
  }
}

/** The resources that a member may not change: the pages leave out what would be refused. */
const listReadOnly = (levels: Levels): readonly string[] =>
  [...(levels ?? [])].flatMap(([resource, level]) => (level === 'editor' ? [] : [resource]))
