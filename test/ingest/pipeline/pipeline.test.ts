/** STEPS: what becomes of one event, as stored rows and warnings. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Folder, NOW, OTHER_TOKEN, STORED_ONE, TOKEN } from '../folder.ts'

let folder: Folder
beforeEach(async () => {
  folder = new Folder()
  await folder.open({ event_bytes_max: 50_000, properties_max: 500 })
})
afterEach(() => folder.remove())

const last = () => folder.events().at(-1)

describe('the documented cases', () => {
  test.each<[string, object, string]>([
    ['no name', { distinct_id: 'u' }, 'missing_event_name'],
    ['a null name', { event: null, distinct_id: 'u' }, 'missing_event_name'],
    ['an empty name', { event: '', distinct_id: 'u' }, 'missing_event_name'],
    ['no distinct id', { event: 'a' }, 'missing_distinct_id'],
    [
      'null distinct ids',
      { event: 'a', distinct_id: null, properties: { distinct_id: null } },
      'missing_distinct_id',
    ],
    ['an empty distinct id', { event: 'a', distinct_id: '' }, 'missing_distinct_id'],
    [
      'an empty distinct id inside',
      { event: 'a', properties: { distinct_id: '' } },
      'missing_distinct_id',
    ],
  ])('%s: that event alone is dropped, counted and told', async (_, event, reason) => {
    const kept = { event: 'kept', distinct_id: 'u' }
    expect(await folder.batch(kept, event, kept)).toEqual({
      kind: 'stored',
      accepted: 2,
      dropped: 1,
      repeated: 0,
    })
    expect(folder.events().map((stored) => stored.event)).toEqual(['kept', 'kept'])
    expect(folder.warnings()).toEqual([reason])
    expect(folder.rows('select name, value from ingest_counters order by name')).toEqual([
      { name: 'accepted', value: 2 },
      { name: `dropped:${reason}`, value: 1 },
    ])
  })

  test("the text of an SDK's own warning is cut", async () => {
    const properties = { $$client_ingestion_warning_message: 'a'.repeat(100_000) }
    await folder.batch({ event: '$$client_ingestion_warning', distinct_id: 'u', properties })
    const [{ details } = { details: '' }] = folder.rows('select details from ingestion_warnings')
    expect(JSON.parse(String(details))).toEqual({ distinct_id: 'u', message: 'a'.repeat(400) })
  })

  test.each(['$performance_event', '$snapshot', '$$client_ingestion_warning'])(
    '%s is answered and not kept',
    async (event) => {
      const sent = {
        event,
        distinct_id: 'u',
        properties: { $$client_ingestion_warning_message: 'oh' },
      }
      expect(await folder.batch(sent)).toEqual({
        kind: 'stored',
        accepted: 0,
        dropped: 1,
        repeated: 0,
      })
      expect(folder.events()).toEqual([])
    },
  )

  test('an empty batch is answered and stores nothing', async () => {
    expect(await folder.batch()).toEqual({ kind: 'stored', accepted: 0, dropped: 0, repeated: 0 })
    expect(folder.first_events).toEqual([])
  })
})

describe('names and ids', () => {
  test.each<[unknown, string]>([
    [12, '12'],
    [1.5, '1.5'],
    [true, 'true'],
    [{ a: [1] }, '{"a":[1]}'],
    ['x'.repeat(201), 'x'.repeat(200)],
    ['😀'.repeat(201), '😀'.repeat(200)],
    [`${'x'.repeat(199)}😀y`, `${'x'.repeat(199)}😀`],
    ['a\0b', 'a\uFFFDb'],
    [' ', ' '],
  ])('%j becomes %j', async (given, stored) => {
    await folder.batch({ event: given, distinct_id: given })
    expect(last()).toMatchObject({ event: stored, distinct_id: stored })
  })

  test('the top level goes before the properties', async () => {
    await folder.batch(
      { event: 'a', distinct_id: 'top', properties: { distinct_id: 'inner' } },
      { event: 'a', distinct_id: null, properties: { distinct_id: 'inner' } },
    )
    expect(folder.events().map((event) => event.distinct_id)).toEqual(['top', 'inner'])
  })

  test.each([
    '0193e000-0000-7000-8000-00000000aaaa',
    '0193E000-0000-7000-8000-00000000AAAA',
    '0193e00000007000800000000000aaaa',
    '{0193e000-0000-7000-8000-00000000aaaa}',
    'urn:uuid:0193e000-0000-7000-8000-00000000aaaa',
  ])('the uuid %s is one and the same', async (uuid) => {
    expect(await folder.batch({ event: 'a', distinct_id: 'u', uuid })).toEqual(STORED_ONE)
    expect(last()?.uuid).toBe('0193e00000007000800000000000aaaa')
  })

  test.each([[undefined], [null], ['']])(
    'without a uuid (%j) one is made, in order of time',
    async (uuid) => {
      await folder.batch(
        { event: 'a', distinct_id: 'u', uuid },
        { event: 'a', distinct_id: 'u', uuid },
      )
      const [first, second] = folder.events().map((event) => event.uuid)
      expect(first?.charAt(12)).toBe('7')
      expect(String(second) > String(first)).toBe(true)
    },
  )
})

describe('stored text', () => {
  test('is well-formed whatever was sent, keys included', async () => {
    await folder.send(
      `{"api_key":"${TOKEN}","batch":[{"event":"a\\ud800","distinct_id":"u\\udc00","properties":{"k\\ud83d":"v\\u0000","pair":"\\ud83d\\ude00","in":["\\udfff",{"x":"\\uDBFF"}],"$set":{"p\\ud800":"\\u0000"},"$groups":{"g\\ud800":"k\\ud800"}}}]}`,
    )
    const stored = last()
    expect(stored).toMatchObject({ event: 'a\uFFFD', distinct_id: 'u\uFFFD' })
    expect(stored?.properties).toMatchObject({
      'k\uFFFD': 'v\uFFFD',
      pair: '😀',
      in: ['\uFFFD', { x: '\uFFFD' }],
    })
    expect(stored?.groups[0]).toBe('k\uFFFD')
    const tables = ['events', 'persons', 'property_definitions', 'group_types']
    const texts = tables.flatMap((table) =>
      folder.rows(`select * from ${table}`).flatMap(Object.values),
    )
    const unclean = texts.filter((text) => /\\ud[89a-f]|\\u0000/i.test(String(text)))
    expect(unclean).toEqual([])
  })

  test('gives back numbers, nulls and nesting as sent', async () => {
    const properties = {
      a: 1.25,
      b: -0.1,
      c: null,
      d: [],
      e: {},
      f: [[[1, 'x', { y: null }]]],
      '': 1,
      'a.b': 2,
      '"': 3,
      "'": 4,
    }
    await folder.batch({ event: 'a', distinct_id: 'u', properties })
    expect(last()?.properties).toEqual({ ...properties, $ip: '1.2.3.4' })
  })
})

describe('limits', () => {
  test.each<[string, object]>([
    ['an event beyond its size', { a: 'x'.repeat(50_000) }],
    ['an event beyond its size in bytes', { a: 'é'.repeat(25_000) }],
    [
      'too many properties',
      Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`p${index}`, 1])),
    ],
  ])('%s refuses the request, of which nothing is stored', async (_, properties) => {
    const answer = await folder.batch(
      { event: 'a', distinct_id: 'u' },
      { event: 'a', distinct_id: 'u', properties },
    )
    expect(answer).toMatchObject({ kind: 'refused', code: 'request_too_large', attr: 'properties' })
    expect(folder.events()).toEqual([])
  })

  test('as many properties and bytes as allowed are stored', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`p${index}`, 1]))
    expect(await folder.batch({ event: 'a', distinct_id: 'u', properties: many })).toEqual(
      STORED_ONE,
    )
    expect(
      await folder.batch({ event: 'a', distinct_id: 'u', properties: { a: 'x'.repeat(49_900) } }),
    ).toEqual(STORED_ONE)
  })

  test('127 levels of properties are stored', async () => {
    const deep = `${'{"a":'.repeat(126)}[]${'}'.repeat(126)}`
    expect(
      await folder.send(
        `{"api_key":"${TOKEN}","event":"a","distinct_id":"u","properties":${deep}}`,
      ),
    ).toEqual(STORED_ONE)
  })
})

describe('what surrounds an event', () => {
  test('its address is the client’s unless it says otherwise', async () => {
    await folder.batch(
      { event: 'a', distinct_id: 'u' },
      { event: 'a', distinct_id: 'u', properties: { $ip: '9.9.9.9' } },
      { event: 'a', distinct_id: 'u', properties: { capture_internal: true } },
    )
    expect(folder.events().map((event) => event.properties['$ip'])).toEqual([
      '1.2.3.4',
      '9.9.9.9',
      '127.0.0.1',
    ])
  })

  test('its address is left out where the project says so', async () => {
    await folder.send({
      api_key: OTHER_TOKEN,
      batch: [{ event: 'a', distinct_id: 'u', properties: { $ip: '9.9.9.9' } }],
    })
    expect(last()?.properties).not.toHaveProperty('$ip')
  })

  test('an unknown address is left out', async () => {
    await folder.send({ api_key: TOKEN, event: 'a', distinct_id: 'u' }, { client_ip: '' })
    expect(last()?.properties).toEqual({})
  })

  test.each<[unknown, unknown]>([
    ['0193E000-0000-7000-8000-00000000AAAA', '0193e000-0000-7000-8000-00000000aaaa'],
    ['{0193E000-0000-7000-8000-00000000AAAA}', '{0193E000-0000-7000-8000-00000000AAAA}'],
    ['My Session', 'My Session'],
    [12, 12],
    [null, null],
  ])('its session %j becomes %j', async (sent, stored) => {
    await folder.batch({ event: 'a', distinct_id: 'u', properties: { $session_id: sent } })
    expect(last()?.properties['$session_id']).toBe(stored)
  })

  test.each<[object, unknown]>([
    [{ $os_name: 'iOS' }, 'iOS'],
    [{ $os_name: 'iOS', $process_person_profile: false }, 'iOS'],
    [{ $os_name: 'macOS', $os: 'Mac OS X' }, 'Mac OS X'],
    [{ $os_name: 'iOS', $os: null }, null],
    [{ $os_name: 'Linux', $is_server: true }, undefined],
  ])('its system is that of %j', async (properties, expected) => {
    await folder.batch({ event: 'a', distinct_id: 'u', properties })
    expect(last()?.properties['$os']).toEqual(expected)
  })

  test.each<[string, object, object, string]>([
    [
      'its time and the request’s sent_at',
      { timestamp: '2026-03-01T11:00:00Z' },
      { sent_at: '2026-03-01T11:30:00Z' },
      '2026-03-01T11:30:00.000Z',
    ],
    [
      '$ignore_sent_at',
      { timestamp: '2026-03-01T11:00:00Z', properties: { $ignore_sent_at: true } },
      { sent_at: '2026-03-01T11:30:00Z' },
      '2026-03-01T11:00:00.000Z',
    ],
    [
      'a migration',
      { timestamp: '2020-03-01T11:00:00.123456Z' },
      { sent_at: '2026-03-01T11:30:00Z', historical_migration: true },
      '2020-03-01T11:00:00.123Z',
    ],
    ['an offset', { offset: 1453 }, {}, '2026-03-01T11:59:58.547Z'],
    ['nothing', {}, {}, '2026-03-01T12:00:00.000Z'],
  ])('its time comes from %s', async (_, event, envelope, expected) => {
    await folder.send({
      api_key: TOKEN,
      batch: [{ event: 'a', distinct_id: 'u', ...event }],
      ...envelope,
    })
    expect(last()?.timestamp).toBe(expected)
  })

  test('the query string tells when it was sent, in milliseconds', async () => {
    const event = { event: 'a', distinct_id: 'u', token: TOKEN, timestamp: '2026-03-01T11:00:00Z' }
    await folder.send([event], { query: `ip=1&_=${NOW - 60_000}&ver=1.2.3`, path: '/e/' })
    await folder.send([event], { query: '_=123', path: '/e/' })
    expect(folder.events().map((stored) => stored.timestamp)).toEqual([
      '2026-03-01T11:01:00.000Z',
      '2026-03-01T11:00:00.000Z',
    ])
    expect(folder.events()[0]?.properties).toMatchObject({ $sent_at: '2026-03-01T11:59:00.000Z' })
  })

  test('a bad or far time is told once in an hour', async () => {
    const bad = { event: 'a', distinct_id: 'u', timestamp: 'soon' }
    await folder.batch(bad, bad, { ...bad, timestamp: '2030-01-01' })
    await folder.batch(bad, { ...bad, distinct_id: 'other' })
    expect(folder.warnings()).toEqual([
      'ignored_invalid_timestamp',
      'event_timestamp_in_future',
      'ignored_invalid_timestamp',
    ])
  })
})

describe('elements', () => {
  const element = {
    tag_name: 'a',
    $el_text: 'Say "hi"',
    attr__href: '/x',
    attr__class: 'b a',
    attr__id: 'btn',
    nth_child: 3,
    nth_of_type: 1,
  }
  const chain =
    'a.a.b:attr__class="b a"attr__href="/x"attr__id="btn"attr_id="btn"href="/x"nth-child="3"nth-of-type="1"text="Say \\"hi\\"";body:nth-child="2"nth-of-type="0"'

  test.each<[string, object]>([
    [
      'in the properties',
      { properties: { $elements: [element, { tag_name: 'body', nth_child: 2 }] } },
    ],
    ['at the top level', { $elements: [element, { tag_name: 'body', nth_child: 2 }] }],
    ['as a ready chain', { properties: { $elements_chain: chain } }],
  ])('%s become a chain of their own', async (_, sent) => {
    await folder.batch({ event: '$autocapture', distinct_id: 'u', ...sent })
    expect(last()?.elements_chain).toBe(chain)
    expect(last()?.properties).toEqual({ $ip: '1.2.3.4' })
  })

  test.each([[null], [7], ['x'], [{}], [[null, 7, 'x', []]]])(
    'that are none (%j) harm nobody',
    async ($elements) => {
      expect(
        await folder.batch({ event: 'a', distinct_id: 'u', properties: { $elements } }),
      ).toEqual(STORED_ONE)
      expect(last()?.elements_chain).toBe('')
    },
  )

  test('with an object in place of a number are stored', async () => {
    const $elements = [{ tag_name: 'p', nth_child: { valueOf: 1, toString: 1 }, nth_of_type: [2] }]
    expect(await folder.batch({ event: 'a', distinct_id: 'u', properties: { $elements } })).toEqual(
      STORED_ONE,
    )
    expect(last()?.elements_chain).toBe('p:nth-child="NaN"nth-of-type="NaN"')
  })

  test('are as many as have room in a chain', async () => {
    const long = Array.from({ length: 20_000 }, (_, index) => `p:nth-child="${index}"`).join(';')
    await folder.batch({
      event: 'a',
      distinct_id: 'u',
      properties: { $elements_chain: long },
    })
    const kept = last()?.elements_chain ?? ''
    expect(kept.length).toBeWithin(99_900, 100_001)
    expect(long.slice(kept.length)).toStartWith(';')
    expect(long).toStartWith(kept)
    expect(folder.warnings()).toContain('elements_chain_size_violation')
  })

  test('are cut', async () => {
    await folder.batch({
      event: 'a',
      distinct_id: 'u',
      properties: { $elements: [{ tag_name: 'p', $el_text: 'x'.repeat(500) }] },
    })
    expect(last()?.elements_chain).toContain(`text="${'x'.repeat(400)}"`)
  })
})

describe('definitions', () => {
  const types = (kind: string) =>
    Object.fromEntries(
      folder
        .rows('select name, property_type from property_definitions where kind = ?', kind)
        .map((row) => [row['name'], row['property_type']]),
    )

  test('hold names and the first type seen', async () => {
    const properties = {
      number: 1.5,
      text: 'a',
      flag: true,
      flag_text: 'FALSE',
      day: '2026-01-01',
      moment: '2026-01-01T00:00:00.000Z',
      us_day: '03/10/2026',
      mail_date: 'Tue, 10 Mar 2026 12:34:56 +0000',
      sent_on: '10 March',
      load_time: 12,
      seconds_at: NOW / 1000 - 1,
      old_at: NOW / 1000 - 200 * 86_400,
      event_timestamp: NOW,
      total: NOW,
      half_time: NOW / 1000 + 0.5,
      utm_term: 5,
      '$feature/x': true,
      later: null,
      list: [1],
      $set: { email: 'a@b.c', age: 3 },
      $set_once: { since: '2026-01-01' },
      $groups: { company: 'acme' },
      ['x'.repeat(201)]: 1,
    }
    await folder.batch({ event: 'seen', distinct_id: 'u', properties })
    await folder.batch({
      event: 'seen',
      distinct_id: 'u',
      properties: { number: 'text', later: 7, list: [2] },
    })
    expect(types('event')).toEqual({
      number: 'Numeric',
      text: 'String',
      flag: 'Boolean',
      flag_text: 'Boolean',
      day: 'DateTime',
      moment: 'DateTime',
      us_day: 'DateTime',
      mail_date: 'DateTime',
      sent_on: 'String',
      load_time: 'Numeric',
      seconds_at: 'DateTime',
      old_at: 'Numeric',
      event_timestamp: 'DateTime',
      total: 'Numeric',
      half_time: 'Numeric',
      utm_term: 'String',
      '$feature/x': 'String',
      later: 'Numeric',
      list: null,
      $ip: 'String',
    })
    expect(types('person')).toEqual({
      email: 'String',
      age: 'Numeric',
      since: 'DateTime',
      utm_term: 'String',
      $initial_utm_term: 'String',
    })
    expect(folder.rows('select name from event_definitions')).toEqual([{ name: 'seen' }])
  })

  test('keep the first type of a batch', async () => {
    const value = (state: unknown) => ({
      event: 'seen',
      distinct_id: 'u',
      properties: { state, $set: { stage: state } },
    })
    await folder.batch(value(null), value('undefined'), value('true'), value(7))
    expect(types('event')['state']).toBe('String')
    expect(types('person')['stage']).toBe('String')
  })

  test('of groups belong to their type', async () => {
    await folder.batch({
      event: '$groupidentify',
      distinct_id: 'u',
      properties: { $group_type: 'company', $group_key: 1, $group_set: { size: 3 } },
    })
    expect(types('group')).toEqual({ size: 'Numeric' })
  })

  test('are read back after a restart, and last_seen moves by the hour', async () => {
    const event = { api_key: TOKEN, event: 'seen', distinct_id: 'u', properties: { a: 1 } }
    await folder.send(event)
    await folder.capture.close()
    await folder.open()
    await folder.send(event, { received_at_ms: NOW + 1000 })
    const seen = () =>
      folder.rows("select first_seen, last_seen from property_definitions where name = 'a'")
    expect(seen()).toEqual([{ first_seen: NOW * 1000, last_seen: NOW * 1000 }])
    await folder.send(event, { received_at_ms: NOW + 3_600_000 })
    expect(seen()).toEqual([{ first_seen: NOW * 1000, last_seen: (NOW + 3_600_000) * 1000 }])
  })
})
