/** Readers of live events that do not read, on real sockets: capture goes on, they are dropped, and resume. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API_TOKEN, PERSONAL_API_KEY, type Server, startServer } from './processes/server.ts'

setDefaultTimeout(60_000)

const READERS = 8
const LIVE = '/api/projects/1/events/live/'

let data_dir = ''
let server: Server
beforeAll(async () => {
  data_dir = mkdtempSync(join(tmpdir(), 'tidemark-live-'))
  server = await startServer({ data_dir })
})
afterAll(async () => {
  await server.stop()
  rmSync(data_dir, { recursive: true, force: true })
})

const asStream = (headers: Readonly<Record<string, string>> = {}) => ({
  headers: {
    Authorization: `Bearer ${PERSONAL_API_KEY}`,
    Accept: 'text/event-stream',
    ...headers,
  },
})

/** A stream on a socket of its own, of which only the beginning was read. */
type UnreadStream = { readonly socket: Socket; readonly start: string }

function openUnread(): Promise<UnreadStream> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  // A dropped connection may end with a reset.
  socket.on('error', () => undefined)
  const lines = Object.entries(asStream().headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${LIVE} HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n`)
  return new Promise((resolve) => {
    socket.once('data', (bytes) => {
      socket.pause()
      resolve({ socket, start: bytes.toString('latin1') })
    })
  })
}

/** Sends a hundred long events, more than a second of a live list has. */
async function sendFlood(round: number): Promise<void> {
  const text = 'x'.repeat(8000)
  const batch = Array.from({ length: 100 }, (_, index) => ({
    event: `flood ${round} ${index}`,
    distinct_id: 'a',
    properties: { text },
  }))
  const body = JSON.stringify({ api_key: API_TOKEN, batch })
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body })
  expect(answer.status).toBe(200)
}

/** Everything that a socket has, to its end. */
function readAll({ socket, start }: UnreadStream): Promise<string> {
  return new Promise((resolve) => {
    let text = start
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.resume()
  })
}

test('readers that never read stop nothing, hold a bounded part, are dropped, and resume', async () => {
  await sendFlood(0)
  const streams = await Promise.all(Array.from({ length: READERS }, openUnread))
  for (const { start } of streams) expect(start).toStartWith('HTTP/1.1 200 ')
  // The streams have all places of the caller.
  const isFull = async (): Promise<boolean> => {
    const answer = await fetch(`${server.url}${LIVE}`, asStream())
    await answer.body?.cancel()
    return answer.status === 429
  }
  let rounds = 1
  for (; await isFull(); rounds += 1) {
    await sendFlood(rounds)
    await Bun.sleep(100)
  }
  const texts = await Promise.all(streams.map(readAll))
  for (const text of texts) {
    // The buffers of the system and of the server, not all that came in.
    expect(text.length).toBeLessThan(10_000_000)
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
    expect(ids.length).toBeGreaterThan(0)
    const headers = { 'Last-Event-ID': String(ids.at(-1)) }
    const { missed, events } = await resumed(headers)
    expect(missed).toBeGreaterThan(0)
    expect(events[0]?.event).toBe(`flood ${rounds - 1} 99`)
  }
})

type Message = { readonly missed: number; readonly events: readonly { readonly event: string }[] }

/** What a stream that goes on after a message begins with. */
async function resumed(headers: Readonly<Record<string, string>>): Promise<Message> {
  const answer = await fetch(`${server.url}${LIVE}`, asStream(headers))
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const [, data] = /^data: (.*)\n\n/m.exec(text) ?? []
    if (data !== undefined) {
      await reader?.cancel()
      return JSON.parse(data)
    }
    const { done, value } = (await reader?.read()) ?? { done: true, value: '' }
    if (done) throw new Error(`the stream ended: ${text.slice(0, 200)}`)
    text += value
  }
}
