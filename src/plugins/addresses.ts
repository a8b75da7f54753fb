/** Guards outgoing calls against server-side request forgery: a webhook may only lead to public internet addresses. */
import { isIP } from 'node:net'
import { Refusal } from '../errors.ts'
import { findAddresses, hostOf } from '../name-lookup.ts'
import { type IsInNetworks, networksOf, normalizeIp } from '../networks.ts'

/** IPv4 networks of this machine, its local network, its cloud provider's services, or reserved ones. */
const NOT_PUBLIC_V4 = networksOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT, and the metadata service of one cloud
  '127.0.0.0/8',
  '168.63.129.16', // services of one cloud to its own machines
  '169.254.0.0/16', // link-local, and the metadata service of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments, and the metadata service of one cloud
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

/** IPv6 global unicast. NAT64, local and mapped addresses are outside of it. */
const UNICAST_V6 = networksOf(['2000::/3'])

/** Networks within it that embed an IPv4 address, or are reserved. */
const NOT_PUBLIC_V6 = networksOf([
  '2001::/23', // protocols, Teredo among them
  '2001:db8::/32',
  '2002::/16', // 6to4
  '2620:4f:8000::/48',
  '3fff::/20',
])

const PORT_DEFAULTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** A resolved and checked URL. The connection goes to `ip`: a second lookup of the name could give another address. */
export type Callable = { readonly url: URL; readonly ip: string; readonly port: number }

/** Checks addresses. `allowed` are private networks that may be called too. */
export class Addresses {
  readonly #isAllowed: IsInNetworks

  constructor(allowed: readonly string[] = []) {
    this.#isAllowed = networksOf(allowed)
  }

  /**
   * Refuses a text that is no http(s) URL, and a URL with a private address as its host. A host's name is not resolved
   * here.
   */
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
   * Resolves a URL's host; every address of it must be public. Rejects with one message for an unknown name and a
   * private address, so that callers cannot probe names of the internal network.
   */
  async resolve(url: URL): Promise<Callable> {
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? await findAddresses(host) : [host]
    const [first] = addresses
    if (first === undefined || !addresses.every((address) => this.isPublic(address))) {
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
    // An address with a zone is link-local.
    return family === 6 && !plain.includes('%') && UNICAST_V6(plain) && !NOT_PUBLIC_V6(plain)
  }
}
