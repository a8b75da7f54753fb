/** Event properties that describe the person too: each becomes `$set` and, once, `$initial_…` (wire.md 2.2). */
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

/** An event property that describes the person, and the names it gets there. */
export type AutomaticProperty = {
  readonly from: string
  readonly set: string
  readonly initial: string
}

export const AUTOMATIC_PROPERTIES: readonly AutomaticProperty[] = FROM_EVENTS.map((from) => {
  // Mobile clients say `$os_name` for what browsers call `$os`.
  const set = from === '$os_name' ? '$os' : from
  return { from, set, initial: `$initial_${set.replace('$', '')}` }
})
