/** Readable names of the events and properties that SDKs send by themselves, and of countries. */

const EVENTS: Readonly<Record<string, string>> = {
  $pageview: 'Page view',
  $pageleave: 'Page leave',
  $autocapture: 'Click or change (autocapture)',
  $rageclick: 'Rage click',
  $screen: 'Screen view',
  $identify: 'Identify',
  $create_alias: 'Alias',
  $groupidentify: 'Group identify',
  $delete_group_property: 'Remove a group property',
  $set: 'Set person properties',
  $feature_flag_called: 'Flag called',
  $exception: 'Exception',
  $web_vitals: 'Web vitals',
  $dead_click: 'Dead click',
  $opt_in: 'Opt in',
  'survey shown': 'Survey shown',
  'survey sent': 'Survey sent',
  'survey dismissed': 'Survey dismissed',
}

const PROPERTIES: Readonly<Record<string, string>> = {
  $active_feature_flags: 'Active flags',
  $app_name: 'App name',
  $app_version: 'App version',
  $browser: 'Browser',
  $browser_language: 'Browser language',
  $browser_version: 'Browser version',
  $creator_event_uuid: 'Id of the first event',
  $current_url: 'URL',
  $device_id: 'Device id',
  $device_type: 'Device type',
  $entry_current_url: 'Entry URL',
  $entry_pathname: 'Entry path',
  $entry_referring_domain: 'Entry referring domain',
  $end_current_url: 'Exit URL',
  $end_pathname: 'Exit path',
  $event_type: 'Event type',
  $feature_flag: 'Flag',
  $feature_flag_response: 'Flag answer',
  $geoip_city_name: 'City',
  $geoip_continent_code: 'Continent code',
  $geoip_continent_name: 'Continent',
  $geoip_country_code: 'Country code',
  $geoip_country_name: 'Country',
  $geoip_latitude: 'Latitude',
  $geoip_longitude: 'Longitude',
  $geoip_postal_code: 'Postal code',
  $geoip_subdivision_1_code: 'Region code',
  $geoip_subdivision_1_name: 'Region',
  $geoip_time_zone: 'Time zone (by address)',
  $host: 'Host',
  $ip: 'IP address',
  $lib: 'Library',
  $lib_version: 'Library version',
  $os: 'Operating system',
  $os_version: 'Operating system version',
  $pageview_id: 'Page view id',
  $pathname: 'Path',
  $referrer: 'Referrer',
  $referring_domain: 'Referring domain',
  $screen_height: 'Screen height',
  $screen_name: 'Screen name',
  $screen_width: 'Screen width',
  $session_duration: 'Session duration',
  $session_id: 'Session id',
  $start_timestamp: 'Session start',
  $end_timestamp: 'Session end',
  $timezone: 'Time zone',
  $viewport_height: 'Viewport height',
  $viewport_width: 'Viewport width',
  $channel_type: 'Channel',
  $is_bounce: 'Bounced',
  utm_campaign: 'UTM campaign',
  utm_content: 'UTM content',
  utm_medium: 'UTM medium',
  utm_source: 'UTM source',
  utm_term: 'UTM term',
}

/** `$pageview` → `Page view`; names of a project's own stay. */
export function eventTitle(name: string | null): string {
  if (name === null || name === '') return 'All events'
  return (Object.hasOwn(EVENTS, name) ? EVENTS[name] : undefined) ?? name
}

/** `$browser` → `Browser`, `$initial_browser` → `First browser`; names of a project's own stay. */
export function propertyTitle(name: string): string {
  const title = titleIn(name)
  if (title !== undefined || !name.startsWith(INITIAL)) return title ?? name
  // Of a person's first visit; `$initial_utm_source` is that of `utm_source`.
  const rest = name.slice(INITIAL.length)
  const plain_title = titleIn(`$${rest}`) ?? titleIn(rest)
  return plain_title === undefined ? name : `First ${lowerFirst(plain_title)}`
}

const INITIAL = '$initial_'

const titleIn = (name: string): string | undefined =>
  Object.hasOwn(PROPERTIES, name) ? PROPERTIES[name] : undefined

/** `Browser` → `browser`; `URL` stays. */
const lowerFirst = (title: string): string =>
  title.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())

/** SESSION_PROPERTIES: the properties of an event's session that filters and breakdowns offer. */
export const SESSION_PROPERTIES: readonly {
  readonly name: string
  readonly property_type: string
}[] = [
  { name: '$session_duration', property_type: 'Numeric' },
  { name: '$is_bounce', property_type: 'Boolean' },
  { name: '$channel_type', property_type: 'String' },
  { name: '$entry_pathname', property_type: 'String' },
  { name: '$entry_current_url', property_type: 'String' },
  { name: '$entry_referring_domain', property_type: 'String' },
  { name: '$end_pathname', property_type: 'String' },
  { name: '$start_timestamp', property_type: 'DateTime' },
]

const COUNTRIES = new Intl.DisplayNames(['en-GB'], { type: 'region', fallback: 'code' })

/** `NL` → `Netherlands`; a text that is no code stays, since clients may send any. */
export function countryName(code: string): string {
  try {
    return COUNTRIES.of(code) ?? code
  } catch {
    return code
  }
}
