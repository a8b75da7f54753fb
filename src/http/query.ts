/** Questions: asked and answered. Interface §4.3. */
import { HogQLQuery, QueryRequest } from '../contract/query.ts'
import { Refusal } from '../errors.ts'
import type { PlaceholderValue } from '../hogql/context.ts'
import { type HogQLAnswer, runHogQL } from '../query/run.ts'
import { JSON_HEADERS } from './answers.ts'
import { projectRoute } from './route.ts'
import { type Fault, shapeOf } from './shape.ts'

const REQUEST = shapeOf(QueryRequest, refuseRequest)
const HOGQL_QUERY = shapeOf(HogQLQuery, (fault) =>
  refuseRequest({ ...fault, path: ['query', ...fault.path] }),
)

export const QUERY_ROUTES = [
  projectRoute({
    method: 'POST',
    path: 'query/',
    scope: 'query:read',
    body: REQUEST,
    answer: async (needs, { project, body, request }) => {
      if (body.query.kind !== 'HogQLQuery') {
        const detail = `Unsupported query kind: ${body.query.kind}`
        throw new Refusal('invalid_input', detail, { attr: 'query__kind' })
      }
      const query = HOGQL_QUERY.require(body.query)
      const answer = await runHogQL(
        needs.engine,
        {
          text: query.query,
          values: new Map(flatValues(query.values ?? {}, '')),
          project,
          property_types: needs.definitions.propertyTypes(project.id),
          rows_max: needs.query_limits.rows_max,
          now: needs.now(),
        },
        // A caller who hangs up does not want the answer any more.
        { timeout_ms: needs.query_limits.timeout_ms, signal: request.signal },
      )
      return answerHogQL(answer, query)
    },
  }),
] as const

/** Clients know faults of this body as faults of its JSON. */
function refuseRequest({ path, detail }: Fault): Refusal {
  const field = path.length === 0 ? '' : `${path.join('.')}: `
  const attr = path.length === 0 ? null : path.join('__')
  return new Refusal('parse_error', `JSON parse error - ${field}${detail}`, { attr })
}

/** The rows are put in as the text they came as: at 64 MB, reading them only to print them again would be the work. */
function answerHogQL({ rows_json, members }: HogQLAnswer, query: object): Response {
  const rest = JSON.stringify({ ...members, query, error: null, query_status: null })
  const body = Buffer.concat([
    Buffer.from('{"results":'),
    rows_json,
    Buffer.from(`,${rest.slice(1)}`),
  ])
  return new Response(body, { headers: JSON_HEADERS })
}

/** `{variables: {x: 1}}` is asked for as `{variables.x}`. */
function flatValues(
  values: Readonly<Record<string, unknown>>,
  prefix: string,
): readonly (readonly [string, PlaceholderValue])[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const path = `${prefix}${name}`
    if (isPlaceholder(value)) return [[path, value] as const]
    return flatValues(value as Readonly<Record<string, unknown>>, `${path}.`)
  })
}

function isPlaceholder(value: unknown): value is PlaceholderValue {
  if (Array.isArray(value)) return value.every(isPlaceholder)
  return typeof value !== 'object' || value === null
}
