/** Schemas of public endpoints, for the documentation: capture and flags by token, invites by link. */
import { type TSchema, t } from 'elysia'
import { LoginBody, ResetBody, SessionAnswer, SetupBody } from '../browser/login.ts'
import { AnyJson, ErrorAnswer, NullableText, Whole } from '../common.ts'
import { SignupBody } from '../management/organization.ts'

export type PublicOperation = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  readonly query?: TSchema
  readonly body?: TSchema
  readonly answers: Readonly<Record<number, TSchema | null>>
}

const Properties = t.Record(t.String(), AnyJson)

const CaptureBody = t.Object({
  api_key: t.String(),
  event: t.String(),
  distinct_id: t.String(),
  properties: t.Optional(Properties),
  timestamp: t.Optional(t.String({ format: 'date-time' })),
})

const BatchBody = t.Object({
  api_key: t.String(),
  historical_migration: t.Optional(t.Boolean()),
  batch: t.Array(
    t.Object({
      event: t.String(),
      properties: t.Optional(Properties),
      timestamp: t.Optional(t.String({ format: 'date-time' })),
    }),
  ),
})

const Stored = t.Object({ status: Whole })
const Groups = t.Record(t.String(), t.String())

const DecideBody = t.Object({
  api_key: t.String(),
  distinct_id: t.String(),
  groups: t.Optional(Groups),
  person_properties: t.Optional(Properties),
  group_properties: t.Optional(t.Record(t.String(), Properties)),
})

const DecideAnswer = t.Object(
  {
    config: t.Object({ enable_collect_everything: t.Boolean() }),
    toolbarParams: t.Object({}, { additionalProperties: true }),
    errorsWhileComputingFlags: t.Boolean(),
    isAuthenticated: t.Boolean(),
    supportedCompression: t.Array(t.String()),
    featureFlags: t.Record(t.String(), t.Union([t.Boolean(), t.String()])),
    featureFlagPayloads: t.Record(t.String(), AnyJson),
  },
  { additionalProperties: true },
)

const InviteAnswer = t.Object({
  organization: t.Object({ id: t.String(), name: t.String() }),
  target_email: NullableText,
  first_name: t.String(),
  level: Whole,
  expires_at: t.String({ format: 'date-time' }),
})

const JoinedAnswer = t.Object({
  user: t.Object({ uuid: t.String(), email: NullableText, first_name: t.String() }),
  organization: t.Object({ id: t.String(), name: t.String() }),
  personal_api_key: NullableText,
})

const CAPTURED = { 200: Stored, 400: ErrorAnswer, 401: ErrorAnswer, 413: ErrorAnswer } as const

/** Calls of the browser's pages: without the header X-Tidemark they are refused with 403. */
const LOGGED_IN = {
  200: SessionAnswer,
  400: ErrorAnswer,
  401: ErrorAnswer,
  403: ErrorAnswer,
  429: ErrorAnswer,
} as const

export const PUBLIC_OPERATIONS: readonly PublicOperation[] = [
  {
    method: 'POST',
    path: '/capture/',
    summary: 'Send one event.',
    body: CaptureBody,
    answers: CAPTURED,
  },
  {
    method: 'POST',
    path: '/batch/',
    summary: 'Send many events.',
    body: BatchBody,
    answers: CAPTURED,
  },
  {
    method: 'POST',
    path: '/decide',
    summary: 'Evaluate the flags for a distinct id.',
    query: t.Object({ v: t.Optional(t.Number()) }),
    body: DecideBody,
    answers: { 200: DecideAnswer, 400: ErrorAnswer, 401: ErrorAnswer },
  },
  {
    method: 'GET',
    path: '/api/signup/:token/',
    summary: 'Read an invite.',
    answers: { 200: InviteAnswer, 404: ErrorAnswer },
  },
  {
    method: 'POST',
    path: '/api/signup/:token/',
    summary: 'Accept an invite; a new user without a password is shown a first key, once.',
    body: SignupBody,
    answers: { 201: JoinedAnswer, 400: ErrorAnswer, 404: ErrorAnswer },
  },
  {
    method: 'GET',
    path: '/api/session/',
    summary: 'Read whether a browser is logged in, and what its user can see.',
    answers: { 200: SessionAnswer },
  },
  {
    method: 'POST',
    path: '/api/setup/',
    summary: "Set the owner's password with the code that the server printed, and log in.",
    body: SetupBody,
    answers: { ...LOGGED_IN, 404: ErrorAnswer },
  },
  {
    method: 'POST',
    path: '/api/login/',
    summary: 'Log in: a cookie with a session, for requests with the header X-Tidemark: 1.',
    body: LoginBody,
    answers: LOGGED_IN,
  },
  {
    method: 'POST',
    path: '/api/logout/',
    summary: 'End the session of the cookie.',
    answers: { 204: null, 403: ErrorAnswer },
  },
  {
    method: 'POST',
    path: '/api/reset/',
    summary: 'Set a password with a link, end all sessions of its user, and log in.',
    body: ResetBody,
    answers: { ...LOGGED_IN, 404: ErrorAnswer },
  },
]
