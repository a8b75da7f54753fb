/** A wire between a client and the server: passes requests on as they are, remembers them, and loses replies when told. */
import { createServer, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'

/** A request as it went over the wire. */
export type Passed = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer>
}

export type Wire = {
  /** What clients are told to talk to. */
  readonly url: string
  readonly passed: readonly Passed[]
  /** The answers to the next `count` requests whose text contains a word never arrive: the connections break. */
  loseReplies(count: number, word: string): void
  close(): void
}

/** Headers that belong to one connection, not to the message. */
const HOP_BY_HOP = new Set(['connection', 'host', 'keep-alive', 'transfer-encoding'])
const NO_TEXT = new Set(['content-encoding', 'content-length', 'transfer-encoding', 'connection'])

/** Lays a wire to a server that answers at `target`. */
export async function layWire(target: string): Promise<Wire> {
  const passed: Passed[] = []
  let loss = { count: 0, word: '' }
  const relay = createServer((incoming, outgoing) => {
    void (async () => {
      const request = await readRequest(incoming)
      passed.push(request)
      const is_lost = loss.count > 0 && textIn(request.body).includes(loss.word)
      if (is_lost) loss = { ...loss, count: loss.count - 1 }
      const answer = await passOn(target, incoming.url ?? '/', request)
      const text = await answer.bytes()
      if (is_lost) {
        incoming.socket.destroy()
        return
      }
      const headers = [...answer.headers].filter(([name]) => !NO_TEXT.has(name))
      outgoing.writeHead(answer.status, Object.fromEntries(headers))
      outgoing.end(text)
    })().catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => {
    relay.listen(0, '127.0.0.1', resolve)
  })
  const address = relay.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    passed,
    loseReplies(count, word) {
      loss = { count, word }
    },
    close() {
      relay.closeAllConnections()
      relay.close()
    },
  }
}

/** How often each event uuid was sent, whatever the bodies were wrapped in. */
export function uuidsSent(passed: readonly Passed[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { body } of passed) {
    for (const [, uuid = ''] of textIn(body).matchAll(/"uuid":"([0-9a-f-]{36})"/g)) {
      counts.set(uuid, (counts.get(uuid) ?? 0) + 1)
    }
  }
  return counts
}

/** A body's JSON text: out of gzip, or out of the base64 of a form. */
export function textIn(body: Uint8Array): string {
  if (body[0] === 0x1f && body[1] === 0x8b) return gunzipSync(body).toString()
  const text = new TextDecoder().decode(body)
  const data = text.startsWith('data=') ? new URLSearchParams(text).get('data') : null
  return data === null ? text : Buffer.from(data, 'base64').toString()
}

async function readRequest(incoming: IncomingMessage): Promise<Passed> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
  const [path = '/', query = ''] = (incoming.url ?? '/').split('?')
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])
  return {
    method: incoming.method ?? 'GET',
    path,
    query,
    headers: Object.fromEntries(headers),
    body: new Uint8Array(Buffer.concat(chunks)),
  }
}

function passOn(target: string, url: string, { method, headers, body }: Passed): Promise<Response> {
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name))
  return fetch(`${target}${url}`, {
    method,
    headers: Object.fromEntries(kept),
    redirect: 'manual',
    ...(body.length > 0 ? { body } : {}),
  })
}
