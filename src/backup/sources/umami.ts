/** Umami's `website_event.csv`: its data export, or a dump of that table; times in UTC. */
import {
  type JSONObject,
  type MappedRecord,
  NO_NAME,
  NO_TIME,
  readId,
  readTime,
  renameProperties,
} from './source.ts'

const COLUMNS = {
  browser: '$browser',
  city: '$geoip_city_name',
  country: '$geoip_country_code',
  device: '$device_type',
  fbclid: 'fbclid',
  gclid: 'gclid',
  hostname: '$host',
  language: '$browser_language',
  msclkid: 'msclkid',
  os: '$os',
  page_title: 'title',
  referrer_domain: '$referring_domain',
  region: '$geoip_subdivision_1_code',
  tag: 'tag',
  ttclid: 'ttclid',
  twclid: 'twclid',
  url_path: '$pathname',
  utm_campaign: 'utm_campaign',
  utm_content: 'utm_content',
  utm_medium: 'utm_medium',
  utm_source: 'utm_source',
  utm_term: 'utm_term',
  visit_id: '$session_id',
}

const PAGE_VIEW = '1'
const CUSTOM_EVENT = '2'

/** Maps a row: Umami's session is a visitor (of a month), its visit a session. */
export function mapUmami(record: JSONObject): MappedRecord {
  const type = readId(record['event_type'])
  if (type !== PAGE_VIEW && type !== CUSTOM_EVENT) {
    return `event_type ${type ?? 'is missing'}: neither a page view nor a custom event`
  }
  const event = type === PAGE_VIEW ? '$pageview' : readId(record['event_name'])
  if (event === null) return NO_NAME
  const distinct_id = readId(record['distinct_id']) ?? readId(record['session_id'])
  if (distinct_id === null) return 'neither distinct_id nor session_id'
  const timestamp = readTime(record['created_at'])
  if (timestamp === null) return NO_TIME
  const uuid = readId(record['event_id']) ?? undefined
  const properties = {
    ...renameProperties(record, COLUMNS),
    ...renameProperties({ url: urlOf(record), referrer: referrerOf(record) }, URLS),
    ...screenOf(record),
  }
  return [{ event, distinct_id, timestamp, uuid, properties }]
}

const URLS = { url: '$current_url', referrer: '$referrer' }

function urlOf(record: JSONObject): string | null {
  const host = readId(record['hostname'])
  if (host === null) return null
  return `https://${host}${readId(record['url_path']) ?? '/'}${queryOf(record['url_query'])}`
}

function referrerOf(record: JSONObject): string | null {
  const host = readId(record['referrer_domain'])
  if (host === null) return null
  const path = readId(record['referrer_path']) ?? '/'
  return `https://${host}${path}${queryOf(record['referrer_query'])}`
}

/** Umami stores a query without its question mark; some dumps have it. */
function queryOf(value: unknown): string {
  const query = readId(value)
  return query === null ? '' : `?${query.replace(/^\?/, '')}`
}

function screenOf(record: JSONObject): JSONObject {
  const size = /^(\d{1,6})x(\d{1,6})$/.exec(readId(record['screen']) ?? '')
  return size === null ? {} : { $screen_width: Number(size[1]), $screen_height: Number(size[2]) }
}
