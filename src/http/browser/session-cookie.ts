/** The cookie of a browser's session: found in requests that a page of this server sent, set and removed in answers. */
import {
  findSession,
  type LoginSession,
  SESSION_AGE_MAX_MS,
} from '../../projects/users/sessions.ts'
import { basePathOf } from '../addresses.ts'
import type { AppContext } from '../app-context.ts'

/**
 * A request of our own pages. Other origins cannot send this header without a preflight, which the management API does
 * not answer; `Sec-Fetch-Site` would say the same, but browsers omit it over plain http.
 */
const BROWSER_HEADER = 'x-tidemark'

/** Whether one of our own pages sent the request. */
export const isFromBrowser = (request: Request): boolean =>
  request.headers.get(BROWSER_HEADER) === '1'

/** The session of a request's cookie; null without one that is valid, and for requests of other origins' pages. */
export function findSessionOf(app: AppContext, request: Request): LoginSession | null {
  if (!isFromBrowser(request)) return null
  const token = readCookie(request.headers.get('cookie') ?? '', cookieName(app))
  return token === null ? null : findSession(app.control, token, app.now())
}

/** `Set-Cookie` that gives a browser its session. The server ends it earlier, when it is not used. */
export function sessionCookie(app: AppContext, token: string): string {
  return cookieOf(app, token, SESSION_AGE_MAX_MS / 1000)
}

/** `Set-Cookie` that takes it away. */
export function noSessionCookie(app: AppContext): string {
  return cookieOf(app, '', 0)
}

function cookieOf(app: AppContext, value: string, age_s: number): string {
  const secure = isSecure(app) ? '; Secure' : ''
  const path = basePathOf(app.publicUrl()) || '/'
  return `${cookieName(app)}=${value}; Path=${path}; Max-Age=${age_s}; HttpOnly; SameSite=Strict${secure}`
}

/**
 * With `__Host-` a browser takes the cookie from this host over https only, so no subdomain can plant one; with
 * `__Secure-`, which cookies of a path may have, over https only.
 */
function cookieName(app: AppContext): string {
  if (!isSecure(app)) return 'tidemark_session'
  const prefix = basePathOf(app.publicUrl()) === '' ? '__Host-' : '__Secure-'
  return `${prefix}tidemark_session`
}

const isSecure = (app: AppContext): boolean => app.publicUrl().startsWith('https:')

/** The value of a cookie in the header; null if it is not there. */
function readCookie(header: string, name: string): string | null {
  const start = `${name}=`
  const pair = header.split(';').find((one) => one.trimStart().startsWith(start))
  return pair === undefined ? null : pair.trim().slice(start.length)
}
