/** Calls of the management API with the browser's session: one function for all, and one kind of error. */

import { BASE_PATH } from '../../state/base-path.ts'
import { noteServerTime } from '../../state/clock.ts'

/** A refusal of the server, or a call that never reached it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** The HTTP status; 0 when no answer came. */
  readonly status: number
  /** The server's word; without an answer `unreachable`, or `blocked` while the server answers other calls. */
  readonly code: string
  /** The field that the refusal is about, nested names joined by `__`; null when it is about the whole call. */
  readonly attr: string | null
  /** Seconds after which the server asks to be called again; null when it does not say. */
  readonly retry_after_s: number | null

  constructor(message: string, fields: Omit<ApiError, 'name' | 'message' | 'stack' | 'cause'>) {
    super(message)
    this.status = fields.status
    this.code = fields.code
    this.attr = fields.attr
    this.retry_after_s = fields.retry_after_s
  }
}

const listeners: ((error: ApiError) => void)[] = []

/** Registers a function that is called with the error of every failed call: the session listens for 401. */
export function onApiError(listen: (error: ApiError) => void): void {
  listeners.push(listen)
}

function fail(error: ApiError): never {
  for (const listen of listeners) listen(error)
  throw error
}

export type CallMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type CallOptions = {
  /** Sent as JSON. */
  readonly body?: unknown
  /** Query parameters; missing, null and empty ones are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>
  readonly signal?: AbortSignal | undefined
  /** The content type of the answer; JSON without it. */
  readonly accept?: string
}

/**
 * Other origins cannot send this header without a preflight, which the management API does not answer: the
 * session's cookie counts only beside it.
 */
const SESSION_HEADER = { 'X-Tidemark': '1' }

/** Calls the API and returns the answer's JSON, or null when it has no body. Throws ApiError. */
export async function call<Answer>(
  method: CallMethod,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const answer = await send(method, path, options)
  noteServerTime(answer.headers.get('Date'))
  const text = await answer.text().catch(failUnanswered)
  if (answer.ok) return (text === '' ? null : parse(text)) as Answer
  return fail(await refusalOf(answer, parse(text)))
}

/** Calls the API and returns the response itself, for files and streams. Throws ApiError. */
export async function download(
  method: CallMethod,
  path: string,
  options: CallOptions = {},
): Promise<Response> {
  const answer = await send(method, path, options)
  if (answer.ok) return answer
  return fail(await refusalOf(answer, parse(await answer.text().catch(() => ''))))
}

function send(method: CallMethod, path: string, options: CallOptions): Promise<Response> {
  const { body, query = {}, signal, accept } = options
  const init: RequestInit = {
    method,
    headers: {
      ...SESSION_HEADER,
      ...(body === undefined ? {} : JSON_TYPE),
      ...(accept !== undefined && { Accept: accept }),
    },
    credentials: 'same-origin',
    redirect: 'error',
    signal: signal ?? null,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  return fetch(BASE_PATH + withQuery(path, query), init).catch(failUnanswered)
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

function withQuery(path: string, query: NonNullable<CallOptions['query']>): string {
  const set = Object.entries(query).filter(([, value]) => value != null && value !== '')
  if (set.length === 0) return path
  return `${path}?${new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()}`
}

/** An aborted call stays an abort, which is never shown. */
async function failUnanswered(error: unknown): Promise<never> {
  if (error instanceof DOMException && error.name === 'AbortError') throw error
  return fail(await unansweredError())
}

/** The error of a call without an answer: the server is gone, or something between blocks this one call. */
async function unansweredError(): Promise<ApiError> {
  const is_blocked = await isAnswering()
  const code = is_blocked ? 'blocked' : 'unreachable'
  return new ApiError(is_blocked ? BLOCKED : 'The server does not answer.', {
    status: 0,
    code,
    attr: null,
    retry_after_s: null,
  })
}

const BLOCKED =
  'The server is there, but this request got no answer. An extension of your browser, or a proxy, may block it.'

/** Without a limit, the browser waits for minutes where a network loses every packet. */
const PROBE_MAX_MS = 10_000

let probe: Promise<boolean> | null = null

/** Whether the server answers now. Calls that fail together share one probe. */
export function isAnswering(): Promise<boolean> {
  probe ??= sendProbe().finally(() => {
    probe = null
  })
  return probe
}

/** Any answer shows that the server is there, except that it is starting or stopping. */
const sendProbe = (): Promise<boolean> =>
  fetch(`${BASE_PATH}/_readiness`, {
    redirect: 'error',
    signal: AbortSignal.timeout(PROBE_MAX_MS),
  }).then(
    ({ status }) => status < 500,
    () => false,
  )

const PROXY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function refusalOf(answer: Response, body: unknown): Promise<ApiError> {
  const { detail, code, attr } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as Readonly<Record<string, unknown>>
  // A proxy in front of the server speaks for one that is gone.
  if (PROXY_STATUSES.has(answer.status) && code === undefined) return unansweredError()
  const wait_s = Number(answer.headers.get('Retry-After') ?? Number.NaN)
  return new ApiError(
    typeof detail === 'string' ? detail : `The server answered ${answer.status}.`,
    {
      status: answer.status,
      code: typeof code === 'string' ? code : 'error',
      attr: typeof attr === 'string' ? attr : null,
      retry_after_s: Number.isFinite(wait_s) ? wait_s : null,
    },
  )
}
