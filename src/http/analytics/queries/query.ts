/** Queries: run, follow, cancel. */

import type { Static, TSchema } from 'elysia'
import {
  CancelBody,
  FormatQuery,
  HogQLQuery,
  QueryRequest,
} from '../../../contract/analytics/query.ts'
import {
  DownloadAnswer,
  QueryAnswer,
  QueryStatusAnswer,
  StatusQuery,
} from '../../../contract/analytics/query-answers.ts'
import { INSIGHT_QUERIES } from '../../../contract/insights/kinds.ts'
import { Refusal } from '../../../errors.ts'
import { isYes } from '../../../insights/legacy/legacy-filters.ts'
import { rightsAt } from '../../../projects/rights/rights.ts'
import { isEditorKind } from '../../../query/editor/editor-kinds.ts'
import { overrideFilters } from '../../../query/kinds/filters-override.ts'
import type { PreparedQuery } from '../../../query/kinds/prepared-query.ts'
import {
  prepareQuery,
  type QueryKind,
  type QueryNode,
  unwrapQuery,
} from '../../../query/kinds/query-kinds.ts'
import { type RefreshMode, refreshMode } from '../../../query/service/refresh.ts'
import { queryOf } from '../../addresses.ts'
import { answerJson, JSON_HEADERS } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { type Fault, keepingRecent, type Validator, validatorOf } from '../../bodies/shape.ts'
import { replaceTexts } from '../../bodies/text-values.ts'
import { streamWithoutIdleTimeout, withoutIdleTimeout } from '../../idle-timeout.ts'
import { projectRoute } from '../../route.ts'
import { answerEditorQuery } from './editor-queries.ts'
import { callerOf, type QueryCall, type QueryCaller, queryContext } from './query-context.ts'
import { formatOf, type ResultFormat, type RowFormat } from './query-formats.ts'

const REQUEST = keepingRecent(validatorOf(QueryRequest, refuseRequest))

/** The schema of each kind of query. */
const KIND_SHAPES: ReadonlyMap<string, Validator<TSchema>> = new Map(
  Object.entries<TSchema>({ HogQLQuery, ...INSIGHT_QUERIES } satisfies Record<
    QueryKind,
    TSchema
  >).map(([kind, schema]) => [kind, validatorOf(schema)]),
)

export const QUERY_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'query/',
    scope: 'query:read',
    summary: 'Run a query; `refresh` decides whether it is answered at once or in the background.',
    query: FormatQuery,
    body: REQUEST,
    answers: { 200: QueryAnswer },
    answer: async (app, call) => {
      const leave = app.key_limits.enter(call.caller.id)
      try {
        const { response, is_over } = await withoutIdleTimeout(call, () =>
          answerQuery(app, call, leave),
        )
        // Rows continue as a stream, which keeps the key's slot until its end.
        if (is_over) leave()
        return response
      } catch (error) {
        leave()
        throw error
      }
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'query/download/',
    scope: 'query:read',
    summary:
      'Start an export and get the path of its file, which can be downloaded without a key, once and within 30 seconds.',
    query: FormatQuery,
    body: REQUEST,
    answers: { 201: DownloadAnswer },
    answer: async (app, call) => {
      const leave = app.key_limits.enter(call.caller.id)
      try {
        const path = await withoutIdleTimeout(call, () => beginDownload(app, call, leave))
        return answerJson({ path }, 201)
      } catch (error) {
        leave()
        throw error
      }
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'query/:query_id/',
    scope: 'query:read',
    summary: 'Read the status of a query, and its results once it is complete.',
    query: StatusQuery,
    answers: { 200: QueryStatusAnswer },
    answer: async (app, call) => {
      const { params, request } = call
      const parameters = new URLSearchParams(queryOf(request.url))
      const show_progress = isYes(
        parameters.get('show_progress') ?? parameters.get('showProgress') ?? '',
      )
      const key = keyOf(app, call, params['query_id'] ?? '')
      const body = await app.query_service.readStatus(key, show_progress)
      return new Response(body, { headers: JSON_HEADERS })
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'query/:query_id/',
    scope: 'query:read',
    summary: 'Cancel a query.',
    answers: { 204: null },
    answer: (app, call) => {
      app.query_service.cancel(keyOf(app, call, call.params['query_id'] ?? ''))
      return new Response(null, { status: 204 })
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'insights/cancel/',
    scope: 'query:read',
    summary: 'Cancel a query, by the id that its caller chose.',
    body: validatorOf(CancelBody),
    answers: { 201: null },
    answer: (app, call) => {
      app.query_service.cancel(keyOf(app, call, call.body.client_query_id))
      return new Response(null, { status: 201 })
    },
  }),
] as const

/**
 * The registry key of a running query. An id belongs to the caller who chose it, as long as the same tables are
 * hidden from them.
 */
function keyOf(app: AppContext, { caller: query_caller, project, level }: QueryCaller, id: string) {
  const { caller } = callerOf(query_caller, rightsAt(app.control, query_caller, { project, level }))
  return { project_id: project.id, caller, id }
}

type QueryPost = QueryCall & { readonly body: Static<typeof QueryRequest> }

type QueryResponse = { readonly response: Response; readonly is_over: boolean }

/** Answers a query. `onEnd` is called when a streamed answer ends after this function returned. */
async function answerQuery(
  app: AppContext,
  call: QueryPost,
  onEnd: () => void,
): Promise<QueryResponse> {
  const { body, request } = call
  const { kind } = body.query
  if (isEditorKind(kind)) {
    const refuse = (fault: Fault): Refusal => refuseRequest(inWrappers(fault, 0))
    const requested = { kind, query: body.query, refuse }
    return { response: await answerEditorQuery(app, call, requested), is_over: true }
  }
  const format = formatOf(request)
  const mode = refreshMode(body.refresh, body.async)
  if (isRows(format)) {
    const { signal } = request
    const query = prepare(app, call, body)
    const rows = await computeRows(app, query, { format, mode, signal, onEnd })
    const headers = { ...JSON_HEADERS, ...format.headers }
    const response = new Response(streamWithoutIdleTimeout(call, rows), { headers })
    return { response, is_over: false }
  }
  const answer = await app.query_service.answer(prepareOnce(app, call, body), {
    mode,
    client_query_id: body.client_query_id || null,
    // The client's disconnect cancels the query. Made when it is read: a cached answer does not need it.
    get signal() {
      return request.signal
    },
  })
  return { response: new Response(answer, { headers: JSON_HEADERS }), is_over: true }
}

/**
 * Prepares a query as stored by an earlier version or client. Refuses what the query endpoint refuses; empty
 * `overrides` change nothing.
 */
export function prepareSaved(
  app: AppContext,
  call: QueryCaller,
  query: unknown,
  overrides: { readonly filters?: unknown; readonly variables?: unknown } = {},
): PreparedQuery {
  const { filters, variables } = overrides
  const body = {
    query,
    ...(hasMembers(filters) ? { filters_override: filters } : {}),
    ...(hasMembers(variables) ? { variables_override: variables } : {}),
  }
  return prepare(app, call, REQUEST.require(body))
}

function hasMembers(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

type LastPreparation = QueryCaller & { readonly query: PreparedQuery }

/** The last preparation of a body: repeated ones are the same object. */
const last_preparations = new WeakMap<object, LastPreparation>()

/**
 * Prepares a repeated HogQL query once for its caller. It depends on its body, the caller's rights and control.db, and
 * callers and projects are new objects after any write to that (`projects/lookups.ts`), and callers of browser sessions always;
 * insights depend on the time too.
 */
function prepareOnce(app: AppContext, call: QueryCaller, body: QueryPost['body']): PreparedQuery {
  const { caller, project, level } = call
  const prepared = last_preparations.get(body)
  if (prepared?.project === project && prepared.caller === caller && prepared.level === level)
    return prepared.query
  const query = prepare(app, call, body)
  if (body.query.kind !== 'HogQLQuery') return query
  const query_caller = { caller, project, level }
  // Computed in a context that is made for it: a context keeps the lists of definitions that it has read.
  const compute: PreparedQuery['compute'] = async (run, now) =>
    prepare(app, query_caller, body).compute(run, now)
  last_preparations.set(body, { ...query_caller, query: { ...query, compute, buildExport: null } })
  return query
}

function prepare(app: AppContext, call: QueryCaller, body: QueryPost['body']): PreparedQuery {
  const { kind, query: input, depth } = unwrapQuery(body.query)
  const { filters_override: filters, variables_override: variables } = body
  const query = overrideFilters(input, filters)
  const overrides = { filters, variables }
  return prepareQuery(requireKindSchema(kind, query, depth), overrides, queryContext(app, call))
}

/**
 * Validates a query against the schema of its kind, in which texts may stand for booleans and numbers. Refuses others,
 * naming the invalid field below the wrappers.
 */
function requireKindSchema(kind: QueryKind, query: object, depth: number): QueryNode {
  const checked = checked_queries.get(query)
  if (checked !== undefined) return checked
  const shape = KIND_SHAPES.get(kind)
  if (shape === undefined) throw new Error(`no shape for ${kind}`)
  const members = { ...query }
  replaceTexts(shape.schema, members)
  const node = shape.require(members, (fault) =>
    refuseRequest(inWrappers(fault, depth)),
  ) as QueryNode
  checked_queries.set(query, Object.freeze(node))
  return node
}

/** Checked queries by the query that was sent: in repeated bodies it is the same object. */
const checked_queries = new WeakMap<object, QueryNode>()

/** Begins an export, which is refused as in POST query/, and returns the path under which its file is fetched. */
async function beginDownload(app: AppContext, call: QueryPost, onEnd: () => void): Promise<string> {
  const { body, request } = call
  const format = formatOf(request)
  if (!isRows(format)) {
    const detail = 'Name the format of the file: csv, ndjson, arrow, parquet or xlsx.'
    throw new Refusal('invalid_input', detail, { attr: 'format' })
  }
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  request.signal.addEventListener('abort', abort)
  try {
    const query = prepare(app, call, body)
    const mode = refreshMode(body.refresh, body.async)
    const stream = await computeRows(app, query, { format, mode, signal: stop.signal, onEnd })
    return app.downloads.add({ stream, headers: format.headers })
  } finally {
    // From now on the file's reader counts, not this call.
    request.signal.removeEventListener('abort', abort)
  }
}

type RowDelivery = {
  readonly format: RowFormat
  readonly mode: RefreshMode
  readonly signal: AbortSignal
  readonly onEnd: () => void
}

/** Streams rows. They are computed for each call and while the client waits: too many to cache. */
async function computeRows(
  app: AppContext,
  query: PreparedQuery,
  { format, mode, signal, onEnd }: RowDelivery,
): Promise<ReadableStream<Uint8Array>> {
  if (mode !== 'blocking' && mode !== 'force_blocking') {
    const detail = `${format.form} is answered as it is computed: refresh cannot be ${mode}.`
    throw new Refusal('invalid_input', detail, { attr: 'refresh' })
  }
  return app.query_service.export(query, format.form, { signal, onEnd })
}

const isRows = (format: ResultFormat): format is RowFormat => format.form !== 'json'

function inWrappers(fault: Fault, depth: number): Fault {
  return {
    ...fault,
    path: ['query', ...Array.from({ length: depth }, () => 'source'), ...fault.path],
  }
}

/** Clients expect faults of this body to be reported as faults of its JSON. */
function refuseRequest({ path, detail }: Fault): Refusal {
  const field = path.length === 0 ? '' : `${path.join('.')}: `
  const attr = path.length === 0 ? null : path.join('__')
  return new Refusal('parse_error', `JSON parse error - ${field}${detail}`, { attr })
}
