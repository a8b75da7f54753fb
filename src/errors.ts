/** ERRORS: the codes of refusals, the family of each, and `Refusal`, the error class that carries them. */

/** The `type` member of an error body (wire form `{type, code, detail, attr}`). */
type ErrorType =
  | 'authentication_error'
  | 'client_error'
  | 'invalid_request'
  | 'server_error'
  | 'throttled_error'
  | 'validation_error'

/** Code → family. `http/answers/refusals.ts` maps codes to HTTP statuses. */
export const ERRORS = {
  // the caller
  authentication_failed: 'authentication_error',
  invalid_api_key: 'authentication_error',
  missing_api_key: 'authentication_error',
  no_api_key: 'authentication_error',
  not_authenticated: 'authentication_error',
  permission_denied: 'authentication_error',
  // the form of a project's key in captured events
  empty: 'authentication_error',
  not_ascii: 'authentication_error',
  not_string: 'authentication_error',
  personal_api_key: 'authentication_error',
  too_long: 'authentication_error',
  // the body and its fields
  behavioral_cohort_found: 'validation_error',
  blank: 'validation_error',
  cohort_does_not_exist: 'validation_error',
  does_not_exist: 'validation_error',
  invalid_choice: 'validation_error',
  invalid_date: 'validation_error',
  invalid_input: 'validation_error',
  invalid_key: 'validation_error',
  invalid_payload: 'validation_error',
  invalid_value: 'validation_error',
  malformed_data: 'validation_error',
  max_length: 'validation_error',
  max_value: 'validation_error',
  min_value: 'validation_error',
  missing_distinct_id: 'validation_error',
  no_data: 'validation_error',
  null: 'validation_error',
  parse_error: 'invalid_request',
  request_too_large: 'client_error',
  required: 'validation_error',
  unique: 'validation_error',
  unsupported_media_type: 'invalid_request',
  // the path
  ask_home: 'invalid_request',
  method_not_allowed: 'invalid_request',
  not_found: 'invalid_request',
  // queries that cannot be answered
  query_cancelled: 'validation_error',
  query_failed: 'validation_error',
  query_memory: 'validation_error',
  query_timeout: 'validation_error',
  query_too_large: 'validation_error',
  // temporary
  storage_unavailable: 'server_error',
  throttled: 'throttled_error',
} as const satisfies Record<string, ErrorType>

export type ErrorCode = keyof typeof ERRORS

/** The position of a fault in a text: offsets in UTF-16 code units, `end` exclusive. */
export type Span = { readonly start: number; readonly end: number }

/** Optional members of a refusal. */
export type RefusalExtras = {
  /** The invalid field, nested names joined by `__`; null if it is no single field. */
  readonly attr?: string | null
  readonly span?: Span
  readonly retry_after_s?: number
}

/** A fault of the caller, or a temporary one, thrown from any depth; `http/` maps it to an answer. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode
  readonly detail: string
  readonly attr: string | null
  readonly span: Span | null
  readonly retry_after_s: number | null

  constructor(code: ErrorCode, detail: string, extras: RefusalExtras = {}) {
    super(detail)
    this.code = code
    this.detail = detail
    this.attr = extras.attr ?? null
    this.span = extras.span ?? null
    this.retry_after_s = extras.retry_after_s ?? null
  }
}

/** Refuses a value (`invalid_input`), naming the member that has it. */
export function refuseMember(detail: string, attr: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}

/** Returns the object that a member of a body names. Where `get` refuses it as not found, the member is refused. */
export function getNamed<Found>(get: () => Found, attr: string, detail: string): Found {
  try {
    return get()
  } catch (error) {
    const is_missing = error instanceof Refusal && error.code === 'not_found'
    throw is_missing ? new Refusal('does_not_exist', detail, { attr }) : error
  }
}

/** The detail of a refused id, in the words that clients know. */
export const unknownId = (id: unknown): string =>
  `Invalid pk "${String(id)}" - object does not exist.`

/** SQLite's codes for a full, broken or read-only disk and a damaged database: no bugs, and clients keep what they send. */
const STORAGE_TROUBLE = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|BUSY|CORRUPT|NOTADB)/

/** Whether an error means that the storage is unavailable for now. */
export function isStorageTrouble(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' && STORAGE_TROUBLE.test(code)
}
