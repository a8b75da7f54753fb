/**
 * Downloads: a call begins a file and answers with an address, which one GET may read once and soon. A page cannot
 * navigate with the header that its session needs, and a body that the page reads would have to fit into its memory.
 */
import { Refusal } from '../../errors.ts'
import { makeSessionToken } from '../../projects/keys/secrets.ts'

/** Less than the time after which an export without a reader is cut off. */
const FETCH_WITHIN_MS = 30_000

/** The path of all downloads; a secret follows. */
export const DOWNLOADS_PATH = '/api/downloads/'

/** A stream with the headers of its file. */
type DownloadFile = {
  readonly stream: ReadableStream<Uint8Array>
  readonly headers: Readonly<Record<string, string>>
}

type WaitingFile = DownloadFile & { readonly expiry: Timer }

/** Files that were begun and not fetched yet. Each holds the slot of its export, so that their number is limited by those. */
export class Downloads {
  readonly #waiting = new Map<string, WaitingFile>()
  readonly #fetch_within_ms: number

  constructor(fetch_within_ms = FETCH_WITHIN_MS) {
    this.#fetch_within_ms = fetch_within_ms
  }

  /** Keeps a file; returns the path, with a secret, under which it is fetched. Cancels its stream when it is not fetched in time. */
  add(file: DownloadFile): string {
    const token = makeSessionToken()
    const expiry = setTimeout(() => {
      this.#waiting.delete(token)
      void file.stream.cancel().catch(() => undefined)
    }, this.#fetch_within_ms)
    expiry.unref()
    this.#waiting.set(token, { ...file, expiry })
    return `${DOWNLOADS_PATH}${token}/`
  }

  /** Returns a file once. Refuses other tokens with `not_found`. */
  take(token: string): DownloadFile {
    const file = this.#waiting.get(token)
    if (file === undefined) {
      const detail = 'This download was fetched before, or has expired. Begin it again.'
      throw new Refusal('not_found', detail)
    }
    this.#waiting.delete(token)
    clearTimeout(file.expiry)
    return file
  }
}
