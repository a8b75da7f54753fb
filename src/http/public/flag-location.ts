/** Locates the person whose flags are evaluated, by a header's address or by the connection's. */
import { isIP } from 'node:net'
import { flagGeoip, type Geoip, type GeoipProperties } from '../../geoip.ts'
import { withoutPort } from '../callers/client-ip.ts'
import type { ClientSocket } from '../endpoint.ts'

/**
 * `location` is from a header and overrides stored properties; `nearby` is from the connection and only fills
 * gaps.
 */
type LocationLookup = {
  readonly location: GeoipProperties | null
  readonly nearby: GeoipProperties | null
}

/** PostHog reads the header under its name in WSGI; proxies send it under the usual one. */
const HEADERS = ['http_x_forwarded_for', 'x-forwarded-for'] as const

/** Locates the caller of decide or flags. Like PostHog it trusts these headers from every caller. */
export function locate(geoip: Geoip, request: Request, socket: ClientSocket): LocationLookup {
  for (const name of HEADERS) {
    const chain = request.headers.get(name)
    if (chain === null) continue
    // The client is the first entry.
    return {
      location: locateAddress(geoip, withoutPort(chain.split(',', 1)[0] ?? '')),
      nearby: null,
    }
  }
  const address = socket?.requestIP(request)?.address ?? ''
  return { location: null, nearby: locateAddress(geoip, address) }
}

function locateAddress(geoip: Geoip, address: string): GeoipProperties | null {
  const result = isIP(address) === 0 ? null : geoip.lookup(address)
  return result && flagGeoip(result)
}
