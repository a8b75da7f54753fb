/** Where the person is whom flags are evaluated for: what headers say of the address, and what the connection says. */
import { isIP } from 'node:net'
import { flagGeoip, type Geoip, type GeoipProperties } from '../../geoip.ts'
import type { ClientSocket } from '../endpoint.ts'

/** `location` is what the caller says and lies over what is stored; `nearby` counts only where nothing is stored. */
export type LocationLookup = {
  readonly location: GeoipProperties | null
  readonly nearby: GeoipProperties | null
}

export const NOWHERE: LocationLookup = { location: null, nearby: null }

/** The interface names the header as some servers call it inside; proxies send it under the usual name. */
const HEADERS = ['http_x_forwarded_for', 'x-forwarded-for'] as const

/** Locates the caller of decide or flags. The interface believes the headers from everybody. */
export function locate(geoip: Geoip, request: Request, socket: ClientSocket): LocationLookup {
  for (const name of HEADERS) {
    const chain = request.headers.get(name)
    if (chain === null) continue
    return { location: placeOf(geoip, firstAddress(chain)), nearby: null }
  }
  const address = socket?.requestIP(request)?.address ?? ''
  return { location: null, nearby: placeOf(geoip, address) }
}

function placeOf(geoip: Geoip, address: string): GeoipProperties | null {
  const result = isIP(address) === 0 ? null : geoip.lookup(address)
  return result && flagGeoip(result)
}

/** The client stands first; an address may carry a port. */
function firstAddress(chain: string): string {
  const text = (chain.split(',', 1)[0] ?? '').trim()
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
}
