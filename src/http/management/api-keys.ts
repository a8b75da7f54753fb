/** Personal API keys: their users list, create, change, roll and revoke them. */

import { PageQuery } from '../../contract/common.ts'
import {
  KeyAnswer,
  KeyBody,
  KeyChange,
  KeyPage,
  ShownKeyAnswer,
} from '../../contract/management/api-key.ts'
import type { ApiKey } from '../../projects/keys/api-key.ts'
import {
  addApiKey,
  changeApiKey,
  getApiKey,
  type KeyFields,
  listApiKeys,
  type NewApiKey,
  revokeApiKey,
  rollApiKey,
} from '../../projects/keys/api-key-changes.ts'
import { answerJson, answerNothing } from '../answers/answers.ts'
import { answerPage } from '../answers/pages.ts'
import { validatorOf } from '../bodies/shape.ts'
import { parseTimestamp } from '../bodies/timestamps.ts'
import { callerRoute, pathNames } from '../route.ts'

const ROOT = 'personal_api_keys/'
const ONE = `${ROOT}:key_id/`

export const API_KEY_ROUTES = [
  callerRoute({
    method: 'GET',
    path: ROOT,
    scope: 'user:read',
    summary: "List the user's personal API keys.",
    query: PageQuery,
    answers: { 200: KeyPage },
    answer: (app, { request, caller }) =>
      answerPage(request, app.publicUrl(), listApiKeys(app.control, caller), keyOnWire),
  }),
  callerRoute({
    method: 'POST',
    path: ROOT,
    scope: 'user:write',
    summary: 'Create a key with no more rights than the caller has; its value is shown only once.',
    body: validatorOf(KeyBody),
    answers: { 201: ShownKeyAnswer },
    answer: (app, { caller, body }) => {
      const made = addApiKey(app.control, caller, fieldsOf(body), app.now())
      return answerJson(shownOnWire(made), 201)
    },
  }),
  callerRoute({
    method: 'GET',
    path: ONE,
    scope: 'user:read',
    summary: 'Read a key; @current is the one of the caller.',
    answers: { 200: KeyAnswer },
    answer: (app, { caller, params }) =>
      answerJson(keyOnWire(getApiKey(app.control, caller, pathNames(params, 'key_id')))),
  }),
  callerRoute({
    method: 'PATCH',
    path: ONE,
    scope: 'user:write',
    summary: 'Change the label, scopes, organizations, projects or expiry of a key.',
    body: validatorOf(KeyChange),
    answers: { 200: KeyAnswer },
    answer: (app, { caller, params, body }) => {
      const key = getApiKey(app.control, caller, pathNames(params, 'key_id'))
      const requested = { fields: fieldsOf(body), now: app.now() }
      return answerJson(keyOnWire(changeApiKey(app.control, caller, key, requested)))
    },
  }),
  callerRoute({
    method: 'POST',
    path: `${ONE}roll/`,
    scope: 'user:write',
    summary: 'Give a key a new value, shown only once; the old one stops working at once.',
    answers: { 200: ShownKeyAnswer },
    answer: (app, { caller, params }) => {
      const key = getApiKey(app.control, caller, pathNames(params, 'key_id'))
      return answerJson(shownOnWire(rollApiKey(app.control, caller, key, app.now())))
    },
  }),
  callerRoute({
    method: 'DELETE',
    path: ONE,
    scope: 'user:write',
    summary: 'Revoke a key.',
    answers: { 204: null },
    answer: (app, { caller, params }) => {
      const key = getApiKey(app.control, caller, pathNames(params, 'key_id'))
      revokeApiKey(app.control, caller, key, app.now())
      return answerNothing()
    },
  }),
] as const

/** Renames members: the API calls projects teams. */
function fieldsOf(body: {
  readonly label?: string
  readonly scopes?: string[]
  readonly scoped_teams?: number[] | null
  readonly scoped_organizations?: string[] | null
  readonly expires_at?: string | null
}): KeyFields {
  const { label, scopes, scoped_teams, scoped_organizations } = body
  const expires_at = parseTimestamp(body.expires_at, 'expires_at')
  return {
    ...(label === undefined ? {} : { label }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(scoped_teams === undefined ? {} : { scoped_projects: scoped_teams }),
    ...(scoped_organizations === undefined ? {} : { scoped_organizations }),
    ...(expires_at === undefined ? {} : { expires_at }),
  }
}

/** An unlimited key has empty lists, the form in which clients send it: some read nothing but lists. */
function keyOnWire(stored: ApiKey): object {
  const { key_hash: _hash, scoped_projects, scoped_organizations, ...key } = stored
  return {
    ...key,
    scoped_teams: scoped_projects ?? [],
    scoped_organizations: scoped_organizations ?? [],
  }
}

function shownOnWire({ key, value }: NewApiKey): object {
  return { ...keyOnWire(key), value }
}
