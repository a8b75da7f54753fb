/** Finds the client's address: the socket's, or the one that trusted proxies report in X-Forwarded-For. */
import { isIP } from 'node:net'
import { networksOf, normalizeIp } from '../../networks.ts'
import type { ClientSocket } from '../endpoint.ts'

/** Returns the address of a request's client; '' without a socket. */
export type FindClientIp = (request: Request, socket: ClientSocket) => string

/**
 * Creates the lookup. `trusted_proxies` are addresses and networks, as 10.0.0.0/8. Each proxy appends the
 * address that called it, so the list is read from its end: the first address that is no trusted proxy is the
 * client. Any sender can have written what comes before it.
 */
export function clientIpFinder(trusted_proxies: readonly string[]): FindClientIp {
  if (trusted_proxies.length === 0) return socketIp
  const isTrusted = networksOf(trusted_proxies)
  return (request, socket) => {
    const caller = socketIp(request, socket)
    if (isIP(caller) === 0 || !isTrusted(caller)) return caller
    const chain = (request.headers.get('x-forwarded-for') ?? '').split(',').map(parseForwarded)
    // An unreadable entry makes everything before it unreliable too.
    const stored = chain.slice(chain.lastIndexOf(null) + 1).filter((ip) => ip !== null)
    return stored.findLast((ip) => !isTrusted(ip)) ?? stored[0] ?? caller
  }
}

/** The address of a request's client. For rare requests: it parses the list of proxies. */
export function requestIp(
  { trusted_proxies }: { readonly trusted_proxies: readonly string[] },
  request: Request,
  socket: ClientSocket,
): string {
  return clientIpFinder(trusted_proxies)(request, socket)
}

/** The address at the other end of the connection; '' without a socket. */
function socketIp(request: Request, socket: ClientSocket): string {
  return normalizeIp(socket?.requestIP(request)?.address ?? '')
}

/** Parses one entry of X-Forwarded-For; null when it is no address. */
function parseForwarded(entry: string): string | null {
  const ip = normalizeIp(withoutPort(entry))
  return isIP(ip) === 0 ? null : ip
}

/** An entry of X-Forwarded-For without blanks and the port that it may carry. */
export function withoutPort(entry: string): string {
  const text = entry.trim()
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
}
