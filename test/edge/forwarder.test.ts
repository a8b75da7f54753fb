/** The sender of an edge's entries, in front of a home that takes less than it sends. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { MIB } from '../../src/bytes.ts'
import { Forwarder } from '../../src/edge/forwarder.ts'
import { Home } from '../../src/edge/home.ts'
import { EdgeEntries } from '../../src/storage/log/edge-entries.ts'
import { EventLog } from '../../src/storage/log/event-log.ts'

test('a batch that the home refuses is sent in halves, each entry once and in order', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-forwarder-'))
  const log = new EventLog(data_dir)
  const entries = new EdgeEntries(log.db)
  const text = `{}\n${'x'.repeat(MIB / 2 - 100)}\n`
  log.transact(() => {
    entries.append(Array.from({ length: 8 }, () => ({ received_at: 1, event_count: 1, text })))
  })
  const refused: number[] = []
  const taken: number[][] = []
  using home = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = zstdDecompressSync(await request.bytes())
      const numbers = body
        .toString()
        .split('\n')
        .filter((_, index) => index % 2 === 0)
        .filter((line) => line !== '')
        .map((line) => Number.parseInt(line, 10))
      if (body.length > 3 * MIB) {
        refused.push(numbers.length)
        return Response.json({ detail: 'too much' }, { status: 503 })
      }
      taken.push(numbers)
      return Response.json({ seq: numbers.at(-1) ?? 8, keeps_order: true })
    },
  })
  const confirmed = Promise.withResolvers<void>()
  const forwarder = new Forwarder({
    data_dir,
    name: 'rome-1',
    home: new Home({ url: home.url.href.replace(/\/$/, ''), key: 'phx_key' }),
    confirm: (_epoch, up_to_seq) => {
      if (up_to_seq === 8) confirmed.resolve()
    },
    setAside: () => undefined,
    resume: () => undefined,
    definitions: { age_s: null, projects: [1] },
    log: { info: () => undefined, warn: () => undefined },
    now: () => new Date(),
  })
  forwarder.start()
  await confirmed.promise
  await forwarder.close()
  log.close()
  rmSync(data_dir, { recursive: true, force: true })
  expect(refused.length).toBeGreaterThan(0)
  expect(Math.max(...taken.map((numbers) => numbers.length))).toBeLessThan(Math.max(...refused))
  expect(taken.flat()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect(forwarder.totals).toMatchObject({ events: 8, failures: refused.length })
  expect(forwarder.last_error).toBeNull()
})

test('the report of an edge with thousands of projects fits the headers of a batch', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-forwarder-'))
  const log = new EventLog(data_dir)
  log.transact(() => void new EdgeEntries(log.db).append([]))
  const reported = Promise.withResolvers<string>()
  using home = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      reported.resolve(request.headers.get('tidemark-report') ?? '')
      return Response.json({ seq: 0, keeps_order: true })
    },
  })
  const forwarder = new Forwarder({
    data_dir,
    name: 'rome-1',
    home: new Home({ url: home.url.href.replace(/\/$/, ''), key: 'phx_key' }),
    confirm: () => undefined,
    setAside: () => undefined,
    resume: () => undefined,
    definitions: { age_s: null, projects: Array.from({ length: 5000 }, (_, index) => index + 1) },
    log: {
      info: () => undefined,
      warn: (fields) => reported.reject(new Error(JSON.stringify(fields))),
    },
    now: () => new Date(),
  })
  forwarder.start()
  try {
    expect(JSON.parse(await reported.promise).projects.slice(0, 3)).toEqual([1, 2, 3])
  } finally {
    await forwarder.close()
    log.close()
    rmSync(data_dir, { recursive: true, force: true })
  }
})
