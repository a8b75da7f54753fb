/** The timeout of idle connections during long answers, on a real server. */
import { expect, test } from 'bun:test'
import { IDLE_TIMEOUT_S } from '../../src/http/endpoint.ts'
import { streamWithoutIdleTimeout, withoutIdleTimeout } from '../../src/http/idle-timeout.ts'

type Answer = (connection: Parameters<typeof withoutIdleTimeout>[0]) => Promise<Response>

/** Sends a request to a server with this answer. Returns the body and the timeouts that were set. */
async function timeoutsOf(answer: Answer): Promise<[body: string, timeouts: readonly number[]]> {
  const timeouts: number[] = []
  using server = Bun.serve({
    port: 0,
    fetch(request, real): Promise<Response> {
      const socket = {
        requestIP: (of: Request) => real.requestIP(of),
        timeout(of: Request, seconds: number): void {
          timeouts.push(seconds)
          real.timeout(of, seconds)
        },
      }
      return answer({ request, socket })
    },
  })
  const response = await fetch(server.url)
  return [await response.text(), timeouts]
}

test('a connection may be idle while an answer is computed, and for a minute after it', async () => {
  expect(
    await timeoutsOf(async (connection) => {
      await withoutIdleTimeout(connection, () => Promise.reject(new Error('failed'))).catch(() => 0)
      return new Response(await withoutIdleTimeout(connection, async () => 'answer'))
    }),
  ).toEqual(['answer', [0, IDLE_TIMEOUT_S, 0, IDLE_TIMEOUT_S]])
})

test('a connection may be idle while rows are streamed, and for a minute after the last one', async () => {
  const parts = ['one,', 'two,', 'three'].map((text) => Buffer.from(text)).values()
  const rows = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
  const [body, timeouts] = await timeoutsOf(
    async (connection) => new Response(streamWithoutIdleTimeout(connection, rows)),
  )
  expect(body).toBe('one,two,three')
  expect(timeouts).toEqual([0, 0, 0, 0, IDLE_TIMEOUT_S])
})

test('a stream whose reader leaves is cancelled', async () => {
  const cancelled = Promise.withResolvers<void>()
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(1000)),
    cancel: () => cancelled.resolve(),
  })
  const request = new Request('http://tidemark.test/')
  const stream = streamWithoutIdleTimeout({ request, socket: null }, endless)
  const reader = stream.getReader()
  await reader.read()
  await reader.cancel()
  await cancelled.promise
})
