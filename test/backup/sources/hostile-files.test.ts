/** Broken files of other tools: a broken record is counted and left out, a broken file is named. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { importFiles } from '../../../src/backup/import.ts'
import { listImportFiles } from '../../../src/backup/import-files.ts'
import { SOURCES, type SourceName } from '../../../src/backup/sources/sources.ts'
import { startTidemark, type TestServer } from '../../../src/testing/start.ts'

setDefaultTimeout(120_000)

let folder = ''
let server: TestServer

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-hostile-'))
  server = await startTidemark()
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The totals of an import of one file, or the words with which it ends. */
async function imported(tool: SourceName | null, name: string, content: string | Uint8Array) {
  const path = join(folder, name)
  writeFileSync(path, content)
  const options = {
    url: server.url,
    api_token: server.project_token,
    files: listImportFiles([path], tool !== null),
    mapRecord: tool === null ? null : SOURCES[tool],
    progress_path: join(folder, `${name}.progress`),
    onProgress: () => undefined,
  }
  return importFiles(options).then(
    ({ events, left_out }) => ({ events, left_out }),
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : error),
  )
}

const lines = (...records: readonly unknown[]): string =>
  records.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n')

const amplitude = (more: object): object => ({
  event_type: 'e',
  user_id: 'u',
  event_time: '2025-01-01 00:00:00',
  ...more,
})
const mixpanel = (more: object): object => ({
  event: 'e',
  properties: { time: 1_735_689_600, distinct_id: 'u', ...more },
})
const ga4 = (more: object): object => ({
  event_name: 'e',
  event_timestamp: '1735689600000000',
  user_pseudo_id: 'p',
  ...more,
})
const DEEP = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
const HEAD = 'event_id,session_id,url_path,event_type,created_at'
const AT = '2026-03-01 10:00:00'
const TOO_LARGE = 'refused: An event is larger than 1048576 bytes.'
const UNREADABLE = 'a line or row that cannot be read'
const NO_TIME = 'no time that can be read'

const RECORDS: readonly (readonly [SourceName, string, string | Uint8Array, unknown])[] = [
  [
    'amplitude',
    'records.json',
    lines(
      amplitude({}),
      '{"event_type":"broken',
      `{"event_type":"e","user_id":"u","event_time":"2025-01-01 00:00:00","event_properties":${DEEP}}`,
      amplitude({ uuid: 'none' }),
      amplitude({ event_properties: { big: 'z'.repeat(2_000_000) } }),
      amplitude({ event_time: 'soon' }),
      amplitude({ event_time: null }),
      amplitude({ user_id: ['x'] }),
      '[1]',
      amplitude({
        event_properties: [1],
        user_properties: '{"__proto__":{"x":1}}',
        session_id: {},
      }),
    ),
    {
      events: 3,
      left_out: {
        [UNREADABLE]: 1,
        'nested too deeply': 1,
        [TOO_LARGE]: 1,
        [NO_TIME]: 2,
        'neither user_id nor device_id nor amplitude_id': 1,
        'not a JSON object': 1,
      },
    },
  ],
  [
    'amplitude',
    'bytes.json',
    new Uint8Array([0xff, 0xfe, 0x00, 0x0a, 0xc3]),
    { events: 0, left_out: { [UNREADABLE]: 2 } },
  ],
  [
    'mixpanel',
    'records.jsonl',
    lines(
      ...[true, '', [], {}, null, 'x', -1e20, 1e300].map((time) => mixpanel({ time })),
      mixpanel({ distinct_id: {} }),
      { event: '$merge', properties: { time: 1, $distinct_ids: [1] } },
      { event: 'e', properties: 'none' },
      mixpanel({ $insert_id: {} }),
    ),
    {
      events: 1,
      left_out: { [NO_TIME]: 9, 'no distinct_id': 1, '$merge without two $distinct_ids': 1 },
    },
  ],
  [
    'ga4',
    'records.json',
    lines(
      ga4({ event_timestamp: true }),
      ga4({ event_timestamp: 1e40 }),
      ga4({
        event_params: [null, 1, { key: {} }, { key: '__proto__', value: { string_value: 'x' } }],
      }),
      ga4({ device: [], geo: 'x', user_properties: {} }),
    ),
    { events: 2, left_out: { [NO_TIME]: 2 } },
  ],
  [
    'umami',
    'rows.csv',
    [
      HEAD,
      `none,s1,/a,1,${AT}`,
      's1,/a',
      ',s2,/a,1,2026-13-45 99:00:00',
      `,s3,/a,1,${AT},more,more`,
      `,s4,/b,1,${AT}`,
      '',
    ].join('\n'),
    {
      events: 3,
      left_out: {
        [NO_TIME]: 1,
        'event_type is missing: neither a page view nor a custom event': 1,
      },
    },
  ],
  [
    'umami',
    'bytes.csv',
    Buffer.concat([
      Buffer.from(`${HEAD}\n,s1,/`),
      Buffer.from([0xff, 0xc3, 0x28]),
      Buffer.from(`,1,${AT}\n,s2,/b,1,${AT}\n`),
    ]),
    { events: 1, left_out: { [UNREADABLE]: 1 } },
  ],
  [
    'umami',
    'long.csv',
    `${HEAD}\n,s1,/${'q'.repeat(3_000_000)},1,${AT}\n,s2,/b,1,${AT}\n`,
    { events: 1, left_out: { [TOO_LARGE]: 1 } },
  ],
  [
    'posthog',
    'records.jsonl',
    lines(
      { event: 'e', distinct_id: 'a', timestamp: '2025-01-01', properties: '{no' },
      { event: 'e', distinct_id: {}, timestamp: AT },
      { event: 'e', distinct_id: 'a', timestamp: 1 },
      { event: [], distinct_id: 'a' },
      { person_id: 'x', distinct_id: 'a', properties: 5, created_at: {} },
    ),
    { events: 2, left_out: { 'no distinct_id': 1, [NO_TIME]: 1, 'no event name': 1 } },
  ],
]

test.each(RECORDS.map((one) => [...one] as const))(
  'a broken record of %s in %s is counted, and the others come',
  async (tool, name, content, totals) => {
    expect(await imported(tool, `${tool}-${name}`, content)).toEqual(totals as never)
  },
)

test.each([
  [
    'amplitude',
    'cut.json.gz',
    gzipSync(lines(amplitude({}), amplitude({}))).subarray(0, 40),
    'damaged',
  ],
  ['amplitude', 'none.json.gz', 'no gzip', 'is not gzipped'],
  ['ga4', 'none.parquet', 'no Parquet', 'cannot be read: Invalid Input Error'],
  ['ga4', 'footer.parquet', `PAR1${'\0'.repeat(1000)}PAR1`, 'cannot be read: Invalid Input Error'],
  [
    'umami',
    'open.csv',
    `${HEAD}\n"open,s1,/a,1,${AT}\nx,s1\n`,
    'cannot be read: Invalid Input Error',
  ],
  ['umami', 'none.csv.gz', 'no gzip', 'cannot be read: IO Error'],
  [
    null,
    'deep.jsonl',
    `{"event":"e","distinct_id":"a","properties":${DEEP}}`,
    'record 1: nested too deeply',
  ],
] as const)('a broken file of %s is named: %s', async (tool, name, content, words) => {
  const message = await imported(tool, name, content)
  expect(message).toStartWith(`BackupFault: ${join(folder, name)}`)
  expect(message).toContain(words)
})
