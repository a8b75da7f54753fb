/** Posts to receivers that mean harm, and to those that have an address for a name. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postWebhook } from '../../src/plugins/webhook.ts'
import { makeCertificate, NO_OPENSSL } from '../flows/processes/certificates.ts'

test('a receiver that sends its headers one by one is left after the time of the whole call', async () => {
  const receiver = createServer((connection) => {
    connection.on('error', () => undefined)
    connection.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => connection.write('X-More: 1\r\n'), 20)
    connection.on('close', () => clearInterval(timer))
  })
  const listening = Promise.withResolvers<void>()
  receiver.listen(0, '127.0.0.1', () => listening.resolve())
  await listening.promise
  const address = receiver.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const to = { url: new URL(`http://127.0.0.1:${port}/`), ip: '127.0.0.1', port }
  const timeout_ms = 300
  const result = await postWebhook({ to, headers: {}, secret: null, body: '{}', timeout_ms })
  expect(result).toEqual({ kind: 'failed', reason: 'no answer within 0.3 s' })
  receiver.close()
})

test.skipIf(NO_OPENSSL !== null)(
  'a receiver with https and no name is checked by its address',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-webhook-'))
    const { cert, key } = await makeCertificate(folder, 'address')
    const tls = { cert: Bun.file(cert), key: Bun.file(key) }
    using receiver = Bun.serve({
      port: 0,
      hostname: '0.0.0.0',
      tls,
      fetch: () => new Response(),
    })
    const { port } = receiver
    const source = join(import.meta.dir, '../../src/plugins/webhook.ts')
    // Authorities are read when a process starts.
    const program = `
      const { postWebhook } = await import('${source}')
      for (const ip of ['127.0.0.1', '127.0.0.2']) {
        const to = { url: new URL('https://' + ip + ':${port}/'), ip, port: ${port} }
        const { kind } = await postWebhook({ to, headers: {}, secret: null, body: '{}' })
        console.log(ip, kind)
      }`
    const child = Bun.spawn([process.execPath, '-e', program], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: cert },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err] = [await child.stdout.text(), await child.stderr.text()]
    expect(out + err).toBe('127.0.0.1 delivered\n127.0.0.2 failed\n')
    rmSync(folder, { recursive: true, force: true })
  },
)
