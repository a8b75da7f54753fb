/** A load generator: many connections, one request in flight on each, written straight to the socket so that it costs little beside the server. */

export type Load = {
  readonly port: number
  /** Whole HTTP requests, sent in turn. */
  readonly requests: readonly Uint8Array[]
  readonly connections: number
  readonly seconds: number
  /**
   * Requests per second that arrive whatever the server does, evenly; one for which no connection is free waits, and its
   * time counts from when it was due. Without it every connection asks again as soon as it is answered.
   */
  readonly rate?: number
}

export type LoadResult = {
  readonly requests: number
  readonly requests_per_s: number
  readonly mean_ms: number
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

/** Sends as fast as the server answers, for a number of seconds, and says how it went. */
export async function applyLoad(load: Load): Promise<LoadResult> {
  const latencies_ms: number[] = []
  let refused = 0
  let next = 0
  let open = load.connections
  const started = performance.now()
  const ends = started + load.seconds * 1000
  const { promise: done, resolve: finish } = Promise.withResolvers<void>()
  const free: Bun.Socket<InFlight>[] = []
  const due: number[] = []
  const send = (socket: Bun.Socket<InFlight>, due_at: number): void => {
    const request = load.requests[next++ % load.requests.length]
    if (request === undefined) throw new Error('a load needs at least one request')
    socket.data.sent_at = due_at
    socket.data.unsent = request.subarray(socket.write(request))
  }
  const sendNext = (socket: Bun.Socket<InFlight>): void => {
    const due_at = load.rate === undefined ? performance.now() : due.shift()
    if (due_at === undefined) free.push(socket)
    else send(socket, due_at)
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
  if (load.rate !== undefined)
    await arrive(load.rate, ends, (due_at) => {
      const socket = free.pop()
      if (socket === undefined) due.push(due_at)
      else send(socket, due_at)
    })
  for (const socket of free.splice(0)) socket.end()
  await done
  const seconds = (performance.now() - started) / 1000
  latencies_ms.sort((a, b) => a - b)
  const percentile = (share: number): number =>
    latencies_ms[Math.floor(latencies_ms.length * share)] ?? 0
  return {
    requests: latencies_ms.length,
    requests_per_s: Math.round(latencies_ms.length / seconds),
    mean_ms: latencies_ms.reduce((sum, one) => sum + one, 0) / latencies_ms.length,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    refused,
  }
}

/** Tells of each arrival when it is due, as nearly as timers can; until it ends. */
async function arrive(rate: number, ends: number, tell: (due_at: number) => void): Promise<void> {
  const gap_ms = 1000 / rate
  let due_at = performance.now()
  for (let now = due_at; now < ends; now = performance.now()) {
    for (; due_at <= now; due_at += gap_ms) tell(due_at)
    await Bun.sleep(1)
  }
}

/** Runs this file as a process of its own with its arguments: port, connections, seconds, path, bodies, key, rate. */
export async function spawnLoad(args: readonly (number | string)[]): Promise<LoadResult> {
  const child = Bun.spawn([process.execPath, import.meta.path, ...args.map(String)])
  return JSON.parse(await new Response(child.stdout).text())
}

// Run as a process of its own, so that the load never shares a thread with what it measures.
if (import.meta.main) {
  const [port, connections, seconds, path, bodies, key, rate] = process.argv.slice(2)
  const texts: readonly string[] = JSON.parse(await Bun.file(bodies ?? '').text())
  const result = await applyLoad({
    port: Number(port),
    connections: Number(connections),
    seconds: Number(seconds),
    requests: texts.map((text) => httpRequest(path ?? '/', text, key)),
    ...(rate === undefined ? {} : { rate: Number(rate) }),
  })
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
