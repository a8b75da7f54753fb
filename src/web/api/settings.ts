/** Calls of the Settings page: the project, members, invites, personal API keys, sessions. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { refreshSession } from '../state/session.ts'
import { type ApiError, type CallMethod, call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'

type PageOf<Item> = { readonly results: readonly Item[] }

export type OrganizationMember = {
  /** The user's uuid. */
  readonly id: string
  readonly user: {
    readonly uuid: string
    readonly first_name: string
    readonly email: string | null
  }
  /** 1 member, 8 administrator, 15 owner. */
  readonly level: number
  readonly joined_at: string
}

export type OpenInvite = {
  readonly id: string
  readonly target_email: string | null
  readonly first_name: string
  readonly level: number
  readonly expires_at: string
}

export type PersonalKey = {
  readonly id: string
  readonly label: string
  readonly mask_value: string
  readonly scopes: readonly string[]
  readonly scoped_teams: readonly number[]
  readonly last_used_at: string | null
  readonly created_at: string
}

export type BrowserSession = {
  readonly id: string
  readonly is_current: boolean
  readonly user_agent: string
  readonly ip: string
  readonly seen_at: string
}

const LIST_MAX = 1000

/** A list of the management API; the path is its key in the cache. */
function useSettingsList<Item>(path: string): UseQueryResult<readonly Item[], ApiError> {
  return useQuery<readonly Item[], ApiError>({
    queryKey: ['settings', path],
    queryFn: async ({ signal }) =>
      (await call<PageOf<Item>>('GET', path, { query: { limit: LIST_MAX }, signal })).results,
  })
}

const membersPath = (organization: string): string => `/api/organizations/${organization}/members/`
const invitesPath = (organization: string): string => `/api/organizations/${organization}/invites/`
const KEYS_PATH = '/api/personal_api_keys/'
const SESSIONS_PATH = '/api/sessions/'

/** The members of an organization. */
export const useMembers = (organization: string) =>
  useSettingsList<OrganizationMember>(membersPath(organization))

/** The invites of an organization that are still valid. */
export const useInvites = (organization: string) =>
  useSettingsList<OpenInvite>(invitesPath(organization))

/** The user's personal API keys. */
export const usePersonalKeys = () => useSettingsList<PersonalKey>(KEYS_PATH)

/** The user's sessions in browsers, the last used first. */
export const useBrowserSessions = () => useSettingsList<BrowserSession>(SESSIONS_PATH)

/** Changes something and asks all lists of Settings again. Throws ApiError. */
async function change<Answer>(method: CallMethod, path: string, body?: object): Promise<Answer> {
  const answer = await call<Answer>(method, path, body === undefined ? {} : { body })
  void queryClient.invalidateQueries({ queryKey: ['settings'] })
  return answer
}

type ProjectSettings = {
  readonly name: string
  readonly timezone: string
  readonly week_start_day: number
}

/** Changes a project. Throws ApiError. */
export async function changeProject(id: number, settings: ProjectSettings): Promise<void> {
  await change('PATCH', `/api/projects/${id}/`, settings)
  await refreshSession()
}

/** Renames an organization. Throws ApiError. */
export async function renameOrganization(id: string, name: string): Promise<void> {
  await change('PATCH', `/api/organizations/${id}/`, { name })
  await refreshSession()
}

/** Changes a member's level. Throws ApiError. */
export const changeMemberLevel = (organization: string, uuid: string, level: number) =>
  change('PATCH', `${membersPath(organization)}${uuid}/`, { level })

/** Takes a member out of the organization. Throws ApiError. */
export const removeMember = (organization: string, uuid: string): Promise<void> =>
  change('DELETE', `${membersPath(organization)}${uuid}/`)

/** Takes the user out of the organization, whose lists are then no longer theirs to ask for. Throws ApiError. */
export async function leaveOrganization(organization: string, uuid: string): Promise<void> {
  await call('DELETE', `${membersPath(organization)}${uuid}/`)
  await refreshSession()
}

/** Makes an invite; returns its link, which is shown only once. Throws ApiError. */
export async function makeInvite(
  organization: string,
  { email, level }: { readonly email: string; readonly level: number },
): Promise<string> {
  const body = { level, ...(email !== '' && { target_email: email }) }
  return (await change<{ link: string }>('POST', invitesPath(organization), body)).link
}

/** Takes an invite back. Throws ApiError. */
export const deleteInvite = (organization: string, id: string) =>
  change('DELETE', `${invitesPath(organization)}${id}/`)

/** Makes a personal API key; returns its value, which is shown only once. Throws ApiError. */
export async function makeKey(
  label: string,
  scopes: readonly string[],
  project_id: number | null,
): Promise<string> {
  const body = { label, scopes, scoped_teams: project_id === null ? [] : [project_id] }
  return (await change<{ value: string }>('POST', KEYS_PATH, body)).value
}

/** Revokes a personal API key. Throws ApiError. */
export const revokeKey = (id: string) => change('DELETE', `${KEYS_PATH}${id}/`)

/** Ends a session in another browser. Throws ApiError. */
export const endBrowserSession = (id: string) => change('DELETE', `${SESSIONS_PATH}${id}/`)

/** Changes the user's password; all other sessions end. Throws ApiError. */
export const changePassword = (current_password: string, password: string) =>
  change('POST', '/api/users/@me/password/', { current_password, password })

/** Changes the user's first name. Throws ApiError. */
export async function changeFirstName(first_name: string): Promise<void> {
  await change('PATCH', '/api/users/@me/', { first_name })
  await refreshSession()
}
