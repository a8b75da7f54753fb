/** Which addresses a server may call on behalf of others: only those of the public internet. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { Refusal } from '../errors.ts'
import { type IsInNetworks, networksOf, normalizeIp } from '../networks.ts'

/** IPv4: what leads into this machine, its neighbourhood, its provider's services, or nowhere. */
const NOT_PUBLIC_V4 = networksOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // carriers, and the metadata of one cloud
  '127.0.0.0/8',
  '168.63.129.16', // services of one cloud to its own machines
  '169.254.0.0/16', // neighbours, and the metadata of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocols, and the metadata of one cloud
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/** IPv6: all that is given out to the internet; NAT64, local and mapped addresses are elsewhere. */
const UNICAST_V6 = networksOf(['2000::/3'])

/** Of these, what leads to an IPv4 address of the caller's choice, or nowhere. */
const NOT_PUBLIC_V6 = networksOf([
  '2001::/23', // protocols, Teredo among them
  '2001:db8::/32',
  '2002::/16', // 6to4
  '2620:4f:8000::/48',
  '3fff::/20',
])

const PORT_DEFAULTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** An address that was looked up and found to be callable: what is called is `ip`, not the name. */
export type Callable = { readonly url: URL; readonly ip: string; readonly port: number }

/** Decides about addresses; `allowed` are private networks that may be called all the same. */
export class Addresses {
  readonly #isAllowed: IsInNetworks

  constructor(allowed: readonly string[] = []) {
    this.#isAllowed = networksOf(allowed)
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

  /**
   * Looks a name up; every address it has must be public. Rejects with an Error that says the same whether there is no
   * such name or it leads to a private address: its reader could ask for names of our own network otherwise.
   */
  async resolve(url: URL): Promise<Callable> {
    const host = hostOf(url)
    const found = isIP(host) === 0 ? await lookUp(host) : [host]
    const [first] = found
    if (first === undefined || !found.every((address) => this.isPublic(address))) {
      throw new Error(`${host} has no public address`)
    }
    const port = url.port === '' ? (PORT_DEFAULTS[url.protocol] ?? 0) : Number(url.port)
    return { url, ip: first, port }
  }

  /** Whether an IP address may be called. */
  isPublic(ip: string): boolean {
    const plain = normalizeIp(ip)
    if (this.#isAllowed(plain)) return true
    const family = isIP(plain)
    if (family === 4) return !NOT_PUBLIC_V4(plain)
    // An address with a zone is one of a neighbour.
    return family === 6 && !plain.includes('%') && UNICAST_V6(plain) && !NOT_PUBLIC_V6(plain)
  }
}

/** The addresses of a name; none when there is no such name, or nobody to ask. */
async function lookUp(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true }).catch(() => [])
  return found.map(({ address }) => address)
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}
