/** A load generator: many connections, one request in flight on each, written straight to the socket so that it costs little beside the server. */

export type Load = {
  readonly port: number
  /** Whole HTTP requests, sent in turn. */
  readonly requests: readonly Uint8Array[]
  readonly connections: number
  readonly seconds: number
}

export type LoadResult = {
  readonly requests: number
  readonly requests_per_s: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** Answers whose status was not 200. */
  readonly refused: number
}

/** What one connection has under way; a large request leaves in pieces as the socket drains. */
type InFlight = { sent_at: number; unsent: Uint8Array }

const OK = new TextEncoder().encode('HTTP/1.1 200')

/** An HTTP/1.1 request as bytes, ready for the socket; `key` goes into the Authorization header. */
export function httpRequest(path: string, body: string, key?: string): Uint8Array {
  const bytes = new TextEncoder().encode(body)
  const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n`
  return new Uint8Array(Buffer.concat([new TextEncoder().encode(head), bytes]))
}

/** Sends as fast as the server answers, for so many seconds, and says how it went. */
export async function applyLoad(load: Load): Promise<LoadResult> {
  const latencies_ms: number[] = []
  let refused = 0
  let next = 0
  let open = load.connections
  const started = performance.now()
  const ends = started + load.seconds * 1000
  const { promise: done, resolve: finish } = Promise.withResolvers<void>()
  const sendNext = (socket: Bun.Socket<InFlight>): void => {
    const request = load.requests[next++ % load.requests.length]
    if (request === undefined) throw new Error('a load needs at least one request')
    socket.data.sent_at = performance.now()
    socket.data.unsent = request.subarray(socket.write(request))
  }
  for (let index = 0; index < load.connections; index++) {
    await Bun.connect<InFlight>({
      hostname: '127.0.0.1',
      port: load.port,
      data: { sent_at: 0, unsent: new Uint8Array() },
      socket: {
        open: sendNext,
        drain(socket) {
          socket.data.unsent = socket.data.unsent.subarray(socket.write(socket.data.unsent))
        },
        data(socket, bytes) {
          const now = performance.now()
          latencies_ms.push(now - socket.data.sent_at)
          if (!OK.every((byte, position) => bytes[position] === byte)) refused++
          if (now < ends) sendNext(socket)
          else socket.end()
        },
        close() {
          if (--open === 0) finish()
        },
      },
    })
  }
  await done
  const seconds = (performance.now() - started) / 1000
  latencies_ms.sort((a, b) => a - b)
  const percentile = (share: number): number =>
    latencies_ms[Math.floor(latencies_ms.length * share)] ?? 0
  return {
    requests: latencies_ms.length,
    requests_per_s: Math.round(latencies_ms.length / seconds),
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    refused,
  }
}

// Run as a process of its own, so that the load never shares a thread with what it measures.
if (import.meta.main) {
  const [port, connections, seconds, path, bodies, key] = process.argv.slice(2)
  const texts: readonly string[] = JSON.parse(await Bun.file(bodies ?? '').text())
  const result = await applyLoad({
    port: Number(port),
    connections: Number(connections),
    seconds: Number(seconds),
    requests: texts.map((text) => httpRequest(path ?? '/', text, key)),
  })
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
