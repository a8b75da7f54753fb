/** Passes requests that an edge does not answer by itself on to its home, or refuses them. */
import { Refusal } from '../../errors.ts'
import { fetchByName } from '../../name-lookup.ts'
import { pathAndQueryOf } from '../addresses.ts'
import { answerError, answerRefusal } from '../answers/refusals.ts'
import type { AppContext } from '../app-context.ts'
import { clientIpFinder } from '../callers/client-ip.ts'
import type { Endpoint } from '../endpoint.ts'

type OthersContext = Pick<AppContext, 'bodies' | 'log' | 'trusted_proxies'> & {
  /** The home's address, without a final slash. */
  readonly home_url: string
}

/** Headers that belong to one connection. */
const OF_CONNECTION = [
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const

/** Time for the home's answer to begin: longer than any query may take there. */
const TIMEOUT_MS = 15 * 60_000

/** Refuses, naming the home. */
export function refuseOthers({ home_url }: OthersContext): Endpoint['answer'] {
  const detail = `This server is an edge: it answers SDKs only. Ask its home, ${home_url}`
  return () => answerRefusal(new Refusal('ask_home', detail), { Location: home_url })
}

/** Passes a request on with the caller's own key, and the answer back as it arrives. */
export function passOthersOn(context: OthersContext): Endpoint['answer'] {
  const { home_url, bodies, log } = context
  const findIp = clientIpFinder(context.trusted_proxies)
  return async (request, _params, socket) => {
    try {
      const path = pathAndQueryOf(request.url)
      if (isForServers(path)) throw new Refusal('not_found', 'Endpoint not found.')
      const headers = withoutConnection(request.headers)
      const ip = findIp(request, socket)
      headers.set('X-Forwarded-For', ip)
      headers.set('Accept-Encoding', 'identity')
      const has_body = request.method !== 'GET' && request.method !== 'HEAD'
      const body = has_body ? await bodies.read(request, undefined, socket) : null
      const answer = await fetchByName(home_url + path, {
        method: request.method,
        headers,
        body,
        redirect: 'manual',
        signal: AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      }).catch((cause: unknown) => {
        throw new Refusal(
          'storage_unavailable',
          `The home of this edge does not answer: ${String(cause)}`,
        )
      })
      return new Response(answer.body, {
        status: answer.status,
        headers: withoutConnection(answer.headers),
      })
    } catch (error) {
      return answerError(error, (err, error_id) => log.error({ err, error_id }))
    }
  }
}

/** Whether a path, however it is written, leads to what servers and operators ask for: no client of an edge does. */
function isForServers(path: string): boolean {
  return /^\/+_/.test(plainPath(decode(plainPath(path))))
}

/** The path without its query, as the home sees it. */
const plainPath = (path: string): string => URL.parse(`http://home${path}`)?.pathname ?? ''

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function withoutConnection(given: Headers): Headers {
  const headers = new Headers(given)
  for (const name of OF_CONNECTION) headers.delete(name)
  return headers
}
