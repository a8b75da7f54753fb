/** CORS headers for the public endpoints; the management API sends none. */

const METHODS = 'GET, POST, OPTIONS'
/** Browsers repeat a preflight after a day; one per event would double the requests. */
const PREFLIGHT_AGE_S = '86400'

/**
 * Headers that a public endpoint adds to every response, refusals included: without them a browser hides the
 * status, and clients then retry for ever. The origin is echoed, since old clients send credentials, which `*`
 * forbids.
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

/** Headers of the response to a preflight. */
export function preflightHeaders(request: Request): Readonly<Record<string, string>> {
  const requested_headers = request.headers.get('access-control-request-headers')
  return {
    ...corsHeaders(request),
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers':
      requested_headers ?? 'Content-Type, Content-Encoding, X-Requested-With',
    'Access-Control-Max-Age': PREFLIGHT_AGE_S,
  }
}

/** Answers a preflight. */
export function answerPreflight(request: Request): Response {
  return new Response(null, { status: 204, headers: { ...preflightHeaders(request) } })
}

/**
 * Adds the CORS headers for the request's origin to a response. Pages may read how long to wait: without that, clients
 * choose a time of their own.
 */
export function withCors(request: Request, answer: Response): Response {
  const { headers } = answer
  for (const [name, value] of Object.entries(corsHeaders(request))) headers.set(name, value)
  if (request.headers.has('origin') && headers.has('Retry-After')) {
    headers.set('Access-Control-Expose-Headers', 'Retry-After')
  }
  return answer
}
