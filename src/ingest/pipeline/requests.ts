/** The shapes of a request: one event, a list, a batch object, a person update. */
import { Refusal } from '../../errors.ts'
import type { RawCapture } from '../threads/messages.ts'
import { type DecodedBody, type FormFields, noData } from './decode.ts'
import { parseTimestamp } from './timestamps.ts'

export type SentObject = { [name: string]: unknown }

/** A parsed request; its events are still raw JSON objects. */
export type ParsedRequest = {
  readonly token: unknown
  readonly events: readonly unknown[]
  /** Time of sending, µs by the client's clock; null if missing. */
  readonly sent_at: number | null
  readonly is_historical: boolean
  /** `/engage`: every entry is a person update. */
  readonly is_engage: boolean
  readonly is_text_clean: boolean
}

/** Members that may have the token, in order of precedence. */
const TOKEN_NAMES = ['$token', 'token', 'api_key'] as const

/** Parses a decoded body. Refuses with `no_data`, `invalid_payload` or `invalid_api_key` (contradicting keys). */
export function parseRequest(request: RawCapture, decoded: DecodedBody): ParsedRequest {
  const { value, fields } = decoded
  if (typeof value !== 'object' || value === null) {
    throw new Refusal('invalid_payload', 'Malformed request data: neither an object nor a list')
  }
  // Before the missing key: 400 for a body without anything in it, as on PostHog.
  if (isEmpty(value)) throw noData()
  const envelope: SentObject = Array.isArray(value) ? {} : (value as SentObject)
  const is_batch = Object.hasOwn(envelope, 'batch')
  const events = eventsOf(value, is_batch ? envelope['batch'] : undefined)
  return {
    token: fields['token'] ?? fields['api_key'] ?? tokenIn(envelope) ?? tokenOfAll(events),
    events,
    sent_at: sentAt(fields, Array.isArray(value) ? undefined : envelope['sent_at']),
    is_historical: is_batch && envelope['historical_migration'] === true,
    is_engage: /^\/engage\/?$/.test(request.path),
    is_text_clean: decoded.is_text_clean,
  }
}

/** One event of a request as an object. Refuses for anything else. */
export function requireEventObject(event: unknown): SentObject {
  if (event === null) throw new Refusal('invalid_payload', 'Invalid payload: some events are null')
  if (typeof event !== 'object' || Array.isArray(event)) {
    throw new Refusal('invalid_payload', 'Invalid payload: every event must be an object')
  }
  return event as SentObject
}

function isEmpty(value: object): boolean {
  return (Array.isArray(value) ? value : Object.keys(value)).length === 0
}

function eventsOf(value: object, batch: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (batch === undefined) return [value]
  if (Array.isArray(batch)) return batch
  throw new Refusal('invalid_payload', 'Invalid payload: batch must be a list', { attr: 'batch' })
}

function tokenIn(object: SentObject): unknown {
  for (const name of TOKEN_NAMES) {
    const token = object[name]
    if (token !== undefined && token !== null) return token
  }
  return undefined
}

/** The token that the events name, if the request names none. Refuses events with different tokens. */
function tokenOfAll(events: readonly unknown[]): unknown {
  let token: unknown
  for (const event of events) {
    const event_token = tokenOfEvent(event)
    if (event_token === undefined) continue
    if (token !== undefined && token !== event_token) {
      throw new Refusal(
        'invalid_api_key',
        'Provided API key is not valid: the events of one request name different keys',
        { attr: 'api_key' },
      )
    }
    token = event_token
  }
  return token
}

function tokenOfEvent(event: unknown): unknown {
  if (typeof event !== 'object' || event === null) return undefined
  const token = tokenIn(event as SentObject)
  if (token !== undefined) return token
  const properties = (event as SentObject)['properties']
  if (typeof properties !== 'object' || properties === null) return undefined
  return (properties as SentObject)['token'] ?? undefined
}

function sentAt(fields: FormFields, in_body: unknown): number | null {
  const value = in_body ?? fields['sent_at']
  if (value !== undefined && value !== '') {
    const sent_at = parseTimestamp(value)
    if (sent_at !== null) return sent_at
    const shown = JSON.stringify(value)?.slice(0, 100)
    throw new Refusal('invalid_payload', `Malformed request data, invalid sent at: ${shown}`, {
      attr: 'sent_at',
    })
  }
  return sentAtOfQuery(fields['_'])
}

/** The query field `_`: a time, or a cache-busting number of some libraries. Only a plausible time counts. */
function sentAtOfQuery(text: string | undefined): number | null {
  if (text === undefined || !/^\d{10,14}$/.test(text)) return null
  const number = Number(text)
  return text.length > 11 ? number * 1000 : number * 1_000_000
}
