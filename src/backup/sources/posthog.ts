/** PostHog's batch exports: the models `events` and `persons`, as Parquet or JSON lines. */
import {
  type JSONObject,
  type MappedRecord,
  NO_NAME,
  NO_TIME,
  readId,
  readObject,
  readTime,
  uuidOf,
} from './source.ts'

/**
 * Maps a row of either model. Events bring their merges with them ($identify, $create_alias, $merge_dangerously); a
 * person's row, one for each of its distinct ids, sets the person's properties.
 */
export function mapPostHog(record: JSONObject): MappedRecord {
  const distinct_id = readId(record['distinct_id'])
  const is_person = record['event'] === undefined && record['person_id'] !== undefined
  if (is_person && distinct_id !== null) return setPerson(record, distinct_id)
  if (record['event'] === undefined && record['session_id'] !== undefined) {
    return 'a session: sessions are computed from events'
  }
  const event = readId(record['event'])
  if (event === null) return NO_NAME
  if (distinct_id === null) return 'no distinct_id'
  const sent = readObject(record['properties'])
  const chain = readId(record['elements_chain'])
  const properties = chain === null ? sent : { ...sent, $elements_chain: chain }
  const uuid = readId(record['uuid']) ?? undefined
  const timestamp = readTime(record['timestamp'])
  if (timestamp === null) return NO_TIME
  return [{ event, distinct_id, timestamp, uuid, properties }]
}

function setPerson(record: JSONObject, distinct_id: string): MappedRecord {
  if (record['is_deleted'] === true) return 'a deleted person'
  const uuid = uuidOf(
    JSON.stringify(['posthog person', distinct_id, record['person_id'], record['person_version']]),
  )
  const properties = { $set: readObject(record['properties']) }
  return [
    { event: '$set', distinct_id, timestamp: readTime(record['created_at']), uuid, properties },
  ]
}
