/** Decodes requests of decide and flags: bodies are encoded like events, members have several names. */

import { ERRORS, Refusal } from '../../errors.ts'
import { EVERYTHING, type Selection } from '../../flags/evaluate.ts'
import { identifierOf, memoizeLast } from '../../flags/operators/value.ts'
import { isDeeperThan } from '../../ingest/pipeline/clean.ts'
import { decodeRequest, type FormFields, readFields } from '../../ingest/pipeline/decode.ts'
import { CAPTURE_LIMITS } from '../../ingest/threads/messages.ts'
import { isObject } from '../../json.ts'
import { queryOf } from '../addresses.ts'

/** A decoded request; values have whatever type was sent. */
export type FlagRequest = {
  /** Query string and form fields. */
  readonly fields: FormFields
  readonly token: unknown
  /** Undefined or null when there is none. */
  readonly distinct_id: unknown
  readonly anon_distinct_id: string | null
  readonly device_id: string | null
  readonly groups: unknown
  readonly person_properties: unknown
  readonly group_properties: unknown
  readonly is_geoip_disabled: boolean
  readonly is_disabled: boolean
  readonly selection: Selection
}

type FlagRequestBody = Readonly<Record<string, unknown>>

const { depth_max } = CAPTURE_LIMITS

/**
 * The largest body, both as sent and unpacked: it is parsed on the main thread, which blocks everything else.
 */
export const FLAG_BODY_BYTES_MAX = 256 * 1024
/** Bodies up to this size are parsed before their token is checked. */
const PLAIN_BYTES_MAX = 64 * 1024

/**
 * Decodes a request whose body has been read. Refuses with `malformed_data`, or when it is too large.
 * `knowsToken` returns whether a project has a token: a long body without a known one is not parsed.
 */
export function readFlagRequest(
  request: Request,
  body: Uint8Array<ArrayBuffer>,
  knowsToken: (token: string) => boolean,
): FlagRequest {
  const query = queryOf(request.url)
  const plain = decodePlain(body)
  if (plain !== undefined) return flagRequestOf(plain, readFieldsOnce(query))
  const { value, fields } = decode(request, query, body, knowsToken)
  return flagRequestOf(value, fields)
}

function flagRequestOf(value: unknown, fields: FormFields): FlagRequest {
  if (!isObject(value)) throw refuseMalformed('not an object')
  if (isDeeperThan(value, depth_max))
    throw refuseMalformed(`nested deeper than ${depth_max} levels`)
  const anon_distinct_id = textOrNull(value['$anon_distinct_id'] ?? value['anon_distinct_id'])
  return {
    fields,
    token: tokenOf(value, fields),
    distinct_id: value['distinct_id'] ?? value['$distinct_id'],
    anon_distinct_id: anon_distinct_id && identifierOf(anon_distinct_id),
    device_id: textOrNull(value['$device_id'] ?? value['device_id']),
    groups: value['groups'] ?? value['$groups'],
    person_properties: value['person_properties'] ?? value['$properties'],
    group_properties: value['group_properties'] ?? value['$group_properties'],
    is_geoip_disabled: isTrue(value['geoip_disable'] ?? value['$geoip_disable']),
    is_disabled: isTrue(value['disable_flags']),
    selection: selectionOf(value),
  }
}

function decode(
  { headers }: Request,
  query: string,
  body: Uint8Array<ArrayBuffer>,
  knowsToken: (token: string) => boolean,
): { readonly value: unknown; readonly fields: FormFields } {
  try {
    return decodeRequest(
      {
        path: '',
        query,
        content_type: headers.get('content-type') ?? '',
        content_encoding: headers.get('content-encoding') ?? '',
        client_ip: '',
        received_at_ms: 0,
        body,
      },
      { body_bytes_max: FLAG_BODY_BYTES_MAX, knowsToken },
    )
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // An empty request is refused for its missing key first.
    if (error.code === 'no_data' || error.code === 'missing_api_key') {
      return { value: {}, fields: readFields(query) }
    }
    // The two dialects phrase an unknown key differently, so the caller of this function refuses it.
    if (ERRORS[error.code] === 'authentication_error') {
      return { value: { token: UNKNOWN_TOKEN }, fields: {} }
    }
    if (error.code === 'invalid_payload') throw new Refusal('malformed_data', error.detail)
    throw error
  }
}

/** Longer than any token, so no project has it. */
const UNKNOWN_TOKEN = '?'.repeat(65)

const UTF8 = new TextDecoder('utf-8', { fatal: true })
const OBJECT_START = 0x7b

/** Parses a bare JSON object, as nearly every body is; undefined for anything else. */
function decodePlain(body: Uint8Array): unknown {
  if (body[0] !== OBJECT_START || body.length > PLAIN_BYTES_MAX) return undefined
  try {
    return JSON.parse(UTF8.decode(body))
  } catch {
    return undefined
  }
}

/** Remembers the last query string: nearly every one equals the one before. */
const readFieldsOnce = memoizeLast(readFields)

function tokenOf(body: FlagRequestBody, fields: FormFields): unknown {
  const properties = body['properties']
  return (
    fields['token'] ??
    fields['api_key'] ??
    body['token'] ??
    body['api_key'] ??
    body['$token'] ??
    (isObject(properties) ? properties['token'] : undefined)
  )
}

function selectionOf(body: FlagRequestBody): Selection {
  const runtime = body['evaluation_runtime']
  const contexts = textsOrNull(body['evaluation_contexts'] ?? body['evaluation_environments'])
  const flag_keys = textsOrNull(body['flag_keys_to_evaluate'] ?? body['flag_keys'])
  if (contexts === null && flag_keys === null && typeof runtime !== 'string') return EVERYTHING
  return {
    flag_keys,
    evaluation_runtime: typeof runtime === 'string' ? runtimeNamed(runtime) : null,
    // A body has room for 250,000 of them, and each flag looks for its own.
    evaluation_contexts: contexts && new Set(contexts),
  }
}

/** A word that names no runtime means all of them. */
function runtimeNamed(word: string): string {
  const runtime = word.toLowerCase()
  return runtime === 'client' || runtime === 'server' ? runtime : 'all'
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 1
}

function textOrNull(value: unknown): string | null {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}

function textsOrNull(value: unknown): readonly string[] | null {
  if (!Array.isArray(value)) return null
  return value.filter((item): item is string => typeof item === 'string')
}

function refuseMalformed(cause: string): Refusal {
  return new Refusal('malformed_data', `Malformed request data: ${cause}`)
}
