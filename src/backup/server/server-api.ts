/** Calls another server's API: answers are bounded, a busy server is asked again, and no other server gets the key. */
import { isObject } from '../../json.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../time.ts'
import { BackupFault } from '../fill-folder.ts'
import type { JSONObject } from '../sources/source.ts'

type ProjectAccess = {
  /** The server's address, without a final slash. */
  readonly url: string
  /** A personal API key. */
  readonly key: string
  readonly project_id: number
  /** Its name in messages. */
  readonly name: string
  /** The checks of its certificate; by default those of any server's. */
  readonly tls?: { readonly rejectUnauthorized: boolean }
  /** Called before a pause, with its length and why. */
  readonly onWait?: (wait_ms: number, reason: string) => void
}

type APICall = { readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST'; readonly body?: JSONObject }

/** One row of a query's answer. */
export type QueryRow = readonly unknown[]

/** The server refused a call: a 4xx with its words. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal'
  readonly status: number
  readonly detail: string

  constructor(status: number, detail: string) {
    super(detail)
    this.status = status
    this.detail = detail
  }
}

/** Whether a list is not there: a server of another version has none (404), or its plan does not include it (402). */
export function isAbsent(error: unknown): boolean {
  return error instanceof ServerRefusal && (error.status === 404 || error.status === 402)
}

/** An answer has too many bytes, or takes too long: the caller asks for less. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
  /** True when the time ran out: then the next query must search fewer rows, however few it finds. */
  readonly is_slow: boolean

  constructor(message: string, is_slow = false) {
    super(message)
    this.is_slow = is_slow
  }
}

const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const ANSWER_TIME_MS = 5 * MINUTE_MS
const DETAIL_LENGTH_MAX = 500
/** Tries of one call; the pauses between them double, up to a minute, unless the server says how long. */
const TRIES_MAX = 10
const PAUSE_MS = SECOND_MS / 2
const PAUSE_MAX_MS = MINUTE_MS
const RETRY_AFTER_MAX_MS = HOUR_MS
const REDIRECTS_MAX = 3
/** The most items of a list that are read, and the most on one page. */
const ITEMS_MAX = 20_000
const LIST_BYTES_MAX = 512 * 1024 * 1024
const PAGE_ITEMS = 100

/** The statuses of a server that is busy or away for a moment; the call was not carried out. */
const UNDONE_STATUSES: ReadonlySet<number> = new Set([429, 503])

/** Reads an address of a server. Throws a BackupFault for anything but a plain http or https address. */
export function readServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new BackupFault(`${text} is not the address of a server: https://… or http://…`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new BackupFault('The address must not have a user, a password, a query or a fragment.')
  }
  const path = url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname
  return `${url.origin}${path}`
}

/** The part of a server's API that belongs to one project. */
export class ServerAPI {
  readonly #access: ProjectAccess
  /** The characters of all answers. */
  #read_chars = 0

  constructor(access: ProjectAccess) {
    this.#access = access
  }

  get url(): string {
    return this.#access.url
  }

  get name(): string {
    return this.#access.name
  }

  /** Reads below the project's path. Throws a ServerRefusal for a 4xx. */
  async get(path: string, parameters: Readonly<Record<string, number | string>> = {}) {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(parameters)) query.set(name, String(value))
    const text = query.toString()
    return this.#call(text === '' ? path : `${path}?${text}`, { method: 'GET' })
  }

  /** Changes something below the project's path; a call that may have been carried out is not repeated. */
  async send(method: Exclude<APICall['method'], 'GET'>, path: string, body: JSONObject = {}) {
    return this.#call(path, method === 'DELETE' ? { method } : { method, body })
  }

  /** Runs a HogQL query on current data; `values` are its placeholders. */
  async query(query: string, values: JSONObject = {}): Promise<readonly QueryRow[]> {
    const body = { query: { kind: 'HogQLQuery', query, values }, refresh: 'force_blocking' }
    const answer = await this.#call('query/', { method: 'POST', body }, true)
    const rows = isObject(answer) ? answer['results'] : null
    if (!Array.isArray(rows) || !rows.every((row) => Array.isArray(row))) {
      throw new BackupFault(`${this.name} answered a query with something that is not a table`)
    }
    return rows as readonly QueryRow[]
  }

  /** The number of rows of a HogQL table, `events where …`. */
  async count(table: string, values: JSONObject = {}): Promise<number> {
    const [row] = await this.query(`select count() from ${table}`, values)
    return Number(row?.[0] ?? 0) || 0
  }

  /**
   * Reads a whole list by limit and offset. Of the address of the next page only its presence counts: it is
   * not followed. A page without an item that is new ends the list.
   */
  async listItems(path: string, parameters: Readonly<Record<string, string>> = {}) {
    const items = new Map<string, JSONObject>()
    const most_chars = this.#read_chars + LIST_BYTES_MAX
    let limit = PAGE_ITEMS
    for (let offset = 0; ; ) {
      const page = await this.#readPage(path, { ...parameters, limit, offset })
      if (page === null) {
        if (limit === 1)
          throw new BackupFault(`${this.name} has an item that is too large: ${path}`)
        limit = Math.ceil(limit / 4)
        continue
      }
      const count_before = items.size
      for (const item of page.items) items.set(String(item['id']), item)
      if (items.size > ITEMS_MAX || this.#read_chars > most_chars) {
        throw new BackupFault(
          `${this.name} lists more than ${ITEMS_MAX} items, or more than ${LIST_BYTES_MAX} bytes of them: ${path}`,
        )
      }
      if (!page.has_more || items.size === count_before) return [...items.values()]
      offset += page.items.length
    }
  }

  /** Reads one page of a list; null where its answer is too large. */
  async #readPage(path: string, parameters: Readonly<Record<string, number | string>>) {
    try {
      const answer = await this.get(path, parameters)
      const results = isObject(answer) ? answer['results'] : answer
      if (!Array.isArray(results)) {
        throw new BackupFault(`${this.name} answered ${path} with something that is not a list`)
      }
      const is_last = !isObject(answer) || typeof answer['next'] !== 'string'
      const items = (results as readonly unknown[]).filter((item) => isObject(item))
      return { items, has_more: !is_last && results.length > 0 }
    } catch (error) {
      if (error instanceof AnswerTooLarge) return null
      throw error
    }
  }

  async #call(path: string, call: APICall, is_read = call.method === 'GET'): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#try(path, call)
      if (answer.kind === 'answered') return answer.value
      const may_repeat = is_read || answer.is_undone
      if (tries >= TRIES_MAX || !may_repeat) {
        if (answer.is_slow) throw new AnswerTooLarge(answer.reason, true)
        throw new BackupFault(`${this.name} (${this.url}) does not answer: ${answer.reason}`)
      }
      // A query that runs too long is tried twice. It is tried more often when the server could not be reached.
      if (answer.is_slow && tries >= 2) throw new AnswerTooLarge(answer.reason, true)
      const wait_ms = pauseAfter(tries, answer.retry_after_ms)
      this.#access.onWait?.(wait_ms, answer.reason)
      await Bun.sleep(wait_ms)
    }
  }

  async #try(path: string, call: APICall): Promise<APIAnswer> {
    let response: Response
    try {
      response = await this.#fetch(path, call)
    } catch (error) {
      if (error instanceof BackupFault) throw error
      const is_slow = error instanceof Error && error.name === 'TimeoutError'
      return { ...FAILURE, reason: wordsOf(error), is_slow }
    }
    const { status } = response
    if (status === 429 || status === 408 || status >= 500) {
      await response.body?.cancel()
      const is_undone = UNDONE_STATUSES.has(status)
      const is_slow = status === 504 || status === 512
      const retry_after_ms = readRetryAfter(response.headers.get('retry-after'))
      return { ...FAILURE, reason: `status ${status}`, is_undone, is_slow, retry_after_ms }
    }
    const text = await readText(response)
    if (text === null) return { ...FAILURE, reason: 'cut off' }
    this.#read_chars += text.length
    if (!response.ok) throw new ServerRefusal(status, detailOf(text, status))
    return { kind: 'answered', value: this.#parse(text, path) }
  }

  /** Sends the request. A redirect is followed only on the same server, for reads: no other server gets the key. */
  async #fetch(path: string, { method, body }: APICall): Promise<Response> {
    const { url, key, project_id, name, tls } = this.#access
    let address = `${url}/api/projects/${project_id}/${path}`
    for (let redirects = 0; ; redirects++) {
      const response = await fetch(address, {
        method,
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        redirect: 'manual',
        signal: AbortSignal.timeout(ANSWER_TIME_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(tls && { tls }),
      })
      if (response.status < 300 || response.status >= 400) return response
      await response.body?.cancel()
      const to = response.headers.get('location') ?? ''
      const target = URL.canParse(to, address) ? new URL(to, address) : null
      if (
        target?.origin !== new URL(url).origin ||
        method !== 'GET' ||
        redirects >= REDIRECTS_MAX
      ) {
        const where = target === null ? 'nowhere' : target.origin
        throw new BackupFault(`${name} (${url}) redirects to ${where}: name the right address`)
      }
      address = target.href
    }
  }

  #parse(text: string, path: string): unknown {
    if (text === '') return null
    try {
      return JSON.parse(text)
    } catch {
      const [shown] = path.split('?', 1)
      throw new BackupFault(`${this.name} answered ${shown} with something that is not JSON`)
    }
  }
}

type APIAnswer =
  | { readonly kind: 'answered'; readonly value: unknown }
  | {
      readonly kind: 'failed'
      readonly reason: string
      /** The call was certainly not carried out. */
      readonly is_undone: boolean
      /** The server ran out of time: less at once may work. */
      readonly is_slow: boolean
      /** The pause that the server asked for. */
      readonly retry_after_ms: number | null
    }

const FAILURE = { kind: 'failed', is_undone: false, is_slow: false, retry_after_ms: null } as const

/** Reads a body up to the limit, null where it is cut off. Bytes are counted after decompression. */
async function readText(response: Response): Promise<string | null> {
  const decoder = new TextDecoder()
  const pieces: string[] = []
  let bytes = 0
  try {
    for await (const piece of response.body ?? []) {
      bytes += piece.byteLength
      if (bytes > ANSWER_BYTES_MAX) throw new AnswerTooLarge(`more than ${ANSWER_BYTES_MAX} bytes`)
      pieces.push(decoder.decode(piece, { stream: true }))
    }
  } catch (error) {
    if (error instanceof AnswerTooLarge) throw error
    return null
  }
  return pieces.join('') + decoder.decode()
}

/**
 * The pause before the next try. Servers round the seconds that they ask for down, so 0 may mean most of a second: it is
 * obeyed twice, and later pauses grow all the same.
 */
function pauseAfter(tries: number, retry_after_ms: number | null): number {
  if (retry_after_ms === null) return Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** (tries - 1))
  return tries <= 2 ? retry_after_ms : Math.max(retry_after_ms, pauseAfter(tries - 2, null))
}

/** Milliseconds of a Retry-After header: seconds, or a date. */
function readRetryAfter(text: string | null): number | null {
  if (text === null) return null
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * SECOND_MS : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, Math.min(ms, RETRY_AFTER_MAX_MS))
}

function detailOf(text: string, status: number): string {
  let detail = text
  try {
    const body: unknown = JSON.parse(text)
    if (isObject(body) && typeof body['detail'] === 'string') {
      const attr = typeof body['attr'] === 'string' ? `${body['attr']}: ` : ''
      detail = `${attr}${body['detail']}`
    }
  } catch {
    detail = `status ${status}`
  }
  return printable(detail).slice(0, DETAIL_LENGTH_MAX)
}

/** Compares as databases order texts: by their bytes in UTF-8. */
export function isTextAfter(text: string, other: string): boolean {
  return Buffer.compare(Buffer.from(text), Buffer.from(other)) > 0
}

/** The words of another server without characters that steer a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? printable(error.message) : String(error)
}
