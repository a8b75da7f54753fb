/** Where an event came from: `$geoip_*` properties from its address. */
import type { GeoipProperties } from '../../geoip.ts'
import type { EventDraft } from './event-draft.ts'

/** Adds what is known of the event's address, unless the client asked not to (server libraries do). */
export function locateEvent(draft: EventDraft): null {
  const { request_context, properties } = draft
  const ip = properties['$ip']
  if (request_context.transformations?.is_located === false) return null
  if (properties['$geoip_disable'] === true || typeof ip !== 'string') return null
  const located = request_context.locate(ip)
  if (located !== null) Object.assign(properties, located)
  return null
}

/** The address is left out only now: it had to be there to be located. */
export function hideAddress(draft: EventDraft): null {
  if (draft.request_context.project.anonymize_ips) delete draft.properties['$ip']
  return null
}

/** Looks an address up; a request's events mostly share theirs, so the last one is remembered. */
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
