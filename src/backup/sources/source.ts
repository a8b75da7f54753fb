/** The mapping of another tool's export files: one record in, events in the shape of `/batch/` out. */
import { isObject } from '../../json.ts'

export type JSONObject = Readonly<Record<string, unknown>>

/** The events of a record, or the reason why it cannot be brought over, which is counted and printed. */
export type MappedRecord = readonly JSONObject[] | string

/** Maps one record. An event without `uuid` gets one from its file and position, so that it is stored once. */
export type MapRecord = (record: JSONObject) => MappedRecord

export const NO_NAME = 'no event name'
export const NO_TIME = 'no time that can be read'

/** The text of a value that identifies something: a non-empty string or a number; null for everything else. */
export function readId(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}

/** An object, also one that is written as JSON text; null for everything else. */
export function parseObject(value: unknown): JSONObject | null {
  if (isObject(value)) return value
  if (typeof value !== 'string') return null
  try {
    const parsed: unknown = JSON.parse(value)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

/** The same; an empty object for everything else. */
export function readObject(value: unknown): JSONObject {
  return parseObject(value) ?? {}
}

const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ](?:[01]\d|2[0-4]):[0-5]\d|$)/

/** A time as text, `2026-03-01 10:00:00` or ISO 8601; null for everything else, since the time of receipt would be taken. */
export function readTime(value: unknown): string | null {
  return typeof value === 'string' && TIME.test(value) ? value : null
}

/** ISO 8601 of milliseconds since 1970, or null for a number that is no time. */
export function formatMillis(ms: number): string | null {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? null : time.toISOString()
}

/** Properties under our names: `names` maps those of the other tool; empty values are left out. */
export function renameProperties(
  properties: JSONObject,
  names: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names)
      .map(([theirs, ours]) => [ours, properties[theirs]] as const)
      .filter(([, value]) => value !== undefined && value !== null && value !== ''),
  )
}

/** The event that makes an anonymous id and a user's id one person. */
export function identifyEvent(
  user_id: string,
  anonymous_id: string,
  timestamp: unknown,
): JSONObject {
  return {
    event: '$identify',
    distinct_id: user_id,
    timestamp,
    uuid: uuidOf(JSON.stringify(['identify', user_id, anonymous_id])),
    properties: { $anon_distinct_id: anonymous_id },
  }
}

/** A UUID that is the same for the same text. */
export function uuidOf(text: string): string {
  const hex = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
