/** Clients that hold connections without using them: what ends them, and that others are answered meanwhile. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logs.ts'
import type { Server } from '../../src/serve/listening.ts'
import { startServer } from '../../src/serve.ts'

/** Connections of each kind. */
const EACH = 200

const REQUEST = 'GET /_health HTTP/1.1\r\nHost: x\r\n\r\n'
const HEAD = 'POST /capture/ HTTP/1.1\r\nHost: x\r\n'
const EVENT = '{"api_key":"phc_slow","event":"beside slow ones","distinct_id":"u"}'

/** KINDS: what a slow client sends at first, and every second after it. A line adds a kind. */
const KINDS: readonly (readonly [name: string, first: string, drip: string])[] = [
  ['never send anything', '', ''],
  ['send a head without an end', 'GET /_health HTTP/1.1\r\nHost: x\r\n', 'X-A: a\r\n'],
  ['keep a connection that was answered', REQUEST, ''],
  ['send a body drop by drop', `${HEAD}Content-Length: 60000\r\n\r\n{`, ' '],
  ['send a chunked body drop by drop', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
  ['send nothing of a long body', `${HEAD}Content-Length: 2000000\r\n\r\n`, ''],
]

// Their time is the idle one, a minute: part of check:long.
describe.skipIf(process.env['SOAK_S'] === undefined)('slow clients', () => {
  let folder: string
  let server: Server
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-slow-'))
    const env = { TIDEMARK_BOOTSTRAP_API_TOKEN: 'phc_slow', TIDEMARK_PORT: '0' }
    server = await startServer(readConfig({ data_dir: folder }, env), openLog('error', []))
  }, 60_000)
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)

  /** Opens one and resolves once the server has closed it. */
  const beSlow = async (first: string, drip: string): Promise<void> => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const timer = setInterval(() => drip !== '' && socket.write(drip), 1000)
    socket.write(first)
    await new Promise((resolve) => socket.on('error', resolve).on('close', resolve).resume())
    clearInterval(timer)
  }

  test('lose their connections, and others are answered meanwhile', async () => {
    const open = new Map(KINDS.map(([name]) => [name, EACH]))
    const closed = KINDS.flatMap(([name, first, drip]) =>
      Array.from({ length: EACH }, async () => {
        await beSlow(first, drip)
        open.set(name, (open.get(name) ?? 0) - 1)
      }),
    )
    let answered = 0
    const state = { is_over: false }
    const askOn = async (): Promise<void> => {
      while (!state.is_over) {
        const sent = await fetch(`${server.url}/capture/`, { method: 'POST', body: EVENT })
        expect(await sent.json()).toEqual({ status: 1 })
        answered += 1
        await Bun.sleep(100)
      }
    }
    const asking = askOn()
    await Promise.race([Promise.all(closed), Bun.sleep(240_000)])
    state.is_over = true
    await asking
    expect(Object.fromEntries(open)).toEqual(Object.fromEntries(KINDS.map(([name]) => [name, 0])))
    expect(answered).toBeGreaterThan(0)
  }, 300_000)
})
