/** Which addresses a server may call on behalf of others: only those of the public internet (reliability F39). */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { Refusal } from '../errors.ts'

/** Networks that lead into this machine, its neighbourhood, or nowhere. */
const PRIVATE_NETWORKS = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
] as const

const PRIVATE = networksOf(PRIVATE_NETWORKS)
const PORT_DEFAULTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** An address that was looked up and found to be callable: what is called is `ip`, not the name. */
export type Callable = { readonly url: URL; readonly ip: string; readonly port: number }

/** Decides about addresses; `allowed` are private networks that may be called all the same. */
export class Addresses {
  readonly #allowed: BlockList

  constructor(allowed: readonly string[] = []) {
    this.#allowed = networksOf(allowed)
  }

  /** Refuses what is no web address, or is a private one already by what it says. */
  requirePublicUrl(text: string, attr: string): URL {
    const url = URL.canParse(text) ? new URL(text) : null
    if (url === null || !(url.protocol in PORT_DEFAULTS)) {
      throw new Refusal('invalid_input', 'Enter a valid http or https URL.', { attr })
    }
    if (url.username !== '' || url.password !== '') {
      throw new Refusal('invalid_input', 'The URL may hold no user name.', { attr })
    }
    const host = hostOf(url)
    const is_local = /(^|\.)(localhost|local|internal)\.?$/i.test(host)
    if (isIP(host) === 0 ? is_local && !this.isPublic('127.0.0.1') : !this.isPublic(host)) {
      throw new Refusal('invalid_input', 'The URL leads to a private address.', { attr })
    }
    return url
  }

  /** Looks a name up; every address it has must be public. Rejects with an Error that says why not. */
  async resolve(url: URL): Promise<Callable> {
    const host = hostOf(url)
    const found = isIP(host) === 0 ? await lookup(host, { all: true }) : [{ address: host }]
    const [first] = found
    if (first === undefined) throw new Error(`${host} has no address`)
    for (const { address } of found) {
      if (!this.isPublic(address)) throw new Error(`${host} leads to a private address`)
    }
    const port = url.port === '' ? (PORT_DEFAULTS[url.protocol] ?? 0) : Number(url.port)
    return { url, ip: first.address, port }
  }

  /** Whether an IP address may be called. */
  isPublic(ip: string): boolean {
    const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1] ?? mappedInHex(ip)
    const plain = mapped ?? ip
    const family = isIP(plain)
    if (family === 0) return false
    const kind = family === 6 ? 'ipv6' : 'ipv4'
    return this.#allowed.check(plain, kind) || !PRIVATE.check(plain, kind)
  }
}

/** URLs write IPv4 addresses inside IPv6 ones in hexadecimal. */
function mappedInHex(ip: string): string | null {
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(ip) ?? []
  if (high === undefined || low === undefined) return null
  const bytes = [high, low].flatMap((part) => {
    const number = Number.parseInt(part, 16)
    return [number >> 8, number & 255]
  })
  return bytes.join('.')
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function networksOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
