/** An import begins again where nothing says how far it came. */
import { expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { importFiles } from '../../src/backup/import.ts'
import { listImportFiles } from '../../src/backup/import-files.ts'

test.each([[''], ['{"file":0,"rec'], ['null'], ['{}']])(
  'what is left of the progress is %p: every event is sent',
  async (left) => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-import-'))
    const [path, progress_path] = [join(folder, 'events.jsonl'), join(folder, 'progress')]
    writeFileSync(path, '{"event":"a","distinct_id":"d"}\n{"event":"b","distinct_id":"d"}\n')
    writeFileSync(progress_path, left)
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{}') })
    const files = listImportFiles([path])
    const to = { url: `http://127.0.0.1:${server.port}`, api_token: 'token' }
    const imported = await importFiles({ ...to, files, progress_path, onProgress: () => undefined })
    expect(imported).toEqual({ events: 2, records_skipped: 0, left_out: {} })
    expect(existsSync(progress_path)).toBe(false)
    await server.stop(true)
    rmSync(folder, { recursive: true })
  },
)

/** Imports these files into a server that only listens, and answers the uuids it was sent. */
async function sentUuids(paths: readonly string[], progress_path: string): Promise<string[]> {
  const uuids: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { batch } = (await request.json()) as { batch: { uuid: string }[] }
      for (const { uuid } of batch) uuids.push(uuid)
      return new Response('{}')
    },
  })
  const to = { url: `http://127.0.0.1:${server.port}`, api_token: 'token' }
  const files = listImportFiles(paths)
  await importFiles({ ...to, files, progress_path, onProgress: () => undefined })
  await server.stop(true)
  return uuids
}

test.each([['events.jsonl'], ['events.json']])(
  'records without a uuid are told apart by file and place, and are the same ones in the same file: %p',
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-import-'))
    const paths = ['one', 'other'].map((part) => join(folder, part, name))
    const event = '{"event":"a","distinct_id":"d"}'
    for (const path of paths) {
      mkdirSync(join(path, '..'))
      writeFileSync(path, name.endsWith('l') ? `${event}\n${event}\n` : `[${event},${event}]`)
    }
    const first = await sentUuids(paths, join(folder, 'progress'))
    expect(new Set(first).size).toBe(4)
    expect(await sentUuids(paths.slice(1), join(folder, 'progress'))).toEqual(first.slice(2))
    rmSync(folder, { recursive: true })
  },
)

test.each([['events.jsonl'], ['events.json']])(
  'a byte order mark before the first record is no part of it: %p',
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-import-'))
    const path = join(folder, name)
    writeFileSync(path, '\uFEFF{"event":"a","distinct_id":"d"}')
    expect(await sentUuids([path], join(folder, 'progress'))).toHaveLength(1)
    rmSync(folder, { recursive: true })
  },
)

test('requests follow one another in the order of the file, and hold what needs no change as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-import-'))
  const lines = Array.from({ length: 2500 }, (_, index) => {
    const id = String(index).padStart(12, '0')
    return `{"event":"e", "distinct_id":"d","uuid":"00000000-0000-4000-8000-${id}","properties":{"n":1.0}}`
  })
  writeFileSync(join(folder, 'events.jsonl'), lines.join('\n'))
  const bodies: string[] = []
  let open = 0
  let open_most = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      open += 1
      open_most = Math.max(open_most, open)
      bodies.push(await request.text())
      await Bun.sleep(30)
      open -= 1
      return new Response('{}')
    },
  })
  await importFiles({
    url: `http://127.0.0.1:${server.port}`,
    api_token: 'token',
    files: listImportFiles([folder]),
    progress_path: join(folder, 'progress'),
    onProgress: () => undefined,
  })
  await server.stop(true)
  const head = '{"api_key":"token","historical_migration":true,"batch":['
  const parts = [lines.slice(0, 1000), lines.slice(1000, 2000), lines.slice(2000)]
  expect(bodies).toEqual(parts.map((part) => `${head}${part.join(',')}]}`))
  expect(open_most).toBe(1)
  rmSync(folder, { recursive: true })
})

const listing = (path: string): string => {
  try {
    return listImportFiles([path])
      .map(({ bytes }) => bytes)
      .join()
  } catch (error) {
    return String(error)
  }
}

test('links and pipes in a folder are not followed, and neither are names that match others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-import-'))
  const inside = join(folder, 'inside')
  mkdirSync(inside)
  writeFileSync(join(folder, 'secret.jsonl'), '{}')
  symlinkSync(join(folder, 'secret.jsonl'), join(inside, 'events.jsonl'))
  expect(listing(inside)).toContain('events.jsonl is a link, or not a regular file')
  rmSync(join(inside, 'events.jsonl'))
  execFileSync('mkfifo', [join(inside, 'events.json')])
  expect(listing(inside)).toContain('events.json is a link, or not a regular file')
  expect(listing(join(inside, 'events.json'))).toContain('is a link, or not a regular file')
  rmSync(join(inside, 'events.json'))
  writeFileSync(join(inside, '*.parquet'), '')
  expect(listing(inside)).toContain('rename it')
  rmSync(join(inside, '*.parquet'))
  writeFileSync(join(inside, 'large.json'), '')
  truncateSync(join(inside, 'large.json'), 513 * 1024 * 1024)
  expect(listing(inside)).toContain('has more than 536870912 bytes of JSON')
  // What the caller names is the caller's word.
  symlinkSync(join(folder, 'secret.jsonl'), join(folder, 'mine.jsonl'))
  expect(listing(join(folder, 'mine.jsonl'))).toBe('2')
  rmSync(folder, { recursive: true })
})

test.each([
  ['events.json.gz', gzipSync(Buffer.alloc(520 * 1024 * 1024), { level: 1 }), 'bytes of JSON'],
  ['events.json.gz', Buffer.from('no gzip'), 'is not gzipped'],
  ['events.jsonl', Buffer.alloc(40 * 1024 * 1024, 'x'), 'has a line of more than 33554432'],
  ['events.jsonl.gz', gzipSync(Buffer.alloc(40 * 1024 * 1024, 'x')), 'has a line of more than'],
])('%s with more in it than memory should hold is refused', async (name, content, why) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-import-'))
  writeFileSync(join(folder, name), content)
  const sent = sentUuids([join(folder, name)], join(folder, 'progress'))
  expect(await sent.then(String, String)).toContain(why)
  rmSync(folder, { recursive: true })
})
