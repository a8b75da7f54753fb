/** Posts to a webhook: to the checked address only; redirects are not followed. */
import { createHmac } from 'node:crypto'
import { hostOf } from '../name-lookup.ts'
import type { Callable } from './addresses.ts'

/** The outcome of a post. */
export type PostResult =
  | { readonly kind: 'delivered'; readonly status: number }
  /** A retry may succeed. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string }

type PostRequest = {
  readonly to: Callable
  readonly headers: Readonly<Record<string, string>>
  readonly secret: string | null
  readonly body: string
  /** For tests. */
  readonly timeout_ms?: number
}

const TIMEOUT_MS = 10_000
const RETRY_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Sends one body. Rejects only headers that cannot be sent. The answer's body is not read. */
export async function postWebhook({
  to,
  headers,
  secret,
  body,
  timeout_ms = TIMEOUT_MS,
}: PostRequest): Promise<PostResult> {
  const { url, ip, port } = to
  const is_secure = url.protocol === 'https:'
  // Imported at the first call: it is a part of a server's start that few servers need.
  const { request } = await (is_secure ? import('node:https') : import('node:http'))
  const { promise, resolve } = Promise.withResolvers<PostResult>()
  const fail = (reason: string): void => resolve({ kind: 'failed', reason })
  const started = request(
    {
      host: ip,
      port,
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      // The certificate is checked against the URL's name, not the address that it has now.
      ...(is_secure && hostOf(url) !== ip ? { servername: url.hostname } : {}),
      headers: {
        ...headers,
        Host: url.host,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        'User-Agent': 'Tidemark',
        ...(secret === null ? {} : { 'X-Tidemark-Signature': signatureOf(secret, body) }),
      },
    },
    (response) => {
      response.destroy()
      resolve(readStatus(response.statusCode ?? 0))
    },
  )
  // Of the whole call: a receiver that sends a header now and then would never be silent for so long.
  const timer = setTimeout(() => {
    fail(`no answer within ${timeout_ms / 1000} s`)
    started.destroy()
  }, timeout_ms)
  started.on('error', (error) => fail(error.message))
  started.end(body)
  return promise.finally(() => clearTimeout(timer))
}

/** The signature for receivers: HMAC-SHA256 of the body, in hexadecimal. */
export function signatureOf(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

function readStatus(status: number): PostResult {
  if (status >= 200 && status < 300) return { kind: 'delivered', status }
  const reason = `answered ${status}`
  if (status >= 500 || RETRY_STATUSES.has(status)) return { kind: 'failed', reason }
  return { kind: 'refused', reason }
}
