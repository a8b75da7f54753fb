/** Turns refusals and bugs into responses. The table STATUSES alone maps codes to statuses. */
import { ERRORS, type ErrorCode, isStorageTrouble, Refusal } from '../../errors.ts'
import type { AppContext } from '../app-context.ts'
import { answerJson } from './answers.ts'

const STATUSES = {
  authentication_failed: 401,
  invalid_api_key: 401,
  missing_api_key: 401,
  no_api_key: 401,
  not_authenticated: 401,
  permission_denied: 403,
  empty: 401,
  not_ascii: 401,
  not_string: 401,
  personal_api_key: 401,
  too_long: 401,
  behavioral_cohort_found: 400,
  blank: 400,
  cohort_does_not_exist: 400,
  does_not_exist: 400,
  invalid_choice: 400,
  invalid_date: 400,
  invalid_input: 400,
  invalid_key: 400,
  invalid_payload: 400,
  invalid_value: 400,
  malformed_data: 400,
  max_length: 400,
  max_value: 400,
  min_value: 400,
  missing_distinct_id: 400,
  no_data: 400,
  null: 400,
  parse_error: 400,
  request_too_large: 413,
  required: 400,
  unique: 400,
  unsupported_media_type: 415,
  ask_home: 421,
  method_not_allowed: 405,
  not_found: 404,
  query_cancelled: 400,
  query_failed: 400,
  query_memory: 400,
  query_timeout: 400,
  query_too_large: 400,
  storage_unavailable: 503,
  throttled: 429,
} as const satisfies Record<ErrorCode, number>

/** Codes of missing and unknown keys; their response carries WWW-Authenticate. */
const CHALLENGED: ReadonlySet<ErrorCode> = new Set(['authentication_failed', 'not_authenticated'])

/** Seconds until a retry when the refusal names none. */
const RETRY_AFTER_S = 5

/** Logs a bug; the response contains only its `error_id`. */
export type Report = (error: unknown, error_id: string) => void

/** Logs bugs of a call, and has control.db checked when the storage has failed. */
export function reportTo(
  { log, checkControl }: Pick<AppContext, 'log'> & Partial<Pick<AppContext, 'checkControl'>>,
  call: object,
): Report {
  return (err, error_id) => {
    log.error({ err, error_id, ...call })
    if (isStorageTrouble(err)) checkControl?.()
  }
}

/** Answers a thrown error. Anything but a refusal is a bug: logged, and answered 500 with nothing but an id. */
export function answerError(error: unknown, report: Report): Response {
  if (error instanceof Refusal) return answerRefusal(error)
  const error_id = crypto.randomUUID()
  report(error, error_id)
  if (isStorageTrouble(error)) {
    return answerRefusal(new Refusal('storage_unavailable', 'The storage is not available now.'))
  }
  const body = {
    type: 'server_error',
    code: 'error',
    detail: 'A server error occurred.',
    attr: null,
    extra: { error_id },
  }
  return answerJson(body, 500)
}

/** Answers a refusal with its status and that status' headers. */
export function answerRefusal(
  refusal: Refusal,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { code, detail, attr, span } = refusal
  const status = STATUSES[code]
  const position = span === null ? {} : { extra: { start: span.start, end: span.end } }
  const wait_s = refusal.retry_after_s ?? RETRY_AFTER_S
  return answerJson({ type: ERRORS[code], code, detail, attr, ...position }, status, {
    ...(CHALLENGED.has(code) ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': String(Math.ceil(wait_s)) } : {}),
    ...headers,
  })
}
