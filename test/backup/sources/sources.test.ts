/** Other tools' export files as they write them, and the requests that bring them over. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { importFiles } from '../../../src/backup/import.ts'
import { listImportFiles } from '../../../src/backup/import-files.ts'
import { SOURCES, type SourceName } from '../../../src/backup/sources/sources.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-sources-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

type Json = Record<string, unknown>

const lines = (...records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('')

/** Imports a file; returns the events that were sent, and the counts of what was left out. */
async function bring(
  from: SourceName,
  name: string,
  content: string | Uint8Array,
): Promise<{ readonly events: readonly Json[]; readonly left_out: unknown }> {
  const path = join(folder, name)
  writeFileSync(path, content)
  const events: Json[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { batch } = (await request.json()) as { batch: Json[] }
      events.push(...batch)
      return new Response('{}')
    },
  })
  const { left_out } = await importFiles({
    url: `http://127.0.0.1:${server.port}`,
    api_token: 'token',
    files: listImportFiles([path], true),
    mapRecord: SOURCES[from],
    progress_path: join(folder, 'progress'),
    onProgress: () => undefined,
  })
  await server.stop(true)
  return { events, left_out }
}

const A_UUID = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
)

test('an event that is called like a member of every object keeps its name', async () => {
  const time = '2026-03-01 10:00:00'
  const records = {
    amplitude: { event_type: 'constructor', user_id: 'u', event_time: time },
    ga4: { event_name: 'toString', user_id: 'u', event_timestamp: '1772359200000000' },
    mixpanel: { event: 'valueOf', properties: { distinct_id: 'u', time: 1_772_359_200 } },
  } as const
  for (const from of ['amplitude', 'ga4', 'mixpanel'] as const) {
    const { events, left_out } = await bring(from, `${from}.json`, lines(records[from]))
    const [name] = Object.values(records[from])
    expect({ names: events.map(({ event }) => event), left_out }).toEqual({
      names: [name],
      left_out: {},
    })
  }
})

test("Mixpanel's lines keep names, times and properties; identities become ours", async () => {
  const content = lines(
    {
      event: '$mp_web_page_view',
      properties: {
        time: 1602611311,
        distinct_id: 'ann',
        $insert_id: 'hpuDqcvpltpCjBse',
        mp_processing_time_ms: 1602625711874,
        mp_country_code: 'DE',
        $current_url: 'https://example.com/',
        plan: 'pro',
      },
    },
    {
      event: '$identify',
      properties: { time: 1602611312, distinct_id: 'ann', $identified_id: 'ann', $anon_id: 'a-1' },
    },
    { event: '$merge', properties: { time: 1602611313, $distinct_ids: ['ann', 'a-2'] } },
    { event: 'Signed Up', properties: { time: 1602611314000, $insert_id: 'x' } },
    { event: 'Signed Up', properties: { distinct_id: 'ann' } },
    ['no', 'object'],
  )
  const brought = await bring('mixpanel', 'export.jsonl', content)
  expect(brought).toEqual({
    events: [
      {
        event: '$pageview',
        distinct_id: 'ann',
        timestamp: '2020-10-13T17:48:31.000Z',
        uuid: A_UUID,
        properties: {
          mp_country_code: 'DE',
          $geoip_country_code: 'DE',
          $current_url: 'https://example.com/',
          plan: 'pro',
        },
      },
      {
        event: '$identify',
        distinct_id: 'ann',
        timestamp: '2020-10-13T17:48:32.000Z',
        uuid: A_UUID,
        properties: { $anon_distinct_id: 'a-1' },
      },
      {
        event: '$merge_dangerously',
        distinct_id: 'ann',
        timestamp: '2020-10-13T17:48:33.000Z',
        uuid: A_UUID,
        properties: { alias: 'a-2' },
      },
    ],
    left_out: { 'no distinct_id': 1, 'no time that can be read': 1, 'not a JSON object': 1 },
  })
  expect(await bring('mixpanel', 'export.jsonl', content)).toEqual(brought)
})

test("Amplitude's gzipped lines make a user and a device one person", async () => {
  const uuid = '2b4a9bbc-8b1f-11ee-9d3c-0242ac120002'
  const record = {
    $insert_id: '5f9d',
    uuid,
    event_type: '[Amplitude] Page Viewed',
    event_time: '2023-11-24 10:11:12.345000',
    user_id: 'ann@example.com',
    device_id: 'device-1',
    amplitude_id: 123456789012,
    session_id: 1700820672345,
    event_properties: { '[Amplitude] Page Location': 'https://example.com/a', price: 3 },
    user_properties: { plan: 'pro' },
    os_name: 'Chrome',
    city: null,
  }
  const nameless = { ...record, event_type: null }
  const content = gzipSync(lines(record, nameless))
  const at = { distinct_id: 'ann@example.com', timestamp: '2023-11-24 10:11:12.345000' }
  expect(await bring('amplitude', '123_2023-11-24_10#1.json.gz', content)).toEqual({
    events: [
      { ...at, event: '$identify', uuid: A_UUID, properties: { $anon_distinct_id: 'device-1' } },
      {
        ...at,
        event: '$pageview',
        uuid,
        properties: {
          $device_id: 'device-1',
          $os: 'Chrome',
          '[Amplitude] Page Location': 'https://example.com/a',
          $current_url: 'https://example.com/a',
          price: 3,
          $session_id: 'device-1.1700820672345',
          $set: { plan: 'pro' },
        },
      },
    ],
    left_out: { 'no event name': 1 },
  })
})

test('rows of GA4 have parameters as properties; one without consent belongs to nobody', async () => {
  const row = {
    event_date: '20240315',
    event_timestamp: '1710496800123456',
    event_name: 'page_view',
    user_pseudo_id: '1234.5678',
    event_params: [
      { key: 'ga_session_id', value: { int_value: '1710496800' } },
      { key: 'page_location', value: { string_value: 'https://example.com/a' } },
      { key: 'value', value: { double_value: 2.5 } },
    ],
    user_properties: [{ key: 'plan', value: { string_value: 'pro' } }],
    device: { category: 'mobile', web_info: { browser: 'Chrome' } },
    traffic_source: { source: 'google', medium: 'organic' },
  }
  const refused = { ...row, user_pseudo_id: null }
  expect(await bring('ga4', 'events_20240315.json', lines(row, refused))).toEqual({
    events: [
      {
        event: '$pageview',
        distinct_id: '1234.5678',
        timestamp: '2024-03-15T10:00:00.123Z',
        uuid: A_UUID,
        properties: {
          $device_type: 'mobile',
          $browser: 'Chrome',
          ga_session_id: 1710496800,
          page_location: 'https://example.com/a',
          $current_url: 'https://example.com/a',
          value: 2.5,
          $session_id: '1234.5678.1710496800',
          $set: { plan: 'pro' },
          $set_once: { $initial_utm_source: 'google', $initial_utm_medium: 'organic' },
        },
      },
    ],
    left_out: { 'neither user_id nor user_pseudo_id: consent was not given': 1 },
  })
})

test("PostHog's batch exports bring events as they are, and what persons have", async () => {
  const uuid = '018e4a5c-0000-7000-8000-000000000001'
  const person_id = '018e4a5c-0000-0000-0000-000000000002'
  const content = lines(
    {
      uuid,
      event: 'bought',
      distinct_id: 'ann',
      person_id,
      properties: '{"price": 3}',
      person_properties: '{"plan": "pro"}',
      timestamp: '2024-03-15T10:00:00.123Z',
      created_at: '2024-03-15T10:00:01Z',
      team_id: 1,
    },
    {
      team_id: 1,
      distinct_id: 'ann',
      person_id,
      properties: { plan: 'pro' },
      person_version: 2,
      created_at: '2024-03-01T00:00:00Z',
    },
    { team_id: 1, distinct_id: 'bob', person_id, properties: {}, is_deleted: true },
  )
  expect(await bring('posthog', 'export.jsonl', content)).toEqual({
    events: [
      {
        event: 'bought',
        distinct_id: 'ann',
        timestamp: '2024-03-15T10:00:00.123Z',
        uuid,
        properties: { price: 3 },
      },
      {
        event: '$set',
        distinct_id: 'ann',
        timestamp: '2024-03-01T00:00:00Z',
        uuid: A_UUID,
        properties: { $set: { plan: 'pro' } },
      },
    ],
    left_out: { 'a deleted person': 1 },
  })
})

test("Umami's CSV: its session is the visitor, its visit the session", async () => {
  const event_id = '7e3b8f0a-52c6-4b29-9c31-6a1f0a4b7c11'
  const content = [
    'website_id,session_id,visit_id,event_id,hostname,browser,screen,country,url_path,url_query,referrer_domain,page_title,event_type,event_name,distinct_id,created_at',
    `w,s1,v1,${event_id},example.com,chrome,1440x900,DE,/a,b=1,news.example,"Home, ""sweet""",1,,,2026-03-01 10:00:00`,
    'w,s1,v1,7e3b8f0a-52c6-4b29-9c31-6a1f0a4b7c12,example.com,,,,/a,,,,2,signup,ann,2026-03-01 10:00:05',
    'w,s1,v1,7e3b8f0a-52c6-4b29-9c31-6a1f0a4b7c13,example.com,,,,/a,,,,5,,,2026-03-01 10:00:06',
    'w,s1,v1,7e3b8f0a-52c6-4b29-9c31-6a1f0a4b7c14,example.com,,,,/a,,,,1,,,yesterday',
  ].join('\r\n')
  const page = { $host: 'example.com', $pathname: '/a', $session_id: 'v1' }
  expect(await bring('umami', 'website_event.csv', content)).toEqual({
    events: [
      {
        event: '$pageview',
        distinct_id: 's1',
        timestamp: '2026-03-01 10:00:00',
        uuid: event_id,
        properties: {
          ...page,
          $browser: 'chrome',
          $geoip_country_code: 'DE',
          $current_url: 'https://example.com/a?b=1',
          $referrer: 'https://news.example/',
          $referring_domain: 'news.example',
          title: 'Home, "sweet"',
          $screen_width: 1440,
          $screen_height: 900,
        },
      },
      {
        event: 'signup',
        distinct_id: 'ann',
        timestamp: '2026-03-01 10:00:05',
        uuid: '7e3b8f0a-52c6-4b29-9c31-6a1f0a4b7c12',
        properties: { ...page, $current_url: 'https://example.com/a' },
      },
    ],
    left_out: {
      'event_type 5: neither a page view nor a custom event': 1,
      'no time that can be read': 1,
    },
  })
})
