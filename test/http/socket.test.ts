/** The server on a real socket: what only bytes can ask for. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logs.ts'
import type { Server } from '../../src/serve/listening.ts'
import { startServer } from '../../src/serve.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const ANSWER_TIMEOUT_MS = 50_000
const KEY = 'phx_preset_key_for_sockets'

const log_lines: string[] = []
let folder = ''
let server: Server
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-socket-'))
  const env = {
    TIDEMARK_BOOTSTRAP_API_TOKEN: 'phc_socket',
    TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: KEY,
    TIDEMARK_PORT: '0',
  }
  const log = openLog('debug', [], { write: (line) => log_lines.push(line) })
  server = await startServer(readConfig({ data_dir: folder }, env), log)
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Sends bytes and resolves with everything that comes back until a whole answer is there or the connection ends. */
function exchange(sent: string, isWhole: (got: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname, () => socket.write(sent))
    let got = ''
    const end = () => {
      socket.destroy()
      resolve(got)
    }
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => {
      socket.destroy()
      reject(new Error(`no whole answer: ${got}`))
    })
    socket.on('data', (bytes) => {
      got += bytes.toString()
      if (isWhole(got)) end()
    })
    socket.on('close', end)
    socket.on('error', reject)
  })
}

const hasBody = (got: string): boolean => /\r\n\r\n.*\}/s.test(got)

describe('the server on its socket', () => {
  test('refuses ten announced gigabytes with JSON before they come', async () => {
    const head = 'POST /batch/ HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n{'
    const got = await exchange(head, hasBody)
    expect(got).toStartWith('HTTP/1.1 413 ')
    expect(got).toContain('"code":"request_too_large"')
  })

  test('refuses an endless chunked body with JSON', async () => {
    const chunk = `100000\r\n${' '.repeat(0x10_00_00)}\r\n`
    const head = 'POST /batch/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
    const got = await exchange(head + chunk.repeat(21), hasBody)
    expect(got).toStartWith('HTTP/1.1 413 ')
    expect(got).toContain('"code":"request_too_large"')
  })

  describe.each([
    ['/flags/', 256 * 1024, 'request_too_large'],
    ['/decide/', 256 * 1024, 'request_too_large'],
    ['/i/v1/analytics/events', 4 * 1024 * 1024, 'payload_too_large'],
    ['/api/projects/', 512 * 1024, 'request_too_large'],
  ])('refuses at %s what is longer than %i bytes', (path, bytes_max, code) => {
    const token = path.startsWith('/i/') ? 'phc_socket' : KEY
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`

    test('before it comes, by its length', async () => {
      const got = await exchange(`${head}Content-Length: ${bytes_max + 1}\r\n\r\n{`, hasBody)
      expect(got).toStartWith('HTTP/1.1 413 ')
      expect(got).toContain(code)
    })

    test('while it comes, without an end', async () => {
      const chunk = `10000\r\n${' '.repeat(0x1_00_00)}\r\n`
      const chunks = chunk.repeat(bytes_max / 0x1_00_00 + 1)
      const got = await exchange(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`, hasBody)
      expect(got).toStartWith('HTTP/1.1 413 ')
      expect(got).toContain(code)
    })
  })

  test.each(['../../x', 'a b', '[', '%00', ''])('is not upset by the Host %p', async (host) => {
    await exchange(`GET /_health HTTP/1.1\r\nHost: ${host}\r\n\r\n`, hasBody)
    const got = await exchange('GET /_health HTTP/1.1\r\nHost: x\r\n\r\n', hasBody)
    expect(got).toStartWith('HTTP/1.1 200 ')
  })

  test('does not read one request as two', async () => {
    const event = '{"api_key":"phc_socket","event":"smuggled","distinct_id":"u"}'
    const inner = `POST /capture/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${event.length}\r\n\r\n${event}`
    const outer =
      'POST /capture/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n'
    const got = await exchange(`${outer}0\r\n\r\n${inner}`, hasBody)
    expect(got).not.toContain('{"status":1}')
  })

  test.each([
    ['small', 'Content-Length: 100\r\n\r\n{'],
    ['large', 'Content-Length: 2000000\r\n\r\n{'],
    ['unannounced', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'],
  ])('takes it for no fault of its own when a %s body breaks off', async (_, rest) => {
    const head = `POST /api/projects/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`
    const isAnswered = () => log_lines.some((line) => line.includes('"path":"/api/projects/"'))
    log_lines.length = 0
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    await new Promise((resolve) => socket.write(head + rest, resolve))
    // Whoever came later has its answer: what came before has been read.
    for (let looks = 0; looks < 2; looks++) {
      await exchange('GET /_health HTTP/1.1\r\nHost: x\r\n\r\n', hasBody)
    }
    socket.destroy()
    while (!isAnswered()) await Bun.sleep(5)
    expect(log_lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  })

  test('answers a request whose body comes in two parts', async () => {
    const event = '{"api_key":"phc_socket","event":"slow","distinct_id":"u"}'
    const head = `POST /capture/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${event.length}\r\n\r\n`
    const { hostname, port } = new URL(server.url)
    const got = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(head + event.slice(0, 10)))
      setTimeout(() => socket.write(event.slice(10)), 50)
      socket.on('data', (bytes) => {
        socket.destroy()
        resolve(bytes.toString())
      })
      socket.on('error', reject)
    })
    expect(got).toContain('{"status":1}')
  })

  test('takes a large body while another address holds many that never arrive', async () => {
    const { hostname, port } = new URL(server.url)
    const length = 19 * 1024 * 1024
    const head = `POST /batch/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`
    const slow = Array.from({ length: 13 }, () => connect(Number(port), hostname))
    const answers = slow.map((socket) => {
      return new Promise<string>((resolve) => {
        socket.on('data', (bytes) => resolve(bytes.toString()))
        socket.on('error', () => undefined)
      })
    })
    for (const socket of slow) socket.write(`${head}{`)
    // The first refused one: those before it hold their share of the memory.
    expect(await Promise.race(answers)).toStartWith('HTTP/1.1 503 ')
    const event = '{"api_key":"phc_socket","event":"beside slow ones","distinct_id":"u"}'
    const got = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), localAddress: '127.0.0.2' })
      socket.on('data', (bytes) => {
        socket.destroy()
        resolve(bytes.toString())
      })
      socket.on('error', reject)
      socket.write(head + event + ' '.repeat(length - event.length))
    })
    for (const socket of slow) socket.destroy()
    expect(got).toContain('{"status":1}')
  })

  test('answers others while clients never read what they asked for, and forgets these', async () => {
    const { hostname, port } = new URL(server.url)
    const body = JSON.stringify({
      query: { kind: 'HogQLQuery', query: "select repeat('a', 1000) from numbers(5000)" },
    })
    const head = (path: string) => `${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`
    const asked = [
      `${head('GET /api/schema/')}\r\n`,
      `${head('POST /api/projects/@current/query/')}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ]
    log_lines.length = 0
    const stalled = Array.from({ length: 20 }, (_, index) => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      socket.pause().write(asked[index % asked.length] ?? '')
      return socket
    })
    const isQueryAnswered = () => log_lines.filter((line) => line.includes('/query/')).length >= 10
    while (!isQueryAnswered()) await Bun.sleep(5)
    const event = '{"api_key":"phc_socket","event":"beside stalled ones","distinct_id":"u"}'
    const sent = await fetch(`${server.url}/capture/`, { method: 'POST', body: event })
    expect(await sent.json()).toEqual({ status: 1 })
    for (const socket of stalled) socket.destroy()
    expect((await fetch(`${server.url}/_readiness`)).status).toBe(200)
    expect(log_lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  })

  test('stores the event of a client that ends its side right after the request', async () => {
    const event = '{"api_key":"phc_socket","event":"half closed","distinct_id":"u"}'
    const head = `POST /capture/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${event.length}\r\n\r\n`
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname, () => socket.end(head + event))
    await new Promise((resolve) => socket.on('close', resolve).resume())
    const query = "select count() from events where event = 'half closed'"
    const isStored = async () => {
      const answer = await fetch(`${server.url}/api/projects/@current/query/`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          query: { kind: 'HogQLQuery', query },
          refresh: 'force_blocking',
        }),
      })
      return JSON.stringify(await answer.json()).includes('"results":[[1]]')
    }
    while (!(await isStored())) await Bun.sleep(20)
  })

  test('answers 431 to a head of many kilobytes or fields', async () => {
    for (const fields of [`X-A: ${'a'.repeat(100_000)}\r\n`, 'X-A: a\r\n'.repeat(1000)]) {
      const got = await exchange(`GET /_health HTTP/1.1\r\nHost: x\r\n${fields}\r\n`, () => false)
      expect(got).toStartWith('HTTP/1.1 431 ')
    }
  })

  test('closes connections whose head never ends, and answers others meanwhile', async () => {
    const { hostname, port } = new URL(server.url)
    let open = 0
    const closed = Array.from({ length: 200 }, async (_, index) => {
      const socket = connect(Number(port), hostname)
      open += 1
      socket.write('GET /_health HTTP/1.1\r\nHost: x\r\n')
      // Half of them send a little more every now and then.
      const drip = setInterval(() => index % 2 === 0 && socket.write('X-A: a\r\n'), 500)
      await new Promise((resolve) => socket.on('error', resolve).on('close', resolve).resume())
      clearInterval(drip)
      open -= 1
    })
    const got = await exchange('GET /_health HTTP/1.1\r\nHost: x\r\n\r\n', hasBody)
    expect(got).toStartWith('HTTP/1.1 200 ')
    expect(open).toBe(200)
    await Promise.all(closed)
    expect(open).toBe(0)
  })

  test.todo(
    'answers a client that ends its side before the answer is there (the HTTP server of Bun closes such a connection at once)',
  )
})
