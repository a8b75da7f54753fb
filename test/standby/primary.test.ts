/** Answers of a primary that means harm: a standby takes none of them. */
import { afterAll, expect, test } from 'bun:test'
import { Primary } from '../../src/standby/primary.ts'
import { rejectionOf } from '../rejection.ts'

const LOG = {
  boot: 'b',
  salts: '0'.repeat(16),
  page_bytes: 4096,
  header: '',
  from: 0,
  until: 0,
  is_end: true,
  change: 1,
  manifest_version: null,
  files: null,
}
let answer: () => Response = () => new Response('')
const server = Bun.serve({ port: 0, fetch: () => answer() })
afterAll(async () => {
  await server.stop(true)
})
const primary = new Primary({ url: server.url.href.replace(/\/$/, ''), key: 'k', id: 'i' })
const read = () => primary.readLog('events', null, -1, new AbortController().signal)

test('a log of this wire is read', async () => {
  answer = () => new Response(`${JSON.stringify(LOG)}\n`)
  expect(await read()).toMatchObject({ log: LOG })
})

test.each([
  ['salts that lead elsewhere', { salts: '/../../../victim' }],
  ['a page of a gigabyte', { page_bytes: 2 ** 30 }],
  ['a page of less than nothing', { page_bytes: -24 }],
  ['frames without an end', { until: 1e300 }],
  [
    'a file whose length is none',
    { files: [{ project_id: 1, id: 'a', byte_count: -1, sha256: '' }] },
  ],
])('%s is refused', async (_, change) => {
  answer = () => new Response(`${JSON.stringify({ ...LOG, ...change })}\n`)
  expect(await rejectionOf(read())).toMatchObject({ name: 'UnreadableAnswer' })
})

test('pages without an end are left', async () => {
  answer = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
      }),
    )
  const range = { length: 1024 * 1024, sha256: null }
  const pages = primary.readPages('events', 0, range, new AbortController().signal)
  expect(await rejectionOf(pages)).toMatchObject({ name: 'HomeError' })
})
