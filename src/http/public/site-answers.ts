/** Read endpoints for pages of any site: the request, its preflight, and refusals that pages can read. */

import { preflightHeaders, withCors } from '../answers/cors.ts'
import { answerError } from '../answers/refusals.ts'
import type { PublicContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'

/** Creates a path's endpoints for GET, HEAD and OPTIONS. */
export function siteReads(
  app: PublicContext,
  path: string,
  read: Endpoint['answer'],
): readonly Endpoint[] {
  const answer: Endpoint['answer'] = async (request, params, socket) => {
    try {
      return await read(request, params, socket)
    } catch (error) {
      return withCors(
        request,
        answerError(error, (err, error_id) => app.log.error({ err, error_id, path })),
      )
    }
  }
  return [
    { method: 'GET', path, answer },
    { method: 'HEAD', path, answer },
    { method: 'OPTIONS', path, answer: answerPreflight },
  ]
}

function answerPreflight(request: Request): Response {
  return new Response(null, { status: 204, headers: { ...preflightHeaders(request) } })
}
