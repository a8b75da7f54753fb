/** Questions: asked, told about, cancelled. Interface §4.3. */
import type { Static, TSchema } from 'elysia'
import { INSIGHT_QUERIES } from '../../contract/insights/kinds.ts'
import { FormatQuery, HogQLQuery, QueryRequest } from '../../contract/query.ts'
import { QueryAnswer, QueryStatusAnswer, StatusQuery } from '../../contract/query-answers.ts'
import { Refusal } from '../../errors.ts'
import { rightsAt } from '../../projects/rights.ts'
import { isEditorKind } from '../../query/editor/kinds.ts'
import { overrideFilters } from '../../query/filters-override.ts'
import type { Prepared } from '../../query/prepared.ts'
import { type RefreshMode, refreshMode } from '../../query/refresh.ts'
import { type Kind, prepareQuestion, type Question, unwrapQuery } from '../../query/run.ts'
import { queryOf } from '../addresses.ts'
import { JSON_HEADERS } from '../answers.ts'
import { IDLE_TIMEOUT_S } from '../endpoint.ts'
import type { Needs } from '../needs.ts'
import { projectRoute } from '../route.ts'
import { type Fault, type Shape, shapeOf } from '../shape.ts'
import { type Asks, askingOf, callerOf } from './asking.ts'
import { answerEditorQuestion } from './editor-questions.ts'
import { type Format, formatOf, type RowFormat } from './query-formats.ts'

const REQUEST = shapeOf(QueryRequest, refuseRequest)

/** What each kind of question looks like. */
const KIND_SHAPES: ReadonlyMap<string, Shape<TSchema>> = new Map(
  Object.entries<TSchema>({ HogQLQuery, ...INSIGHT_QUERIES } satisfies Record<Kind, TSchema>).map(
    ([kind, schema]) => [kind, shapeOf(schema)],
  ),
)

export const QUERY_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'query/',
    scope: 'query:read',
    says: 'Ask a question; depending on `refresh` it is answered at once or in the background.',
    query: FormatQuery,
    body: REQUEST,
    answers: { 200: QueryAnswer },
    answer: async (needs, call) => {
      const { asker, request, socket } = call
      const leave = needs.key_limits.enter(asker.id)
      // A question may take longer than a silent connection is kept.
      socket?.timeout(request, 0)
      try {
        const { response, is_over } = await answerQuestion(needs, call, leave)
        // Rows go on as a stream, and the key with them.
        if (!is_over) return response
        socket?.timeout(request, IDLE_TIMEOUT_S)
        leave()
        return response
      } catch (error) {
        socket?.timeout(request, IDLE_TIMEOUT_S)
        leave()
        throw error
      }
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'query/:query_id/',
    scope: 'query:read',
    says: 'Read how a question is getting on, and its answer once there is one.',
    query: StatusQuery,
    answers: { 200: QueryStatusAnswer },
    answer: async (needs, asks) => {
      const { params, request } = asks
      const told = new URLSearchParams(queryOf(request.url))
      const wanted = told.get('show_progress') ?? told.get('showProgress') ?? ''
      const show_progress = /^(true|1)$/i.test(wanted)
      const key = keyOf(needs, asks, params['query_id'] ?? '')
      const body = await needs.questions.readStatus(key, show_progress)
      return new Response(body, { headers: JSON_HEADERS })
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'query/:query_id/',
    scope: 'query:read',
    says: 'Cancel a question.',
    answers: { 204: null },
    answer: (needs, asks) => {
      needs.questions.cancel(keyOf(needs, asks, asks.params['query_id'] ?? ''))
      return new Response(null, { status: 204 })
    },
  }),
] as const

/** Ids belong to the caller who asked under them, for as long as the same things are hidden from them. */
function keyOf(needs: Needs, { asker, project, level }: Asks, id: string) {
  const { caller } = callerOf(asker, rightsAt(needs.control, asker, { project, level }))
  return { project_id: project.id, caller, id }
}

type Asked = Asks & {
  readonly body: Static<typeof QueryRequest>
  readonly request: Request
}

type Answered = { readonly response: Response; readonly is_over: boolean }

/** `onEnd` is called when an answer is over that was not when it began. */
async function answerQuestion(needs: Needs, asks: Asked, onEnd: () => void): Promise<Answered> {
  const { body, request } = asks
  const { kind } = body.query
  if (isEditorKind(kind)) {
    const refuse = (fault: Fault): Refusal => refuseRequest(inWrappers(fault, 0))
    const asked = { kind, query: body.query, refuse }
    return { response: await answerEditorQuestion(needs, asks, asked), is_over: true }
  }
  const format = formatOf(request)
  const question = prepare(needs, asks, body)
  const mode = refreshMode(body.refresh, body.async)
  const { signal } = request
  if (isRows(format)) {
    const response = await answerRows(needs, question, { format, mode, signal, onEnd })
    return { response, is_over: false }
  }
  const answer = await needs.questions.ask(question, {
    mode,
    client_query_id: body.client_query_id || null,
    // A caller who hangs up does not want the answer any more.
    signal,
  })
  return { response: new Response(answer, { headers: JSON_HEADERS }), is_over: true }
}

/**
 * A question that was saved as somebody once sent it. Refuses what the query endpoint refuses; `overrides` without
 * members say nothing.
 */
export function prepareSaved(
  needs: Needs,
  asks: Asks,
  query: unknown,
  overrides: { readonly filters?: unknown; readonly variables?: unknown } = {},
): Prepared {
  const { filters, variables } = overrides
  const body = {
    query,
    ...(hasMembers(filters) ? { filters_override: filters } : {}),
    ...(hasMembers(variables) ? { variables_override: variables } : {}),
  }
  return prepare(needs, asks, REQUEST.require(body))
}

function hasMembers(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function prepare(needs: Needs, asks: Asks, body: Asked['body']): Prepared {
  const { kind, query: sent, depth } = unwrapQuery(body.query)
  const { filters_override: filters, variables_override: variables } = body
  const query = overrideFilters(sent, filters)
  const overrides = { filters, variables }
  return prepareQuestion(requireShape(kind, query, depth), overrides, askingOf(needs, asks))
}

/** A question of the shape its kind has. Refuses others, naming the field at fault below its wrappers. */
function requireShape(kind: Kind, query: object, depth: number): Question {
  const shape = KIND_SHAPES.get(kind)
  if (shape === undefined) throw new Error(`no shape for ${kind}`)
  return shape.require(query, (fault) => refuseRequest(inWrappers(fault, depth))) as Question
}

type HowRows = {
  readonly format: RowFormat
  readonly mode: RefreshMode
  readonly signal: AbortSignal
  readonly onEnd: () => void
}

/** Rows are always computed, and while the caller waits: they are too many to be kept. */
async function answerRows(
  needs: Needs,
  question: Prepared,
  { format, mode, signal, onEnd }: HowRows,
): Promise<Response> {
  if (mode !== 'blocking' && mode !== 'force_blocking') {
    const detail = `${format.form} is answered as it is computed: refresh cannot be ${mode}.`
    throw new Refusal('invalid_input', detail, { attr: 'refresh' })
  }
  const rows = await needs.questions.export(question, format.form, { signal, onEnd })
  return new Response(rows, { headers: { ...JSON_HEADERS, ...format.headers } })
}

const isRows = (format: Format): format is RowFormat => format.form !== 'json'

function inWrappers(fault: Fault, depth: number): Fault {
  return {
    ...fault,
    path: ['query', ...Array.from({ length: depth }, () => 'source'), ...fault.path],
  }
}

/** Clients know faults of this body as faults of its JSON. */
function refuseRequest({ path, detail }: Fault): Refusal {
  const field = path.length === 0 ? '' : `${path.join('.')}: `
  const attr = path.length === 0 ? null : path.join('__')
  return new Refusal('parse_error', `JSON parse error - ${field}${detail}`, { attr })
}
