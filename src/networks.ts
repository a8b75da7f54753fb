/** Parses IP addresses and networks, for settings, proxies, metrics and webhooks. */
import { BlockList, isIP } from 'node:net'

/** Tests whether an address is in one of several networks; an invalid address is in none. */
export type IsInNetworks = (address: string) => boolean

const MAPPED = '::ffff:'
const BITS_MAX = { 4: 32, 6: 128 } as const

/** Whether a text is an address or a network such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if ((family !== 4 && family !== 6) || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= BITS_MAX[family])
}

/** Builds the test for a list of addresses and networks such as 10.0.0.0/8. It unwraps IPv4 addresses in IPv6 form. */
export function networksOf(networks: readonly string[]): IsInNetworks {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    const ip = normalizeIp(address)
    const family = isIP(ip)
    return family !== 0 && list.check(ip, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** Whether an address is this machine's own. */
export const isLoopback = networksOf(['127.0.0.0/8', '::1'])

/**
 * Unwraps an IPv4-mapped IPv6 address, as dual-stack sockets (`::ffff:10.0.0.1`) and URLs (`::ffff:a00:1`) print it:
 * both → `10.0.0.1`. Any other text is returned as it is.
 */
export function normalizeIp(ip: string): string {
  if (!ip.toLowerCase().startsWith(MAPPED)) return ip
  const rest = ip.slice(MAPPED.length)
  if (isIP(rest) === 4) return rest
  const [, high, low] = /^([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(rest) ?? []
  if (high === undefined || low === undefined) return ip
  const bytes = [high, low].flatMap((part) => {
    const number = Number.parseInt(part, 16)
    return [number >> 8, number & 255]
  })
  return bytes.join('.')
}

/** The unit of per-address limits: an IPv4 address, or the /64 network of an IPv6 one, as its first four groups. */
export function senderNetwork(ip: string): string {
  const plain = normalizeIp(ip)
  if (isIP(plain) !== 6) return plain
  const [before = '', after] = plain.split('%')[0]?.split('::') ?? []
  const groups = before.split(':').filter((group) => group !== '')
  const ends = after?.split(':').filter((group) => group !== '') ?? []
  const gap = Math.max(0, GROUPS - groups.length - ends.length)
  const all = [...groups, ...Array.from({ length: gap }, () => '0'), ...ends]
  return `${all
    .slice(0, GROUPS / 2)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

const GROUPS = 8
