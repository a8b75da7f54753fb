/** Lets web pages of any origin reach the public endpoints; the management API has no part in it. */

const METHODS = 'GET, POST, OPTIONS'
/** Asked for again after a day: a preflight for every event would double the requests. */
const PREFLIGHT_AGE_S = '86400'

/**
 * What a public endpoint adds to an answer, refusals included: a browser hides the status of an answer without it,
 * and clients then send for ever. The origin is echoed, since old clients send credentials, which `*` forbids.
 */
export function corsHeaders(request: Request): Readonly<Record<string, string>> {
  const origin = request.headers.get('origin')
  if (origin === null) return {}
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    Vary: 'Origin',
  }
}

/** What a preflight is answered with. */
export function preflightHeaders(request: Request): Readonly<Record<string, string>> {
  const search_text = request.headers.get('access-control-request-headers')
  return {
    ...corsHeaders(request),
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers':
      search_text ?? 'Content-Type, Content-Encoding, X-Requested-With',
    'Access-Control-Max-Age': PREFLIGHT_AGE_S,
  }
}

/** Adds what the request's origin needs to an answer made elsewhere. */
export function withCors(request: Request, answer: Response): Response {
  for (const [name, value] of Object.entries(corsHeaders(request))) answer.headers.set(name, value)
  return answer
}
