/** Personal API keys: their users list, make, change, roll and revoke them. */

import { KeyAnswer, KeyBody, KeyChange, KeyPage, ShownKeyAnswer } from '../../contract/api-key.ts'
import { PageQuery } from '../../contract/common.ts'
import type { ApiKey } from '../../projects/api-key.ts'
import {
  addApiKey,
  changeApiKey,
  getApiKey,
  type KeyFields,
  listApiKeys,
  revokeApiKey,
  rollApiKey,
  type ShownKey,
} from '../../projects/api-key-changes.ts'
import { answerJson, answerNothing } from '../answers.ts'
import { answerPage } from '../pages.ts'
import { askerRoute, namedIn } from '../route.ts'
import { shapeOf } from '../shape.ts'

const ROOT = 'personal_api_keys/'
const ONE = `${ROOT}:key_id/`

export const API_KEY_ROUTES = [
  askerRoute({
    method: 'GET',
    path: ROOT,
    scope: 'user:read',
    says: "List the user's personal API keys.",
    query: PageQuery,
    answers: { 200: KeyPage },
    answer: (needs, { request, asker }) =>
      answerPage(request, needs.publicUrl(), listApiKeys(needs.control, asker), keyOnWire),
  }),
  askerRoute({
    method: 'POST',
    path: ROOT,
    scope: 'user:write',
    says: 'Make a key that may do no more than the one that asks; its value is told this once.',
    body: shapeOf(KeyBody),
    answers: { 201: ShownKeyAnswer },
    answer: (needs, { asker, body }) => {
      const made = addApiKey(needs.control, asker, fieldsOf(body), needs.now())
      return answerJson(shownOnWire(made), 201)
    },
  }),
  askerRoute({
    method: 'GET',
    path: ONE,
    scope: 'user:read',
    says: 'Read a key; @current is the one that asks.',
    answers: { 200: KeyAnswer },
    answer: (needs, { asker, params }) =>
      answerJson(keyOnWire(getApiKey(needs.control, asker, namedIn(params, 'key_id')))),
  }),
  askerRoute({
    method: 'PATCH',
    path: ONE,
    scope: 'user:write',
    says: 'Change label, scopes, reach or end of a key.',
    body: shapeOf(KeyChange),
    answers: { 200: KeyAnswer },
    answer: (needs, { asker, params, body }) => {
      const key = getApiKey(needs.control, asker, namedIn(params, 'key_id'))
      const asked = { fields: fieldsOf(body), now: needs.now() }
      return answerJson(keyOnWire(changeApiKey(needs.control, asker, key, asked)))
    },
  }),
  askerRoute({
    method: 'POST',
    path: `${ONE}roll/`,
    scope: 'user:write',
    says: 'Give a key a new value, told this once; the old one ends at once.',
    answers: { 200: ShownKeyAnswer },
    answer: (needs, { asker, params }) => {
      const key = getApiKey(needs.control, asker, namedIn(params, 'key_id'))
      return answerJson(shownOnWire(rollApiKey(needs.control, asker, key, needs.now())))
    },
  }),
  askerRoute({
    method: 'DELETE',
    path: ONE,
    scope: 'user:write',
    says: 'Revoke a key.',
    answers: { 204: null },
    answer: (needs, { asker, params }) => {
      const key = getApiKey(needs.control, asker, namedIn(params, 'key_id'))
      revokeApiKey(needs.control, asker, key, needs.now())
      return answerNothing()
    },
  }),
] as const

/** On the wire projects are teams. */
function fieldsOf(body: {
  readonly label?: string
  readonly scopes?: string[]
  readonly scoped_teams?: number[] | null
  readonly scoped_organizations?: string[] | null
  readonly expires_at?: string | null
}): KeyFields {
  const { label, scopes, scoped_teams, scoped_organizations, expires_at } = body
  return {
    ...(label === undefined ? {} : { label }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(scoped_teams === undefined ? {} : { scoped_projects: scoped_teams }),
    ...(scoped_organizations === undefined ? {} : { scoped_organizations }),
    ...(expires_at === undefined
      ? {}
      : { expires_at: expires_at === null ? null : new Date(expires_at) }),
  }
}

function keyOnWire({ key_hash: _hash, scoped_projects, ...key }: ApiKey): object {
  return { ...key, scoped_teams: scoped_projects }
}

function shownOnWire({ key, value }: ShownKey): object {
  return { ...keyOnWire(key), value }
}
