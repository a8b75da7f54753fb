/** Flag definitions for SDKs that evaluate locally, and payloads of remote config flags. */

import {
  DefinitionsAnswer,
  DefinitionsQuery,
  PayloadAnswer,
} from '../../contract/targeting/flags.ts'
import { Refusal } from '../../errors.ts'
import type { CompiledFlags } from '../../flags/definition.ts'
import { type LocalOptions, openLocalDefinitions } from '../../flags/local/local.ts'
import { isObject } from '../../json.ts'
import { type Caller, getVisibleProject } from '../../projects/rights/access.ts'
import { requireRight, rightsAt } from '../../projects/rights/rights.ts'
import { findFlagByKey, getFlag } from '../../targeting/flags/flag.ts'
import { mapInSlices, writeArray } from '../../threads/sliced-json.ts'
import { queryOf } from '../addresses.ts'
import { answerBytes, answerJsonText, JSON_HEADERS } from '../answers/answers.ts'
import { isKnown } from '../answers/fixed-texts.ts'
import type { AppContext } from '../app-context.ts'
import { callerRoute, projectRoute, type Route } from '../route.ts'

/** The path of newer SDKs; it is not below `/api/`. */
const PUBLIC_PATH = '/flags/definitions'

const byToken = callerRoute({
  method: 'GET',
  path: 'feature_flag/local_evaluation',
  scope: 'feature_flag:read',
  is_for_sdks: true,
  summary: 'Read flag definitions for local evaluation; the token names the project.',
  query: DefinitionsQuery,
  answers: { 200: DefinitionsAnswer, 304: null },
  answer: (app, { request, caller }) => {
    const project_id = projectOf(app, caller, request, '@current')
    return answerDefinitions(app, request, project_id)
  },
})

export const FLAG_DEFINITION_ROUTES: readonly Route[] = [
  { ...byToken, paths: [...byToken.paths, PUBLIC_PATH] },
  projectRoute({
    method: 'GET',
    path: 'feature_flags/local_evaluation/',
    scope: 'feature_flag:read',
    is_for_sdks: true,
    summary: 'Read flag definitions for local evaluation.',
    query: DefinitionsQuery,
    answers: { 200: DefinitionsAnswer, 304: null },
    answer: (app, { request, project }) => answerDefinitions(app, request, project.id),
  }),
  projectRoute({
    method: 'GET',
    path: 'feature_flags/:id/remote_config/',
    scope: 'feature_flag:read',
    is_for_sdks: true,
    summary: 'Read the payload of a remote config flag.',
    answers: { 200: PayloadAnswer },
    answer: (app, { request, caller, params, project }) => {
      const project_id = projectOf(app, caller, request, String(project.id))
      return answerJsonText(JSON.stringify(payloadOf(app, project_id, params['id'] ?? '')))
    },
  }),
]

/**
 * Finds the project by the token in the address, else by the path. The caller must see the project, and its
 * flags must not be hidden from them.
 */
function projectOf(app: AppContext, caller: Caller, request: Request, fallback: string): number {
  const token = new URLSearchParams(queryOf(request.url)).get('token')
  const project = token === null || token === '' ? null : app.flags.findProject(token)
  if (token && project === null) {
    throw new Refusal('invalid_api_key', 'Project API key is not valid.', { attr: 'token' })
  }
  const { control } = app
  const { item, level } = getVisibleProject(control, caller, String(project?.id ?? fallback))
  const rights = rightsAt(control, caller, { project: item, level })
  requireRight(rights, { scope: 'feature_flag:read', by: 'level' })
  return item.id
}

/** A serialized answer: its parts follow one another. */
type DefinitionsBody = { readonly parts: readonly Uint8Array[]; readonly etag: string }

/** Serialized answers, by definitions: these stay the same object until something changes. Equal requests share one. */
const BODIES = new WeakMap<object, Map<boolean, Promise<DefinitionsBody>>>()

async function answerDefinitions(
  app: AppContext,
  request: Request,
  project_id: number,
): Promise<Response> {
  const query = new URLSearchParams(queryOf(request.url))
  const { definitions } = await app.flags.readyFlagsWithAllGroupTypes(project_id)
  const send_cohorts_text = query.get('send_cohorts')
  // SDKs send the name without a value.
  const send_cohorts =
    send_cohorts_text !== null && send_cohorts_text !== 'false' && send_cohorts_text !== '0'
  const bodies = BODIES.get(definitions) ?? new Map<boolean, Promise<DefinitionsBody>>()
  BODIES.set(definitions, bodies)
  const body = bodies.get(send_cohorts) ?? makeBody(definitions, { project_id, send_cohorts })
  bodies.set(send_cohorts, body)
  const { parts, etag } = await body
  const headers = { ...JSON_HEADERS, ETag: etag, 'Cache-Control': 'private, no-cache' }
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers })
  return answerBytes(parts, headers)
}

/** Serializes definitions in slices of the event loop: those of a project may be 8 MiB. */
async function makeBody(
  definitions: CompiledFlags,
  options: LocalOptions,
): Promise<DefinitionsBody> {
  const local = openLocalDefinitions(definitions, options)
  const { group_type_mapping } = local
  const flags = await writeArray(local.flags, (flag) => [JSON.stringify(local.localFlagOf(flag))])
  const trees = await mapInSlices(local.cohort_ids, (id) => [id, local.localCohortOf(id)] as const)
  const cohorts = await writeArray(
    trees.filter(([, tree]) => tree !== null),
    ([id, tree]) => [`"${id}":${JSON.stringify(tree)}`],
    ['{', '}'],
  )
  const parts = [
    Buffer.from('{"flags":'),
    ...flags,
    Buffer.from(`,"group_type_mapping":${JSON.stringify(group_type_mapping)},"cohorts":`),
    ...cohorts,
    Buffer.from('}'),
  ]
  const hash = new Bun.CryptoHasher('sha256')
  for (const part of parts) hash.update(part)
  return { parts, etag: `"${hash.digest('base64url')}"` }
}

/**
 * Returns the stored payload: JSON text, which becomes a string of JSON, as SDKs expect. Null when there is
 * none.
 */
function payloadOf(app: AppContext, project_id: number, key_or_id: string): unknown {
  const by_key = findFlagByKey(app.control, project_id, key_or_id)
  const flag =
    by_key ??
    (/^[1-9]\d{0,14}$/.test(key_or_id) ? getFlag(app.control, project_id, Number(key_or_id)) : null)
  if (flag === null || flag.deleted) throw new Refusal('not_found', 'Not found.')
  const payloads = isObject(flag.filters) ? flag.filters['payloads'] : null
  return isObject(payloads) ? (payloads['true'] ?? null) : null
}
