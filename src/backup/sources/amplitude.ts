/** Amplitude's Export API: a zip of `.json.gz` files with one event per line, times in UTC. */
import {
  identifyEvent,
  type JSONObject,
  type MappedRecord,
  NO_NAME,
  NO_TIME,
  readId,
  readObject,
  readTime,
  renameProperties,
  uuidOf,
} from './source.ts'

const NAMES: ReadonlyMap<string, string> = new Map([['[Amplitude] Page Viewed', '$pageview']])

const COLUMNS = {
  city: '$geoip_city_name',
  country: '$geoip_country_name',
  device_id: '$device_id',
  device_type: '$device',
  ip_address: '$ip',
  language: '$browser_language',
  library: '$lib',
  os_name: '$os',
  os_version: '$os_version',
  platform: 'platform',
  region: '$geoip_subdivision_1_name',
  version_name: '$app_version',
}

const PROPERTIES = {
  '[Amplitude] Page Location': '$current_url',
  '[Amplitude] Page Path': '$pathname',
  '[Amplitude] Page Title': 'title',
}

/** Maps an event. A user's properties are set with each event, a user and a device become one person. */
export function mapAmplitude(record: JSONObject): MappedRecord {
  const name = readId(record['event_type'])
  if (name === null) return NO_NAME
  const user_id = readId(record['user_id'])
  const device_id = readId(record['device_id'])
  const distinct_id = user_id ?? device_id ?? readId(record['amplitude_id'])
  if (distinct_id === null) return 'neither user_id nor device_id nor amplitude_id'
  const timestamp = readTime(record['event_time'])
  if (timestamp === null) return NO_TIME
  const event_properties = readObject(record['event_properties'])
  const session_id = readId(record['session_id'])
  const user_properties = readObject(record['user_properties'])
  const event = {
    event: NAMES.get(name) ?? name,
    distinct_id,
    timestamp,
    uuid: readId(record['uuid']) ?? eventUuid(record),
    properties: {
      ...renameProperties(record, COLUMNS),
      ...event_properties,
      ...renameProperties(event_properties, PROPERTIES),
      // -1 is an event outside of any session.
      ...(session_id === null || session_id === '-1'
        ? {}
        : { $session_id: `${device_id ?? distinct_id}.${session_id}` }),
      ...(Object.keys(user_properties).length === 0 ? {} : { $set: user_properties }),
    },
  }
  const is_both = user_id !== null && device_id !== null && user_id !== device_id
  return is_both ? [identifyEvent(user_id, device_id, timestamp), event] : [event]
}

function eventUuid(record: JSONObject): string | undefined {
  const id = readId(record['$insert_id']) ?? readId(record['insert_id'])
  return id === null ? undefined : uuidOf(JSON.stringify(['amplitude', record['device_id'], id]))
}
