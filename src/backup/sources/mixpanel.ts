/** Mixpanel's raw event export: one event per line, `time` in seconds (or milliseconds, when asked for). */
import {
  formatMillis,
  type JSONObject,
  type MappedRecord,
  NO_NAME,
  NO_TIME,
  readId,
  readObject,
  renameProperties,
  uuidOf,
} from './source.ts'

const NAMES: ReadonlyMap<string, string> = new Map([['$mp_web_page_view', '$pageview']])

const PROPERTIES = {
  $app_version_string: '$app_version',
  $city: '$geoip_city_name',
  $region: '$geoip_subdivision_1_name',
  current_page_title: 'title',
  mp_country_code: '$geoip_country_code',
  mp_lib: '$lib',
}

/** Seconds of the year 5138: larger numbers are milliseconds. */
const SECONDS_MAX = 100_000_000_000

/** Members that say how Mixpanel received the event. */
const INTERNAL_MEMBERS =
  /^(time|distinct_id|token|\$insert_id|\$import|\$mp_api_.*|mp_processing_time_ms|mp_sent_by_lib_version|\$distinct_id_before_identity|\$is_reshuffled)$/

/** Maps an event; identities become those of this server. */
export function mapMixpanel(record: JSONObject): MappedRecord {
  const name = readId(record['event'])
  if (name === null) return NO_NAME
  const sent = readObject(record['properties'])
  const time = Number(readId(sent['time']) ?? Number.NaN)
  const timestamp = formatMillis(time > SECONDS_MAX ? time : time * 1000)
  if (timestamp === null) return NO_TIME
  const at = { timestamp, ...eventUuid(sent) }
  if (name === '$merge') return mergeIds(at, sent['$distinct_ids'])
  const identified_id = readId(sent['$identified_id'])
  const anonymous_id = readId(sent['$anon_id'])
  if (name === '$identify' && identified_id !== null && anonymous_id !== null) {
    const properties = { $anon_distinct_id: anonymous_id }
    return [{ ...at, event: name, distinct_id: identified_id, properties }]
  }
  const distinct_id = readId(sent['distinct_id'])
  if (distinct_id === null) return 'no distinct_id'
  const own = Object.entries(sent).filter(([key]) => !INTERNAL_MEMBERS.test(key))
  const properties = { ...Object.fromEntries(own), ...renameProperties(sent, PROPERTIES) }
  return [{ ...at, event: NAMES.get(name) ?? name, distinct_id, properties }]
}

function mergeIds(at: JSONObject, ids: unknown): MappedRecord {
  const [distinct_id = null, alias = null] = Array.isArray(ids) ? ids.map(readId) : []
  if (distinct_id === null || alias === null) return '$merge without two $distinct_ids'
  return [{ ...at, event: '$merge_dangerously', distinct_id, properties: { alias } }]
}

/** Mixpanel deduplicates by name, distinct id, time and $insert_id; an $insert_id is unique by itself in practice. */
function eventUuid(sent: JSONObject): { uuid?: string } {
  const id = readId(sent['$insert_id'])
  if (id === null) return {}
  return { uuid: uuidOf(JSON.stringify(['mixpanel', sent['distinct_id'], sent['time'], id])) }
}
