/** Logging in and out, the first setup, links that set a password, invites. */
import { announceSession, type Session } from '../state/session.ts'
import { call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'

export type SetupForm = {
  readonly code: string
  readonly email: string
  readonly password: string
  readonly first_name?: string
  readonly organization_name?: string
  readonly timezone?: string
}

/** The organization and the person that an invite names. */
export type InviteOffer = {
  readonly organization: { readonly id: string; readonly name: string }
  readonly target_email: string | null
  readonly first_name: string
}

type NewcomerForm = {
  readonly first_name: string
  readonly email: string
  readonly password: string
}

/** Logs in. Throws ApiError. */
export const logIn = (email: string, password: string): Promise<void> =>
  begin('/api/login/', { email, password })

/** Sets the first password by the server's code, and logs in. Throws ApiError. */
export const setUp = (form: SetupForm): Promise<void> => begin('/api/setup/', form)

/** Sets a password by a link, and logs in. Throws ApiError. */
export const resetPassword = (token: string, password: string): Promise<void> =>
  begin('/api/reset/', { token, password })

/** Reads an invite. Throws ApiError. */
export const readInvite = (token: string): Promise<InviteOffer> =>
  call('GET', `/api/signup/${encodeURIComponent(token)}/`)

/** Joins an organization by an invite, as a new user, or as the one who is logged in (null). Throws ApiError. */
export async function joinByInvite(token: string, newcomer: NewcomerForm | null): Promise<void> {
  await call('POST', `/api/signup/${encodeURIComponent(token)}/`, { body: newcomer ?? {} })
  replaceSession(await call<Session>('GET', '/api/session/'))
}

async function begin(path: string, body: object): Promise<void> {
  replaceSession(await call<Session>('POST', path, { body }))
}

/** Everything on the page is asked again: another user may see other things. */
function replaceSession(session: Session): void {
  queryClient.setQueryData(['session'], session)
  void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
  announceSession()
}
