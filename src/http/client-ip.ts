/** Finds the address of the client: the socket's, or what trusted proxies say of it. */
import { BlockList, isIP } from 'node:net'

/** Tells the client's address from the socket's and the request's headers; '' when there is none. */
export type FindClientIp = (socket: string, headers: Headers) => string

const MAPPED_IPV4 = '::ffff:'

/**
 * `trusted_proxies` are addresses and networks, as 10.0.0.0/8. Each proxy appends whom it was called by, so the list
 * is read from its end: the first address that is no trusted proxy is the client. What stands before it anyone can
 * have written.
 */
export function clientIpFinder(trusted_proxies: readonly string[]): FindClientIp {
  if (trusted_proxies.length === 0) return (socket) => plainIp(socket)
  const trusted = blockListOf(trusted_proxies)
  const isTrusted = (ip: string): boolean => trusted.check(ip, isIP(ip) === 6 ? 'ipv6' : 'ipv4')
  return (socket, headers) => {
    const caller = plainIp(socket)
    if (isIP(caller) === 0 || !isTrusted(caller)) return caller
    const chain = (headers.get('x-forwarded-for') ?? '').split(',').map(parseForwarded)
    // Everything before an unreadable entry is as unreliable as that entry.
    const known = chain.slice(chain.lastIndexOf(null) + 1).filter((ip) => ip !== null)
    return known.findLast((ip) => !isTrusted(ip)) ?? known[0] ?? caller
  }
}

/** Tells whether an address lies in one of the networks; '' lies in none. */
export function addressesIn(networks: readonly string[]): (address: string) => boolean {
  const list = blockListOf(networks)
  return (address) => {
    const ip = plainIp(address)
    return isIP(ip) !== 0 && list.check(ip, isIP(ip) === 6 ? 'ipv6' : 'ipv4')
  }
}

/** One entry of X-Forwarded-For, which may carry a port; null when it is no address. */
function parseForwarded(entry: string): string | null {
  const text = entry.trim()
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  const ip = plainIp(bare)
  return isIP(ip) === 0 ? null : ip
}

/** IPv4 callers of a socket that listens for both look like `::ffff:10.0.0.1`. */
function plainIp(ip: string): string {
  return ip.startsWith(MAPPED_IPV4) && ip.includes('.') ? ip.slice(MAPPED_IPV4.length) : ip
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
