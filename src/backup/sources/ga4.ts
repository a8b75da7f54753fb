/** Google Analytics 4 as BigQuery exports it: rows of `events_YYYYMMDD` as JSON lines or Parquet. */
import { isObject } from '../../json.ts'
import {
  formatMillis,
  identifyEvent,
  type JSONObject,
  type MappedRecord,
  NO_NAME,
  NO_TIME,
  readId,
  readObject,
  renameProperties,
} from './source.ts'

const NAMES: ReadonlyMap<string, string> = new Map([
  ['page_view', '$pageview'],
  ['screen_view', '$screen'],
])

const PARAMETERS = {
  page_location: '$current_url',
  page_referrer: '$referrer',
  page_title: 'title',
  firebase_screen: '$screen_name',
}
const DEVICE = {
  category: '$device_type',
  language: '$browser_language',
  operating_system: '$os',
  operating_system_version: '$os_version',
}
const WEB = { browser: '$browser', browser_version: '$browser_version', hostname: '$host' }
const GEO = {
  city: '$geoip_city_name',
  continent: '$geoip_continent_name',
  country: '$geoip_country_name',
  region: '$geoip_subdivision_1_name',
}
/** Properties of the user's first traffic source; the event's own source is among its parameters. */
const TRAFFIC = {
  medium: '$initial_utm_medium',
  name: '$initial_utm_campaign',
  source: '$initial_utm_source',
}

/** Maps a row. User properties are set, a user_id and its user_pseudo_id become one person. */
export function mapGA4(record: JSONObject): MappedRecord {
  const name = readId(record['event_name'])
  if (name === null) return NO_NAME
  const us = readId(record['event_timestamp'])
  const timestamp = us === null ? null : formatMillis(Number(us) / 1000)
  if (timestamp === null) return NO_TIME
  const user_id = readId(record['user_id'])
  const pseudo_id = readId(record['user_pseudo_id'])
  const distinct_id = user_id ?? pseudo_id
  if (distinct_id === null) return 'neither user_id nor user_pseudo_id: consent was not given'
  const parameters = readParameters(record['event_params'])
  const session_id = readId(parameters['ga_session_id'])
  const device = readObject(record['device'])
  const set = readParameters(record['user_properties'])
  const set_once = renameProperties(readObject(record['traffic_source']), TRAFFIC)
  const event = {
    event: NAMES.get(name) ?? name,
    distinct_id,
    timestamp,
    properties: {
      ...renameProperties(device, DEVICE),
      ...renameProperties(readObject(device['web_info']), WEB),
      ...renameProperties(readObject(record['geo']), GEO),
      ...parameters,
      ...renameProperties(parameters, PARAMETERS),
      ...(session_id === null ? {} : { $session_id: `${pseudo_id ?? distinct_id}.${session_id}` }),
      ...(Object.keys(set).length === 0 ? {} : { $set: set }),
      ...(Object.keys(set_once).length === 0 ? {} : { $set_once: set_once }),
    },
  }
  const is_both = user_id !== null && pseudo_id !== null
  return is_both ? [identifyEvent(user_id, pseudo_id, timestamp), event] : [event]
}

/** `[{key, value: {string_value | int_value | float_value | double_value}}]` as an object. Integers come as text. */
function readParameters(list: unknown): JSONObject {
  if (!Array.isArray(list)) return {}
  const items: readonly unknown[] = list
  const pairs = items.flatMap((item): [string, unknown][] => {
    if (!isObject(item)) return []
    const key = readId(item['key'])
    const value = readObject(item['value'])
    const integer = value['int_value'] ?? null
    const read =
      value['string_value'] ??
      value['double_value'] ??
      value['float_value'] ??
      (integer === null ? null : Number(integer))
    return key === null || read === null ? [] : [[key, read]]
  })
  return Object.fromEntries(pairs)
}
