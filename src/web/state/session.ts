/** The session: the user of this browser and the projects that the user sees. Every page asks for it first. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { type ApiError, call, onApiError } from '../api/calls/call.ts'
import { queryClient } from '../api/calls/client.ts'

/** A project as the session lists it. */
export type SessionProject = {
  readonly id: number
  /** The id of its organization. */
  readonly organization: string
  readonly name: string
  readonly api_token: string
  readonly timezone: string
  /** 0 or null for Sunday, 1 for Monday. */
  readonly week_start_day: number | null
  readonly ingested_event: boolean
  /** Kinds of things that the user may not change, as rights name them: `dashboard`. */
  readonly read_only: readonly string[]
}

export type SessionUser = {
  readonly uuid: string
  readonly email: string | null
  readonly first_name: string
  readonly last_name: string
}

export type SessionOrganization = {
  readonly id: string
  readonly name: string
  /** 1 member, 8 administrator, 15 owner. */
  readonly membership_level: number
}

/** Answer of GET /api/session/: `setup` while no user has a password, `out` without a session. */
export type Session =
  | { readonly state: 'setup' }
  | { readonly state: 'out' }
  | {
      readonly state: 'in'
      readonly user: SessionUser
      readonly organizations: readonly SessionOrganization[]
      readonly projects: readonly SessionProject[]
    }

const SESSION_KEY = ['session'] as const

/** Asks who is logged in; the answer is shared by the whole page. */
export function useSession(): UseQueryResult<Session, ApiError> {
  return useQuery<Session, ApiError>({
    queryKey: SESSION_KEY,
    queryFn: ({ signal }) => call<Session>('GET', '/api/session/', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Asks again, after a login, a logout or a change of projects. */
export async function refreshSession(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: SESSION_KEY })
}

/** The least time between two checks after refusals, which a deleted project or a lost right may have caused. */
const CHECK_PAUSE_MS = 5000

/**
 * Asks for the session again when it may have changed: after a 401 of any other call, after a message of another tab,
 * and after a 403 or 404, the answers about a project that is gone.
 */
export function watchSession(): void {
  let checked_at_ms = Number.NEGATIVE_INFINITY
  onApiError(({ code, status }) => {
    // A wrong password is a 401 too, with another code.
    if (code === 'not_authenticated') void refreshSession()
    if (status !== 403 && status !== 404) return
    if (performance.now() - checked_at_ms < CHECK_PAUSE_MS) return
    checked_at_ms = performance.now()
    void refreshSession()
  })
  tabs?.addEventListener('message', () => void refreshSession())
}

/** Notifies other tabs of this browser of a login or logout in this one. */
export function announceSession(): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin but its own
  tabs?.postMessage('changed')
}

const tabs =
  typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('tidemark.session')
