/** Asks a ClickHouse server over HTTP: statements with bound texts, settings of one statement, its errors by code. */

import { MIB, readAtMost } from '../../bytes.ts'
import { fetchByName } from '../../name-lookup.ts'
import { chunksOf } from '../../text-chunks.ts'

/** The server's address and the user of its requests. */
type ClickHouseAccess = {
  readonly url: string
  readonly user: string
  readonly password: string
  readonly database: string
}

/** One statement. */
export type ClickHouseStatement = {
  readonly sql: string
  /** Texts for `{p1:String}`, `{p2:String}`, … */
  readonly texts?: readonly string[]
  readonly settings?: Readonly<Record<string, number | string>>
  /** The name under which the server lists it, and `KILL QUERY` finds it. */
  readonly query_id?: string
  readonly signal?: AbortSignal
  /** Rows of an INSERT; the statement then travels in the URL. */
  readonly rows?: Blob | Uint8Array
}

/** An error of the ClickHouse server. `code` is the server's (`system.errors` lists them), or null. */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError'
  readonly code: number | null

  constructor(message: string, code: number | null) {
    super(message)
    this.code = code
  }
}

/** The code of a message, for exceptions that arrive inside a stream: `Code: 241. DB::Exception: …`. */
const CODE_IN_MESSAGE = /Code: (\d+)\./
const MESSAGE_LENGTH_MAX = 2000
/** After these words, a message repeats the statement with its values, which no log may have. */
const STATEMENT_IN_MESSAGE = /:? (?:in scope|while (?:executing|processing)) /i
/** An error with what is around it, as a proxy's page. */
const ERROR_BYTES_MAX = MIB
/** The answer of a statement that is read as a whole; answers of queries are read row by row. */
const ANSWER_BYTES_MAX = 64 * MIB
/** A statement that is read as a whole: the server's own limit is shorter than the numbers of thirty thousand projects. */
const SQL_BYTES_MAX = 16 * MIB
const TOO_LONG = 'ClickHouse, or a server in its place, does not end its answer'
/** Every answer of ClickHouse to a statement has this header, whether it has rows or not. */
const OWN_HEADER = 'X-ClickHouse-Query-Id'

/**
 * The longest text of one parameter, in bytes of UTF-8: the server refuses fields above 128 KiB, and escapes may double
 * what is sent. The printer writes longer texts as several parameters.
 */
export const PARAMETER_BYTES_MAX = 60_000
/** Characters of a field with a part of a statement, for the same reason: up to three bytes each. */
const STATEMENT_PART_LENGTH = 40_000

/** A client of one server, with the rights of one user. */
export class ClickHouseClient {
  readonly access: ClickHouseAccess
  readonly #closing = new AbortController()

  constructor(access: ClickHouseAccess) {
    this.access = access
  }

  /**
   * Sends a statement and gives the answer as it begins to arrive. Throws a ClickHouseError for a refusal, and for what
   * another server answers in its place; an exception after the first bytes is text at the end of the body, which
   * `errorOf` reads. The network's own errors pass through.
   */
  async send(statement: ClickHouseStatement): Promise<Response> {
    const { url, user, password, database } = this.access
    const { settings = {}, query_id, rows, sql, signal } = statement
    const query = new URLSearchParams({ database, wait_end_of_query: '0' })
    for (const [name, value] of Object.entries(settings)) query.set(name, String(value))
    if (query_id !== undefined) query.set('query_id', query_id)
    if (rows !== undefined) query.set('query', sql)
    const response = await fetchByName(`${url}/?${query.toString()}`, {
      method: 'POST',
      headers: { 'X-ClickHouse-User': user, 'X-ClickHouse-Key': password },
      body: rows ?? formOf(statement),
      // Wherever it leads, the password and the rows would go there too.
      redirect: 'manual',
      signal: AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]),
    })
    // A proxy or a sign-in page takes any insert with 200, and would be believed.
    if (response.ok && response.headers.has(OWN_HEADER)) return response
    const code = Number(response.headers.get('X-ClickHouse-Exception-Code') ?? Number.NaN)
    const bytes = await readAtMost(response, ERROR_BYTES_MAX)
    const error = errorOf(bytes?.toString() ?? TOO_LONG, Number.isNaN(code) ? null : code)
    if (bytes === null || error.code !== null) throw error
    throw new ClickHouseError(
      `HTTP ${response.status} from a server that is not ClickHouse: ${error.message}`,
      null,
    )
  }

  /** Sends a statement and gives its whole answer as text. Throws a ClickHouseError, also for one inside the answer. */
  async run(sql: string, statement: Omit<ClickHouseStatement, 'sql'> = {}): Promise<string> {
    const settings = { wait_end_of_query: 1, max_query_size: SQL_BYTES_MAX, ...statement.settings }
    const response = await this.send({ ...statement, sql, settings })
    const bytes = await readAtMost(response, ANSWER_BYTES_MAX)
    if (bytes === null) throw new ClickHouseError(TOO_LONG, null)
    return bytes.toString()
  }

  /** Breaks off every request, also later ones: no caller waits for a server that does not answer. */
  close(): void {
    this.#closing.abort()
  }
}

function formOf({ sql, texts = [] }: ClickHouseStatement): FormData {
  const form = new FormData()
  // The server joins the fields of this name.
  for (const part of chunksOf(sql, STATEMENT_PART_LENGTH)) form.append('query', part)
  for (const [index, text] of texts.entries())
    form.set(`param_p${index + 1}`, escapeParameter(text))
  return form
}

/** Parameters are read in the escaped form of the server's tab-separated format. */
function escapeParameter(text: string): string {
  return text.replaceAll(/[\\\t\n\r\0]/g, (found) => ESCAPES[found] ?? found)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\\0',
}

/** An error from the server's message. */
export function errorOf(message: string, code: number | null): ClickHouseError {
  const found = CODE_IN_MESSAGE.exec(message)
  const [text = ''] = message.slice(0, MESSAGE_LENGTH_MAX).trim().split(STATEMENT_IN_MESSAGE, 1)
  return new ClickHouseError(text, code ?? (found === null ? null : Number(found[1])))
}
