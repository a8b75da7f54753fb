/** The caller of an edge's requests, and the projects that it serves. */
import { Refusal } from '../../errors.ts'
import { type Caller, listProjectsWithLevel, requireScope } from '../../projects/rights/access.ts'
import { hasRight, rightsAt } from '../../projects/rights/rights.ts'
import { EDGE_WAYS } from '../../projects/rights/ways.ts'
import type { Project } from '../../projects/settings/project.ts'
import type { AppContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { getKeyCaller } from '../route.ts'

/**
 * Wrong keys that an edge has passed on for its clients come from its address too. Despite them the edge's own batches
 * must be taken.
 */
const OWN_BUCKETS = 'edge '

/** Answers a request of an edge whose key has every scope of EDGE_WAYS. */
type EdgeAnswer = (
  caller: Caller,
  ...requested: Parameters<Endpoint['answer']>
) => Promise<Response>

/** Creates an endpoint for edges: key (401), scopes (403), then the answer. */
export function edgeEndpoint(
  app: AppContext,
  { method, path }: Pick<Endpoint, 'method' | 'path'>,
  answer: EdgeAnswer,
): Endpoint {
  return {
    method,
    path,
    answer(request, params, socket) {
      const caller = getKeyCaller(app, request, socket, OWN_BUCKETS)
      for (const { scope } of EDGE_WAYS) requireScope(caller, scope)
      return answer(caller, request, params, socket)
    },
  }
}

/** The projects that an edge with this key serves: those where its user has every right of EDGE_WAYS. */
export function listEdgeProjects(app: AppContext, caller: Caller): readonly Project[] {
  return listProjectsWithLevel(app.control, caller).flatMap(({ item: project, level }) => {
    const rights = rightsAt(app.control, caller, { project, level })
    return EDGE_WAYS.every((need) => hasRight(rights, need)) ? [project] : []
  })
}

/** Refuses a key that serves no project: all events of its edge would wait for ever. */
export function requireEdgeProjects(app: AppContext, caller: Caller): readonly Project[] {
  const projects = listEdgeProjects(app, caller)
  if (projects.length > 0) return projects
  const needed = EDGE_WAYS.map(({ scope }) => scope).join(', ')
  throw new Refusal('permission_denied', `The key's user has no project with the rights ${needed}.`)
}
