/** Readers of live events that do not read, on real sockets: capture goes on, they are dropped, and resume. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { readLiveBatch } from '../../../src/http/analytics/events/live-batch.ts'
import { LiveStreams } from '../../../src/http/analytics/events/live-streams.ts'
import { joinWorld } from '../shared-world.ts'
import { capture, manage } from '../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const READERS = 8
const TICK_MS = 10

let streams: LiveStreams
let server: ReturnType<typeof Bun.serve>
beforeAll(async () => {
  streams = new LiveStreams(world.needs, { tick_ms: TICK_MS, stall_ms: 300 })
  const filter = {
    project_id: world.first.project_id,
    event: null,
    has_persons: true,
    findMatches: null,
  }
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    development: false,
    fetch: () => {
      const first = readLiveBatch(world.needs, filter, null)
      return new Response(streams.open({ caller_id: 'a', filter, first, is_resumed: false }))
    },
  })
})
afterAll(async () => {
  await server.stop(true)
})

/** A stream on a socket of its own, of which only the beginning was read. */
type UnreadStream = { readonly socket: Socket; readonly start: string }

function openUnread(): Promise<UnreadStream> {
  const socket = connect(server.port ?? 0, '127.0.0.1')
  // A dropped connection may end with a reset.
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  return new Promise((resolve) => {
    socket.once('data', (bytes) => {
      socket.pause()
      resolve({ socket, start: bytes.toString('latin1') })
    })
  })
}

/** Everything that a socket has, to its end. */
function readAll({ socket, start }: UnreadStream): Promise<string> {
  return new Promise((resolve) => {
    const texts = [start]
    socket.on('data', (bytes) => texts.push(bytes.toString('latin1')))
    socket.on('close', () => resolve(texts.join('')))
    socket.resume()
  })
}

const TEXT = 'x'.repeat(8000)

/** Sends as many long events as one message has. */
function sendFlood(round: number): Promise<void> {
  const events = Array.from({ length: 50 }, (_, index) => ({
    event: `flood ${round} ${index}`,
    distinct_id: 'a',
    properties: { text: TEXT },
  }))
  return capture(world, ...events)
}

test('readers that never read stop nothing, hold a bounded part, are dropped, and resume', async () => {
  await sendFlood(0)
  const unread = await Promise.all(Array.from({ length: READERS }, openUnread))
  for (const { start } of unread) expect(start).toStartWith('HTTP/1.1 200 ')
  expect(streams.size).toBe(READERS)
  let rounds = 1
  // Each one is dropped at a time of its own: the buffers of the system differ. A read that left events out would be the
  // last for a second, so that its buffers would take ten seconds of floods to fill: each flood is read before the next.
  for (; streams.size > 0; rounds += 1) {
    await sendFlood(rounds)
    await Bun.sleep(2 * TICK_MS)
  }
  const texts = await Promise.all(unread.map(readAll))
  for (const text of texts) {
    // The buffers of the system and of the server, not all that came in.
    expect(text.length).toBeLessThan(10_000_000)
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
    expect(ids.length).toBeGreaterThan(0)
    const { body } = await manage(
      world,
      'GET',
      `/api/projects/${project_id}/events/live/?after=${ids.at(-1)}`,
    )
    const { missed, events } = body as unknown as LiveBody
    expect(missed).toBeGreaterThan(0)
    expect(events[0]?.event).toBe(`flood ${rounds - 1} 49`)
  }
})

type LiveBody = { readonly missed: number; readonly events: readonly { readonly event: string }[] }
