/** Receives events: passes each body to the data thread unchanged, and answers after its commit. */
import { Refusal } from '../../errors.ts'
import { queryOf } from '../addresses.ts'
import { JSON_HEADERS } from '../answers/answers.ts'
import { corsHeaders, preflightHeaders } from '../answers/cors.ts'
import { queryValue } from '../answers/pages.ts'
import type { PublicContext } from '../app-context.ts'
import { clientIpFinder } from '../callers/client-ip.ts'
import type { Endpoint } from '../endpoint.ts'

/**
 * Every path accepts every shape of body; each is served with and without a final slash, since a redirect loses
 * it.
 */
const CAPTURE_PATHS = [
  '/capture',
  '/batch',
  '/e',
  '/track',
  '/engage',
  '/i/v0/e',
  '/i/v0/ai/batch',
  // Session recordings are accepted, so that clients stop retrying, and dropped.
  '/s',
] as const

/** Clients take anything but a 200 for a failure, and some parse the body. Only beacons (`?beacon=1`), whose answer no page reads, get a 204. */
const STORED = '{"status":1}'
/** A `Headers` object is reused; a record would be parsed for every response. */
const STORED_INIT = { headers: new Headers(JSON_HEADERS) }
const EMPTY = new Uint8Array(0)

/** Creates the capture endpoints; a project token suffices. */
export function captureEndpoints(app: PublicContext): readonly Endpoint[] {
  return CAPTURE_PATHS.flatMap((path) => {
    const answer = captureHandler(app, path)
    return [
      { method: 'POST', path, answer },
      { method: 'GET', path, answer },
      { method: 'OPTIONS', path, answer: answerPreflight },
    ] as const
  })
}

/**
 * Creates the handler of one capture path. This is the hot path: it allocates nothing that the response does
 * not need.
 */
function captureHandler(app: PublicContext, path: string): Endpoint['answer'] {
  const findClientIp = clientIpFinder(app.trusted_proxies)
  return async (request, _params, socket) => {
    const { headers } = request
    const received_at_ms = app.now().getTime()
    const answer = await app.capture.send({
      path,
      query: queryOf(request.url),
      content_type: headers.get('content-type') ?? '',
      content_encoding: headers.get('content-encoding') ?? '',
      client_ip: findClientIp(request, socket),
      received_at_ms,
      body:
        request.method === 'GET'
          ? EMPTY
          : await app.bodies.readForThread(request, undefined, socket),
    })
    if (answer.kind === 'stored') return answerStored(request)
    const { code, detail, attr } = answer
    throw new Refusal(code, detail, { attr })
  }
}

/** Answers a browser's preflight. */
function answerPreflight(request: Request): Response {
  return new Response(STORED, { headers: { ...JSON_HEADERS, ...preflightHeaders(request) } })
}

function answerStored(request: Request): Response {
  if (queryValue(request, 'beacon') === '1') {
    return new Response(null, { status: 204, headers: corsHeaders(request) })
  }
  const init = request.headers.has('origin')
    ? { headers: { ...JSON_HEADERS, ...corsHeaders(request) } }
    : STORED_INIT
  return new Response(STORED, init)
}
