/** Steps about an event's IP address: `$geoip_*` properties, anonymization. */
import type { GeoipProperties } from '../../geoip.ts'
import type { EventDraft } from './event-draft.ts'

/**
 * Adds `$geoip_*` properties, unless the client disabled it (server SDKs do, by `$geoip_disable`) or the project did.
 */
export function locateEvent(draft: EventDraft): null {
  const { request_context, properties } = draft
  const ip = properties['$ip']
  if (request_context.transformations?.is_located === false) return null
  if (properties['$geoip_disable'] === true || typeof ip !== 'string') return null
  const located = request_context.locate(ip)
  if (located !== null) Object.assign(properties, located)
  return null
}

/** Deletes the address if the project anonymizes IPs. Runs after `locateEvent`, which needs it. */
export function hideAddress(draft: EventDraft): null {
  if (draft.request_context.project.anonymize_ips) delete draft.properties['$ip']
  return null
}

/** Caches the last lookup: the events of a request mostly have the same address. */
export function memoizeLocation(
  lookup: (ip: string) => GeoipProperties | null,
): (ip: string) => GeoipProperties | null {
  let last_ip: string | null = null
  let last: GeoipProperties | null = null
  return (ip) => {
    if (ip === last_ip) return last
    last = lookup(ip)
    last_ip = ip
    return last
  }
}
