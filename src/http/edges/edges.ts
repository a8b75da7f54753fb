/** The endpoints of a home for its edges, below `/_edge/v1/`, for keys with the scopes of EDGE_WAYS. */
import { listVisibleProjects } from '../../projects/rights/access.ts'
import { answerJson } from '../answers/answers.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { batchEndpoint } from './batch.ts'
import { definitionsEndpoint } from './definitions.ts'
import { edgeEndpoint } from './edge-caller.ts'
import { listEdges } from './list-edges.ts'
import { personsEndpoint } from './persons.ts'

/** Creates the endpoints; a line adds one. */
export function edgeEndpoints(app: AppContext): readonly Endpoint[] {
  return [batchEndpoint(app), definitionsEndpoint(app), personsEndpoint(app), listEndpoint(app)]
}

/** The endpoint of `GET /_edge/v1/edges`: edges that serve a project which the caller can see. */
function listEndpoint(app: AppContext): Endpoint {
  return edgeEndpoint(app, { method: 'GET', path: '/_edge/v1/edges' }, async (caller) => {
    const visible = new Set(listVisibleProjects(app.control, caller).map(({ id }) => id))
    const edges = listEdges(app).filter(({ projects }) => projects.some((id) => visible.has(id)))
    return answerJson({
      results: edges.map(({ projects, seen_at, clock_ms: _clock_ms, ...edge }) => ({
        ...edge,
        projects: projects.filter((id) => visible.has(id)),
        seen_at: new Date(seen_at / 1000).toISOString(),
      })),
    })
  })
}
