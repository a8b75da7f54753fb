/** Large requests take another way, over the decode thread: what is stored must not show it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { DECODE_THREAD_BYTES_MIN } from '../../../src/ingest/threads/decode-client.ts'
import { Folder, NOW, TOKEN } from '../folder.ts'

/** Nothing of ours, and large enough to be sent along the other way. */
const PADDING = { event: '', distinct_id: 'x'.repeat(DECODE_THREAD_BYTES_MIN) }

const uuidOf = (index: number) => `0193e000-0000-7000-8000-${String(index).padStart(12, '0')}`

/** A bit of everything that an event may have. */
const EVENTS = [
  { event: 'plain', distinct_id: 'a', properties: { n: 1, text: 'Zürich 日本 😀', list: [{}] } },
  {
    event: 'seen',
    distinct_id: 'a',
    properties: { $browser: 'Chrome', utm_source: 'x', $os_name: 'iOS' },
  },
  { event: 'set', distinct_id: 'a', properties: { $set: { a: 1 }, $set_once: { b: { c: [1] } } } },
  { event: 'unset', distinct_id: 'a', properties: { $unset: ['a', 'none'] }, $set: { __proto: 1 } },
  {
    event: '$identify',
    distinct_id: 'user',
    properties: { $anon_distinct_id: 'a', $browser: 'Opera' },
  },
  { event: '$create_alias', distinct_id: 'user', properties: { alias: 'other' } },
  { event: '$identify', distinct_id: 'user', properties: { $anon_distinct_id: 'null' } },
  {
    event: 'anonymous',
    distinct_id: 'p',
    properties: { $process_person_profile: false, $set: { a: 1 } },
  },
  {
    event: '$groupidentify',
    distinct_id: 'g',
    properties: { $group_type: 'company', $group_key: 5, $group_set: { n: 1 } },
  },
  { event: 'grouped', distinct_id: 'user', properties: { $groups: { company: '5', team: 'x' } } },
  {
    event: 'click',
    distinct_id: 'user',
    properties: { $elements: [{ tag_name: 'a', $el_text: 'é' }], utm_source: 'mail' },
  },
  { event: 'late', distinct_id: 'user', timestamp: 'soon', properties: { utm_source: 'ads' } },
  { event: 'far', distinct_id: 'user', timestamp: '2031-01-01' },
  { event: '', distinct_id: 'user' },
  { event: 'nobody' },
  { event: '$snapshot', distinct_id: 'user' },
  { event: 'made', distinct_id: 'no-uuid', uuid: null },
].map((event, index) => ({ uuid: uuidOf(index), ...event }))

const TABLES = {
  events:
    'seq, event, distinct_id, hex(person_id), person_mode, timestamp, created_at, properties, elements_chain, group_0, group_1',
  persons: 'hex(id), created_at, properties, is_identified, version, is_deleted',
  distinct_ids: 'distinct_id, hex(person_id), is_main',
  person_overrides: 'hex(old_person_id), hex(person_id)',
  personless_ids: 'distinct_id',
  group_types: 'group_type, group_type_index',
  groups: 'group_type_index, group_key, created_at, properties',
  event_definitions: 'name, first_seen, last_seen',
  property_definitions: 'kind, group_type_index, name, property_type, first_seen, last_seen',
  ingestion_warnings: 'type, details, created_at',
  ingest_counters: 'name, value',
}

const contentsOf = (folder: Folder) =>
  Object.entries(TABLES).map(([table, columns]) => [
    table,
    folder
      .rows(`select ${columns} from ${table} where project_id = 1`)
      .map((row) => JSON.stringify(row).replaceAll(/"\$creator_event_uuid\\?":\\?"[^"\\]*/g, ''))
      .toSorted(),
  ])

/** The decode thread starts with the first large request, and takes over once it is ready. */
async function warmUp(folder: Folder): Promise<void> {
  await folder.send({ api_key: TOKEN, batch: [PADDING] })
  await Bun.sleep(500)
}

describe('a large request', () => {
  let small: Folder
  let large: Folder
  beforeAll(async () => {
    small = new Folder()
    large = new Folder()
    await small.open()
    await large.open()
    await warmUp(large)
  })
  afterAll(async () => {
    await small.remove()
    await large.remove()
  })

  test('leaves the same rows in every table as small ones do', async () => {
    const envelope = { api_key: TOKEN, sent_at: new Date(NOW).toISOString() }
    const is_small = await small.send({
      ...envelope,
      batch: [...EVENTS, { event: '' }, { event: '' }],
    })
    const is_large = await large.send({ ...envelope, batch: [...EVENTS, PADDING] })
    expect(is_small).toEqual({ kind: 'stored', accepted: 14, dropped: 5, repeated: 0 })
    expect(is_large).toEqual({ kind: 'stored', accepted: 14, dropped: 4, repeated: 0 })
    expect(contentsOf(large)).toEqual(contentsOf(small))
    expect(await large.send({ ...envelope, batch: [...EVENTS, PADDING] })).toMatchObject({
      accepted: 1,
      repeated: 13,
    })
  })

  test.each<[string, object]>([
    ['an unknown key', { api_key: 'phc_none', batch: [PADDING] }],
    ['no key', { batch: [PADDING] }],
    ['null at its end', { api_key: TOKEN, batch: [PADDING, null] }],
    [
      'a bad uuid after thousands of good events',
      {
        api_key: TOKEN,
        batch: [...Array.from({ length: 5000 }, () => EVENTS[0]), { ...EVENTS[0], uuid: 'x' }],
      },
    ],
  ])('with %s is refused as a small one is', async (_, body) => {
    const before = large.rows('select 1 from events').length
    expect(await large.send(body)).toMatchObject({ kind: 'refused' })
    expect(large.rows('select 1 from events')).toHaveLength(before)
  })

  test('that was sent as a small one is stored on the same way', async () => {
    const folder = new Folder()
    await folder.open()
    const batch = Array.from({ length: 10_000 }, () => ({ event: 'packed', distinct_id: 'u' }))
    const packed = () => Bun.gzipSync(JSON.stringify({ api_key: TOKEN, batch }))
    expect(packed().length).toBeLessThan(8 * 1024)
    const stored = { kind: 'stored', accepted: 10_000, dropped: 0, repeated: 0 } as const
    // The first one starts the thread.
    expect(await folder.send(packed())).toEqual(stored)
    expect(await folder.send(Buffer.from(packed()).toString('base64'))).toEqual(stored)
    expect(
      await folder.send(Bun.gzipSync(`{"api_key":"phc_none","a":"${'x'.repeat(1e6)}"}`)),
    ).toMatchObject({
      code: 'invalid_api_key',
    })
    expect(await folder.send(Bun.gzipSync('x'.repeat(30_000_000)))).toMatchObject({
      code: 'request_too_large',
    })
    await folder.remove()
  })

  test('is prepared in slices, and stored as one', async () => {
    const batch = Array.from({ length: 10_000 }, (_, index) => ({
      event: 'sliced',
      distinct_id: `s${index}`,
      properties: { index },
    }))
    expect(await large.send({ api_key: TOKEN, batch })).toEqual({
      kind: 'stored',
      accepted: 10_000,
      dropped: 0,
      repeated: 0,
    })
    const rows = large.rows("select properties from events where event = 'sliced' order by seq")
    expect(rows.map((row) => JSON.parse(String(row['properties'])).index)).toEqual(
      batch.map((_, index) => index),
    )
  })

  test('that is in the way when ingestion closes is answered first', async () => {
    const folder = new Folder()
    await folder.open()
    await warmUp(folder)
    const batch = Array.from({ length: 3000 }, (_, index) => ({
      event: 'last',
      distinct_id: `s${index}`,
    }))
    const answers = [folder.send({ api_key: TOKEN, batch }), folder.send({ api_key: TOKEN, batch })]
    await folder.capture.close()
    expect(await Promise.all(answers)).toMatchObject([{ accepted: 3000 }, { accepted: 3000 }])
    expect(folder.rows('select 1 from events')).toHaveLength(6000)
    await folder.remove()
  })

  test('that cannot be written has its names told again when it is sent again', async () => {
    const folder = new Folder()
    await folder.open()
    await warmUp(folder)
    folder.run(
      "create trigger poison before insert on events begin select raise(abort, 'poison'); end",
    )
    const request = {
      api_key: TOKEN,
      batch: [{ event: 'named', distinct_id: 'u', properties: { p: 1 } }, PADDING],
    }
    const reason = await folder.send(request).then(() => '', String)
    expect(reason).toContain('poison')
    folder.run('drop trigger poison')
    await folder.send(request)
    expect(folder.rows('select name from event_definitions')).toEqual([{ name: 'named' }])
    expect(folder.rows("select property_type from property_definitions where name = 'p'")).toEqual([
      { property_type: 'Numeric' },
    ])
    await folder.remove()
  })
})
