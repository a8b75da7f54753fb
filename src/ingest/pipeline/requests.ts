/** The shapes a request may have: one event, a list, a batch object, a person update. */
import { Refusal } from '../../errors.ts'
import type { RawCapture } from '../threads/messages.ts'
import type { DecodedBody, FormFields } from './decode.ts'
import { parseTimestamp } from './timestamps.ts'

export type SentObject = { [name: string]: unknown }

/** A request taken apart; the events are still as they were sent. */
export type ParsedRequest = {
  readonly token: unknown
  readonly events: readonly unknown[]
  /** When the client sent it by its own clock, µs; null when not told. */
  readonly sent_at: number | null
  readonly is_historical: boolean
  /** `/engage`: every entry is a person update. */
  readonly is_engage: boolean
  readonly is_text_clean: boolean
}

/** Where a token may stand, in order of precedence. */
const TOKEN_NAMES = ['$token', 'token', 'api_key'] as const

/** Takes a decoded body apart. Refuses with `invalid_payload` or `invalid_api_key` (contradicting keys). */
export function parseRequest(request: RawCapture, decoded: DecodedBody): ParsedRequest {
  const { value, fields } = decoded
  if (typeof value !== 'object' || value === null) {
    throw new Refusal('invalid_payload', 'Malformed request data: neither an object nor a list')
  }
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

/** Without a key of the request itself, each event names one, and they must agree. */
function tokenOfAll(events: readonly unknown[]): unknown {
  let token: unknown
  for (const event of events) {
    const own = tokenOfEvent(event)
    if (own === undefined) continue
    if (token !== undefined && token !== own) {
      throw new Refusal(
        'invalid_api_key',
        'Provided API key is not valid: the events of one request name different keys',
        { attr: 'api_key' },
      )
    }
    token = own
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
  const told = in_body ?? fields['sent_at']
  if (told !== undefined && told !== '') {
    const sent_at = parseTimestamp(told)
    if (sent_at !== null) return sent_at
    const shown = JSON.stringify(told)?.slice(0, 100)
    throw new Refusal('invalid_payload', `Malformed request data, invalid sent at: ${shown}`, {
      attr: 'sent_at',
    })
  }
  return sentAtOfQuery(fields['_'])
}

/** `_` is also what some libraries put there against caches: only a plausible time counts. */
function sentAtOfQuery(text: string | undefined): number | null {
  if (text === undefined || !/^\d{10,14}$/.test(text)) return null
  const number = Number(text)
  return text.length > 11 ? number * 1000 : number * 1_000_000
}
