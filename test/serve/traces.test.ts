/** Traces: spans of requests and their queries reach a collector; one that is down costs nothing but spans. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logs.ts'
import { startServer } from '../../src/serve.ts'
import { askUntil } from '../flows/clients/patience.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-traces-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const KEY = 'phx_key_for_tests_of_traces'

const start = (name: string, traces_to: string, percent = '100') =>
  startServer(
    readConfig(
      { data_dir: join(folder, name) },
      {
        TIDEMARK_PORT: '0',
        TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: KEY,
        TIDEMARK_TRACES_TO: traces_to,
        TIDEMARK_TRACES_PERCENT: percent,
      },
    ),
    openLog('silent', []),
  )

type Span = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
}

/** A collector that keeps what it is sent. */
function openCollector() {
  const spans: Span[] = []
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      expect(new URL(request.url).pathname).toBe('/v1/traces')
      const body: {
        resourceSpans: [
          {
            resource: { attributes: [{ key: string; value: { stringValue: string } }] }
            scopeSpans: [{ spans: Span[] }]
          },
        ]
      } = JSON.parse(await request.text())
      const [{ resource, scopeSpans }] = body.resourceSpans
      expect(resource.attributes).toEqual([
        { key: 'service.name', value: { stringValue: 'tidemark' } },
      ])
      spans.push(...scopeSpans[0].spans)
      return Response.json({})
    },
  })
  return { spans, url: `http://127.0.0.1:${server.port}`, close: () => server.stop(true) }
}

const TRACE = 'a1b2c3d4e5f60718293a4b5c6d7e8f90'
const PARENT = '00f067aa0ba902b7'

const ask = (url: string, query: string, flags: string): Promise<Response> =>
  fetch(`${url}/api/environments/1/query/`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${KEY}`,
      traceparent: `00-${TRACE}-${PARENT}-${flags}`,
    },
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query } }),
  })

test('a request continues the trace of its caller, with its query as a part', async () => {
  const collector = openCollector()
  const server = await start('traced', collector.url, '0')
  const started_ms = Date.now()
  expect((await ask(server.url, 'select 1', '01')).status).toBe(200)
  // Neither what the caller does not trace, nor what the percentage leaves out.
  expect((await ask(server.url, 'select 2', '00')).status).toBe(200)
  await fetch(`${server.url}/_livez`)
  // What waits is sent at the stop.
  await server.stop()
  await collector.close()

  const request = collector.spans.find(({ kind }) => kind === 2)
  expect(request).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    name: 'POST /api/environments/:project_id/query/',
    attributes: expect.arrayContaining([
      { key: 'http.request.method', value: { stringValue: 'POST' } },
      { key: 'http.response.status_code', value: { intValue: '200' } },
    ]),
  })
  const found = collector.spans.map(({ name, traceId, parentSpanId }) => ({
    name,
    traceId,
    is_part: parentSpanId === request?.spanId,
  }))
  expect(found.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    { name: 'POST /api/environments/:project_id/query/', traceId: TRACE, is_part: false },
    { name: 'query', traceId: TRACE, is_part: true },
    { name: 'query wait', traceId: TRACE, is_part: true },
  ])
  const [began, ended] = [request?.startTimeUnixNano, request?.endTimeUnixNano].map((time) =>
    Number(BigInt(time ?? 0) / 1_000_000n),
  )
  expect(began).toBeGreaterThanOrEqual(started_ms - 50)
  expect(ended).toBeGreaterThanOrEqual(began ?? 0)
})

test('a collector that is down costs spans, which are counted, and no request', async () => {
  const server = await start('untaken', 'http://127.0.0.1:1')
  expect((await fetch(`${server.url}/_livez`)).status).toBe(200)
  const readDropped = async (): Promise<number> => {
    const page = await (await fetch(`${server.url}/_metrics`)).text()
    return Number(/^tidemark_spans_total\{outcome="dropped"\} (\d+)$/m.exec(page)?.[1])
  }
  expect(await askUntil(readDropped, (count) => count > 0)).toBeGreaterThan(0)
  await server.stop()
})
