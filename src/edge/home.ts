/** Calls an edge's home with the edge's key and a time limit. */

import { KIB, readAtMost } from '../bytes.ts'
import { errorMessage } from '../error-message.ts'
import { fetchByName } from '../name-lookup.ts'

/** The home did not answer as it should. */
export class HomeError extends Error {
  override readonly name = 'HomeError'
  /** The status; null if there was no answer. */
  readonly status: number | null

  constructor(status: number | null, detail: string) {
    super(detail)
    this.status = status
  }
}

type HomeSettings = {
  /** The home's address, without a final slash. */
  readonly url: string
  /** A personal API key of the home. */
  readonly key: string
}

/** Bytes of an error's body that are read. */
const ERROR_BYTES_MAX = 64 * KIB
/** Characters of an error's body that are logged. */
const DETAIL_LENGTH_MAX = 500

/** The home, as edges call it. */
export class Home {
  readonly url: string
  readonly #key: string

  constructor({ url, key }: HomeSettings) {
    this.url = url
    this.#key = key
  }

  /** Calls a path. Returns an answer of 2xx or 304; throws a `HomeError` for any other one, and after the time limit. */
  async call(path: string, init: RequestInit, timeout_ms: number): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('Authorization', `Bearer ${this.#key}`)
    const signal = AbortSignal.any([
      AbortSignal.timeout(timeout_ms),
      ...(init.signal ? [init.signal] : []),
    ])
    const answer = await fetchByName(`${this.url}${path}`, {
      ...init,
      headers,
      signal,
      redirect: 'manual',
    }).catch((error: unknown) => {
      throw new HomeError(null, errorMessage(error))
    })
    if (answer.ok || answer.status === 304) return answer
    const text = await readAnswer(answer, ERROR_BYTES_MAX).then(textOf, errorMessage)
    throw new HomeError(answer.status, `${answer.status} ${text.slice(0, DETAIL_LENGTH_MAX)}`)
  }
}

/** Reads an answer to its end. Throws a `HomeError` when it is longer than `bytes_max`. */
export async function readAnswer(
  answer: Response,
  bytes_max: number,
): Promise<Buffer<ArrayBuffer>> {
  const bytes = await readAtMost(answer, bytes_max)
  if (bytes === null) throw new HomeError(answer.status, `more than ${bytes_max} bytes`)
  return bytes
}

/** Reads an answer as JSON, as `readAnswer` does. */
export async function readJson(answer: Response, bytes_max: number): Promise<unknown> {
  return JSON.parse(textOf(await readAnswer(answer, bytes_max)))
}

const textOf = (bytes: Buffer): string => bytes.toString('utf8')
