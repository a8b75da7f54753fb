/** Requests of HTTP/1.0, which may name no host, over http. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logs.ts'
import type { Server } from '../../src/serve/listening.ts'
import { startServer } from '../../src/serve.ts'

setDefaultTimeout(60_000)

const KEY = 'phx_preset_key_without_a_host'
const folder = mkdtempSync(join(tmpdir(), 'tidemark-listening-'))
let server: Server
beforeAll(async () => {
  const env = {
    TIDEMARK_BOOTSTRAP_API_TOKEN: 'phc_listening',
    TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: KEY,
    TIDEMARK_PORT: '0',
  }
  server = await startServer(
    readConfig({ data_dir: join(folder, 'data') }, env),
    openLog('silent', []),
  )
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const answerTo = (head: string): Promise<string> => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  let answer = ''
  socket.on('data', (bytes) => (answer += bytes.toString()))
  socket.on('close', () => resolve(answer))
  socket.write(`${head}\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`)
  return promise
}

test('a request that names no host is answered by its path, whatever parameters that has', async () => {
  for (const [path, status] of [
    ['/_health', 200],
    ['/array/phc_listening/config.js', 200],
    ['/api/projects/1/feature_flags/?limit=1', 200],
    ['/static/array.js', 200],
    ['/nowhere/capture/', 404],
  ] as const) {
    for (const host of ['', '\r\nHost: localhost']) {
      const answer = await answerTo(`GET ${path} HTTP/1.0${host}`)
      expect([path, host, answer.split(' ')[1]]).toEqual([path, host, String(status)])
    }
  }
})
