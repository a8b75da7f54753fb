/** Read endpoints for pages of any site: the request and its preflight. */
import { answerPreflight } from '../answers/cors.ts'
import type { Endpoint } from '../endpoint.ts'

/** Creates a path's endpoints for GET, HEAD and OPTIONS. */
export function siteReads(path: string, answer: Endpoint['answer']): readonly Endpoint[] {
  return [
    { method: 'GET', path, answer },
    { method: 'HEAD', path, answer },
    { method: 'OPTIONS', path, answer: answerPreflight },
  ]
}
