/** Event properties that describe the person too: each becomes `$set` and, once, `$initial_…` (wire.md 2.2). */
import type { Properties } from '../storage/person-store.ts'

const FROM_EVENTS = [
  '$app_build',
  '$app_name',
  '$app_namespace',
  '$app_version',
  '$browser',
  '$browser_version',
  '$device_type',
  '$current_url',
  '$pathname',
  '$os',
  '$os_name',
  '$os_version',
  '$referring_domain',
  '$referrer',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_content',
  'utm_name',
  'utm_term',
  'gclid',
  'gad_source',
  'gclsrc',
  'dclid',
  'gbraid',
  'wbraid',
  'fbclid',
  'msclkid',
  'twclid',
  'li_fat_id',
  'mc_cid',
  'igshid',
  'ttclid',
  'rdt_cid',
  'irclid',
  '_kx',
  'epik',
  'qclid',
  'sccid',
] as const

/** What a located event tells of its person. The first of them are known of every place, or null (wire.md 1.10). */
const LOCATED = [
  '$geoip_city_name',
  '$geoip_country_name',
  '$geoip_country_code',
  '$geoip_continent_name',
  '$geoip_continent_code',
  '$geoip_postal_code',
  '$geoip_latitude',
  '$geoip_longitude',
  '$geoip_time_zone',
] as const

const LOCATED_SOMETIMES = [
  '$geoip_city_confidence',
  '$geoip_country_confidence',
  '$geoip_postal_code_confidence',
  '$geoip_accuracy_radius',
  '$geoip_subdivision_1_code',
  '$geoip_subdivision_1_name',
  '$geoip_subdivision_2_code',
  '$geoip_subdivision_2_name',
] as const

/** An event property that describes the person, and the names it gets there. */
export type AutomaticProperty = {
  readonly from: string
  readonly set: string
  readonly initial: string
  /** What a located event that does not tell it says. */
  readonly otherwise: null | undefined
}

const EVERYWHERE: readonly AutomaticProperty[] = FROM_EVENTS.map((from) =>
  // Mobile clients say `$os_name` for what browsers call `$os`.
  describe(from, from === '$os_name' ? '$os' : from, undefined),
)

const WHERE_LOCATED: readonly AutomaticProperty[] = [
  ...EVERYWHERE,
  ...LOCATED.map((from) => describe(from, from, null)),
  ...LOCATED_SOMETIMES.map((from) => describe(from, from, undefined)),
]

/** The properties that this event may tell of its person. */
export function automaticPropertiesOf(told: Properties): readonly AutomaticProperty[] {
  return told['$geoip_country_code'] === undefined ? EVERYWHERE : WHERE_LOCATED
}

/** What an event tells under this name; undefined when nothing. */
export function toldBy(told: Properties, { from, otherwise }: AutomaticProperty): unknown {
  const value = told[from]
  return value === undefined ? otherwise : value
}

function describe(from: string, set: string, otherwise: null | undefined): AutomaticProperty {
  return { from, set, initial: `$initial_${set.replace('$', '')}`, otherwise }
}
