/** Posts to receivers that mean harm. */
import { expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { postWebhook } from '../../src/plugins/webhook.ts'

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
