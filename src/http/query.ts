/** Questions: asked and answered. Interface §4.3. */
import { HogQLQuery, QueryRequest } from '../contract/query.ts'
import { Refusal } from '../errors.ts'
import { runHogQL } from '../query/run.ts'
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
      const asking = {
        project,
        property_types: needs.definitions.propertyTypes(project.id),
        rows_max: needs.query_limits.rows_max,
        now: needs.now(),
      }
      const answer = await runHogQL(query, asking, needs.engine, {
        timeout_ms: needs.query_limits.timeout_ms,
        // A caller who hangs up does not want the answer any more.
        signal: request.signal,
      })
      return new Response(answer, { headers: JSON_HEADERS })
    },
  }),
] as const

/** Clients know faults of this body as faults of its JSON. */
function refuseRequest({ path, detail }: Fault): Refusal {
  const field = path.length === 0 ? '' : `${path.join('.')}: `
  const attr = path.length === 0 ? null : path.join('__')
  return new Refusal('parse_error', `JSON parse error - ${field}${detail}`, { attr })
}
