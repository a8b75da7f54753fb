/** Read endpoints for pages of any site: the request, its preflight, and refusals that pages can read. */

import type { AppContext } from '../app-context.ts'
import { preflightHeaders, withCors } from '../cors.ts'
import type { Endpoint } from '../endpoint.ts'
import { answerError } from '../refusals.ts'

/** Creates a path's endpoints for GET, HEAD and OPTIONS. */
export function siteReads(
  app: AppContext,
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
