/** The road of the ACME library to an authority: every request is bounded in time and bytes, and ends with its attempt. */
import type { AxiosInstance } from 'axios'

const TIMEOUT_MS = 30_000
/** A certificate chain has some kilobytes. */
const ANSWER_BYTES_MAX = 1024 * 1024

export type TransportOptions = {
  /** PEM of authorities that the directory's own certificate is checked with; null for the usual ones. */
  readonly ca: string | null
  /** Ends requests. */
  readonly signal: AbortSignal
}

/** The authority does not take requests now. */
export class AuthorityBusy extends Error {
  override readonly name = 'AuthorityBusy'
  /** The wait that it asks for; 0 when it names none. */
  readonly wait_ms: number

  constructor(status: number, wait_ms: number, detail: string) {
    super(`it answered ${status}: ${detail}`)
    this.wait_ms = wait_ms
  }
}

/**
 * Replaces the transport of the library's only HTTP client. Its own one repeats requests by itself, without a limit for
 * the wait that an authority asks for, and loses the reason when there is no answer.
 */
export function replaceTransport(client: AxiosInstance, { ca, signal }: TransportOptions): void {
  client.defaults.adapter = async (config) => {
    const method = config.method?.toUpperCase() ?? 'GET'
    const response = await fetch(config.url ?? '', {
      method,
      headers: {
        'User-Agent': 'tidemark',
        ...(method === 'POST' && { 'Content-Type': 'application/jose+json' }),
      },
      ...(typeof config.data === 'string' && { body: config.data }),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      ...(ca !== null && { tls: { ca } }),
    })
    const text = await readText(response)
    const data = parseJson(text)
    if (response.status === 429 || response.status === 503) {
      const wait_ms = readRetryAfter(response.headers.get('retry-after'), Date.now())
      throw new AuthorityBusy(response.status, wait_ms, detailOf(data))
    }
    return {
      data,
      status: response.status,
      statusText: response.statusText,
      headers: Object.fromEntries(response.headers),
      config,
    }
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('its answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** An answer as JSON, or as text if it is none: a certificate chain, or a page of a server that is no authority. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function detailOf(data: unknown): string {
  if (typeof data !== 'object' || data === null || !('detail' in data)) return 'no reason given'
  return String(data.detail)
}

/** Seconds or a date, as milliseconds from `now_ms`. */
export function readRetryAfter(text: string | null, now_ms: number): number {
  if (text === null) return 0
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const time_ms = Date.parse(text)
  return Number.isFinite(time_ms) ? Math.max(0, time_ms - now_ms) : 0
}
