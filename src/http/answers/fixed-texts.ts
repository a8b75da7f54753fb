/** Texts that are equal for every caller until the next start: built, tagged and compressed once. */
import { accepts } from './accept-encoding.ts'

/** A text, plain and gzipped, with its tag. */
export type FixedText = {
  readonly text: string
  readonly gzip: Uint8Array<ArrayBuffer>
  /** A weak tag, since both encodings share it. */
  readonly etag: string
}

/** Tags and compresses a text; takes about 20 ms per megabyte. */
export function fixText(text: string): FixedText {
  const digest = new Bun.CryptoHasher('sha256').update(text).digest('base64url')
  return { text, gzip: Bun.gzipSync(new TextEncoder().encode(text)), etag: `W/"${digest}"` }
}

/** Answers in the encoding that the client accepts, or with 304 when it already has the text. */
export function answerFixed(
  request: Request,
  { text, gzip, etag }: FixedText,
  headers: Readonly<Record<string, string>>,
): Response {
  const vary = [headers['Vary'], 'Accept-Encoding'].filter((part) => part !== undefined)
  const all = { ...headers, ETag: etag, Vary: vary.join(', ') }
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers: all })
  if (!accepts(request.headers.get('accept-encoding'), 'gzip'))
    return new Response(text, { headers: all })
  return new Response(gzip, { headers: { ...all, 'Content-Encoding': 'gzip' } })
}

/**
 * Whether the client has the text with this tag; proxies that compress make tags weak, so weakness is ignored.
 */
export function isKnown(request: Request, etag: string): boolean {
  const stored = request.headers.get('if-none-match')
  if (stored === null) return false
  const bare = withoutWeakness(etag)
  return stored.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || withoutWeakness(tag) === bare
  })
}

const withoutWeakness = (etag: string): string => etag.replace(/^W\//, '')
