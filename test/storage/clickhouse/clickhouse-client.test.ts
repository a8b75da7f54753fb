/** The client meets a server that means harm in the place of ClickHouse. */
import { afterAll, expect, test } from 'bun:test'
import {
  ClickHouseClient,
  ClickHouseError,
} from '../../../src/storage/clickhouse/clickhouse-client.ts'
import { rejectionOf } from '../../rejection.ts'

const MIB = 1024 * 1024
/** Requests at the other server, to which the first one leads. */
const led: string[] = []
const elsewhere = Bun.serve({
  port: 0,
  fetch: async (request) => {
    led.push(`${request.headers.get('x-clickhouse-key') ?? ''} ${await request.text()}`)
    return new Response('1')
  },
})
/** Sends megabytes until its client goes away, up to a limit. */
const endless = (status: number, headers: Record<string, string>): Response => {
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      sent += 1
      if (sent > 2000) controller.close()
      else controller.enqueue(new Uint8Array(MIB).fill(0x20))
    },
  })
  return new Response(body, { status, headers })
}
const server = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const text = await request.text()
    if (text.includes('redirect')) return Response.redirect(elsewhere.url.href, 307)
    const headers = text.includes('as by ClickHouse') ? { 'X-ClickHouse-Query-Id': 'one' } : {}
    return endless(text.includes('refuse') ? 500 : 200, headers)
  },
})
afterAll(async () => {
  await server.stop(true)
  await elsewhere.stop(true)
})

const client = new ClickHouseClient({
  url: server.url.href.replace(/\/$/, ''),
  user: 'default',
  password: 'secret',
  database: 'default',
})

test('a redirect is not followed: password and rows stay', async () => {
  expect(await rejectionOf(client.run('select redirect'))).toBeInstanceOf(ClickHouseError)
  expect(led).toEqual([])
})

test.each(['an error: refuse', 'an answer', 'an answer as by ClickHouse'])(
  '%s that does not end is left',
  async (sql) => {
    const error = await rejectionOf(client.run(sql))
    expect(error).toMatchObject({
      message: 'ClickHouse, or a server in its place, does not end its answer',
    })
  },
)
