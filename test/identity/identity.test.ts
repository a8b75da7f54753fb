/** Persons, merges and groups as the rules say, through the front door of ingestion. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { personIdOf } from '../../src/identity/distinct-id.ts'
import { Folder, TOKEN } from '../ingest/folder.ts'
import { randomRuns } from '../random-runs.ts'

let folder: Folder
beforeEach(async () => {
  folder = new Folder()
  await folder.open()
})
afterEach(() => folder.remove())

const hex = (distinct_id: string) => personIdOf(1, distinct_id).toHex()
const capture = (distinct_id: string, properties: object = {}, event = 'seen') => ({
  event,
  distinct_id,
  properties,
})
const identify = (distinct_id: string, anon: unknown, properties: object = {}) =>
  capture(distinct_id, { $anon_distinct_id: anon, ...properties }, '$identify')
const alias = (distinct_id: string, other: unknown, properties: object = {}) =>
  capture(distinct_id, { alias: other, ...properties }, '$create_alias')
const mergeDangerously = (distinct_id: string, other: unknown) =>
  capture(distinct_id, { alias: other }, '$merge_dangerously')
const personless = (distinct_id: string, more: object = {}) => ({
  ...capture(distinct_id, { $process_person_profile: false }),
  ...more,
})

/** What a query sees: each event's person after overrides. */
const peopleOfEvents = () =>
  folder
    .rows(`select lower(hex(coalesce(o.person_id, e.person_id))) person
       from events e left join person_overrides o
       on o.project_id = e.project_id and o.old_person_id = e.person_id order by seq`)
    .map((row) => row['person'])

describe('a person', () => {
  test('is created by the first event of a distinct id, with set over set_once', async () => {
    await folder.batch({
      ...capture('u', { $set_once: { a: 1, b: 1 }, $set: { b: 2, c: { d: [1] } } }),
      uuid: '0193E000-0000-7000-8000-00000000AAAA',
      timestamp: '2026-02-01T00:00:00Z',
    })
    expect(folder.person('u')).toEqual({
      id: hex('u'),
      properties: {
        a: 1,
        b: 2,
        c: { d: [1] },
        $creator_event_uuid: '0193e000-0000-7000-8000-00000000aaaa',
      },
      is_identified: false,
      created_at: '2026-02-01T00:00:00.000Z',
    })
  })

  test.each<[string, object, object, object]>([
    [
      'set replaces whole values',
      { $set: { a: { x: 1 } } },
      { $set: { a: { y: 1 } } },
      { a: { y: 1 } },
    ],
    [
      'set_once keeps what is stored',
      { $set: { a: 1 } },
      { $set_once: { a: 2, b: 2 } },
      { a: 1, b: 2 },
    ],
    ['a stored null counts as stored', { $set: { a: null } }, { $set_once: { a: 2 } }, { a: null }],
    [
      'set_once replaces a null first campaign',
      { $set: { $initial_gclid: null } },
      { $set_once: { $initial_gclid: 'ad' } },
      { $initial_gclid: 'ad' },
    ],
    ['set_once of null keeps a value', { $set: { a: 0 } }, { $set_once: { a: null } }, { a: 0 }],
    ['set wins over set_once', {}, { $set_once: { a: 1 }, $set: { a: 2 } }, { a: 2 }],
    ['unset takes a list', { $set: { a: 1, b: 1 } }, { $unset: ['a', 'none', 7] }, { b: 1 }],
    ['unset takes an object', { $set: { a: 1, b: 1 } }, { $unset: { a: '' } }, { b: 1 }],
    ['unset comes last', { $set: { a: 1 } }, { $set: { a: 2, b: 2 }, $unset: ['a', 'b'] }, {}],
    [
      'what is no object changes nothing',
      { $set: { a: 1 } },
      { $set: 'a', $set_once: [1], $unset: 'a' },
      { a: 1 },
    ],
  ])('changes by the rules: %s', async (_, first, second, expected) => {
    await folder.batch(capture('u', first), capture('u', second))
    const { $creator_event_uuid, ...properties } = folder.person('u')?.properties ?? {}
    expect($creator_event_uuid).toBeString()
    expect(properties).toEqual({ ...expected })
  })

  test('takes updates from the top level and from the properties of one event', async () => {
    const event = {
      ...capture('u', { $set: { a: 1, b: 1 }, $set_once: { o: 1 } }),
      $set: { b: 2 },
      $set_once: { p: 1 },
    }
    await folder.batch(event, { event: 'x', distinct_id: 'u', $unset: ['a'] })
    expect(folder.person('u')?.properties).toMatchObject({ b: 2, o: 1, p: 1 })
    expect(folder.person('u')?.properties).not.toHaveProperty('a')
    expect(folder.events()[0]?.properties).toMatchObject({
      $set: { a: 1, b: 2 },
      $set_once: { o: 1, p: 1 },
    })
  })

  test('learns from event properties, first and last', async () => {
    await folder.batch(
      capture('u', { $browser: 'Chrome', utm_source: 'news', $os_name: 'iOS', other: 1 }),
      capture('u', { $browser: 'Firefox', utm_source: null, $set: { $browser: 'explicit' } }),
      capture('u', { $browser: 'Opera', $set_once: { $initial_browser: 'late' } }),
    )
    expect(folder.person('u')?.properties).toMatchObject({ $browser: 'explicit', $os: 'iOS' })
    await folder.batch(capture('u', { $browser: 'Opera', $os: 'iPadOS' }, '$identify'))
    const { $creator_event_uuid, ...properties } = folder.person('u')?.properties ?? {}
    expect($creator_event_uuid).toBeString()
    expect(properties).toEqual({
      $browser: 'Opera',
      $initial_browser: 'Chrome',
      utm_source: null,
      $initial_utm_source: 'news',
      $os: 'iPadOS',
      $initial_os: 'iOS',
    })
  })

  test('learns of a new campaign, version or country, and of pages only together with one', async () => {
    const first = { utm_source: 'mail', $app_version: '1', $browser: 'Edge', $current_url: '/a' }
    await folder.batch(capture('u', first))
    await folder.batch(capture('u', { ...first, $browser: 'Opera', $current_url: '/b' }))
    expect(folder.person('u')?.properties).toMatchObject({ $browser: 'Edge', $current_url: '/a' })
    await folder.batch(capture('u', { ...first, $app_version: '2', $current_url: '/c' }))
    await folder.batch(capture('u', { utm_source: 'ads' }), capture('u', { $current_url: '/d' }))
    await folder.batch(capture('u', { utm_source: 'ads', $set: { utm_source: 'set' } }))
    expect(folder.person('u')?.properties).toMatchObject({ utm_source: 'set', $app_version: '2' })
    await folder.batch(capture('u', { utm_source: 'ads' }))
    expect(folder.person('u')?.properties).toEqual({
      $creator_event_uuid: expect.any(String),
      utm_source: 'ads',
      $initial_utm_source: 'mail',
      $app_version: '2',
      $initial_app_version: '1',
      $browser: 'Edge',
      $initial_browser: 'Edge',
      $current_url: '/c',
      $initial_current_url: '/a',
    })
  })

  test('learns its first campaign from an event that has one, not from one with nulls', async () => {
    const campaign = { utm_source: 'mail', gclid: null }
    await folder.batch(capture('u', campaign), capture('u', campaign))
    const { $creator_event_uuid, ...properties } = folder.person('u')?.properties ?? {}
    expect(properties).toEqual({ ...campaign, $initial_utm_source: 'mail' })
    await folder.batch(capture('u', { utm_source: null, gclid: 'ad' }))
    await folder.batch(capture('u', { utm_source: 'later', gclid: 'other' }))
    expect(folder.person('u')?.properties).toEqual({
      $creator_event_uuid,
      utm_source: 'later',
      $initial_utm_source: 'mail',
      gclid: 'other',
      $initial_gclid: 'ad',
    })
  })

  test('learns its first campaign in place of a null that was stored before', async () => {
    await folder.batch(
      capture('u', { $set: { gclid: 'ad' }, $set_once: { $initial_gclid: null } }),
      capture('u', { gclid: 'ad' }),
    )
    expect(folder.person('u')?.properties).toMatchObject({ gclid: 'ad', $initial_gclid: 'ad' })
  })

  test('learns when it was last shown a survey, unless the event says it', async () => {
    const shown = (distinct_id: string, properties: object = {}) => ({
      ...capture(distinct_id, properties, 'survey shown'),
      timestamp: '2026-02-01T00:00:00Z',
    })
    await folder.batch(
      shown('u', { $set: { a: 1 } }),
      shown('v', { $set: { $survey_last_seen_date: '2026-01-01' } }),
      shown('w', { $process_person_profile: false }),
    )
    expect(folder.person('u')?.properties).toEqual({
      $creator_event_uuid: expect.any(String),
      $survey_last_seen_date: '2026-02-01T00:00:00.000Z',
      a: 1,
    })
    expect(folder.person('v')?.properties).toMatchObject({ $survey_last_seen_date: '2026-01-01' })
    expect(folder.events().at(-1)?.properties).not.toHaveProperty('$set')
  })

  test('learns nothing about its system from the server that sends its events', async () => {
    const server = { $is_server: true, $os: 'Linux', $os_version: '6.1', $app_version: '2.0' }
    await folder.batch(capture('u', server), capture('w', { $is_server: true, $os_name: 'Linux' }))
    await folder.batch(
      capture('u', { ...server, plan: 1 }, '$identify'),
      capture('u', { $is_server: false, $os: 'iOS' }),
    )
    expect(folder.person('u')?.properties).toEqual({
      $creator_event_uuid: expect.any(String),
      $app_version: '2.0',
      $initial_app_version: '2.0',
      $os: 'iOS',
      $initial_os: 'iOS',
    })
    expect(folder.person('w')?.properties).toEqual({ $creator_event_uuid: expect.any(String) })
    expect(folder.events()[0]?.properties).toMatchObject({ $os: 'Linux', $os_version: '6.1' })
  })

  test('has the $os of an event that has an $os_name too', async () => {
    await folder.batch(capture('u', { $os: 'Mac OS X', $os_name: 'macOS' }))
    expect(folder.person('u')?.properties).toMatchObject({
      $os: 'Mac OS X',
      $initial_os: 'Mac OS X',
    })
  })

  test.each(['$exception', '$$heatmap', '$groupidentify'])(
    'is not changed by %s',
    async (event) => {
      await folder.batch(capture('u', { $set: { a: 1 } }), {
        ...capture('u', { $set: { a: 2 }, $browser: 'x', $unset: ['a'] }, event),
      })
      expect(folder.person('u')?.properties).toMatchObject({ a: 1 })
      expect(folder.person('u')?.properties).not.toHaveProperty('$browser')
    },
  )

  test('keeps __proto__ as a property like any other', async () => {
    await folder.send(
      `{"api_key":"${TOKEN}","batch":[{"event":"a","distinct_id":"u","properties":{"__proto__":{"x":1},"$set":{"__proto__":1,"constructor":2}}},{"event":"a","distinct_id":"u","properties":{"$set":{"__proto__":{"y":1}}}}]}`,
    )
    const [row] = folder.rows('select properties from persons')
    expect(row?.['properties']).toContain('"__proto__":{"y":1}')
    expect(folder.rows('select properties from events')[0]?.['properties']).toContain(
      '"__proto__":{"x":1}',
    )
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  test('that would grow beyond its limit stays as it is, and the event is stored', async () => {
    const half = 'x'.repeat(400_000)
    await folder.batch(capture('u', { $set: { a: half } }))
    await folder.batch(capture('u', { $set: { b: half } }))
    await folder.batch(capture('u', { $set: { a: 1, b: half } }))
    expect(folder.events()).toHaveLength(3)
    expect(folder.person('u')?.properties).toMatchObject({ a: 1, b: half })
    expect(folder.warnings()).toEqual(['person_properties_size_violation'])
  })

  test('is written once per change, with a change number of its own', async () => {
    await folder.batch(capture('u', { $set: { a: 1 } }), capture('u', { $set: { a: 2 } }))
    await folder.batch(capture('u', { $set: { a: 2 } }))
    const before = folder.rows('select change from persons')
    await folder.batch(capture('u', { $set: { a: 3 } }))
    const after = folder.rows('select change from persons')
    const [clock] = folder.rows('select change from clock')
    expect(before).toHaveLength(1)
    expect(Number(after[0]?.['change'])).toBeGreaterThan(Number(before[0]?.['change']))
    expect(clock?.['change']).toBe(after[0]?.['change'])
  })
})

describe('a merge', () => {
  test('of two unknown ids makes one person from the distinct id', async () => {
    await folder.batch(identify('user', 'anon', { $set: { a: 1 } }))
    expect(folder.partition()).toEqual([['anon', 'user']])
    expect(folder.person('anon')).toMatchObject({
      id: hex('user'),
      is_identified: true,
      properties: { a: 1 },
    })
  })

  test.each([
    ['the anonymous one', capture('anon'), 'anon'],
    ['the user', capture('user'), 'user'],
  ])('adds the unknown id when only %s is known', async (_, first, creator) => {
    await folder.batch(first, identify('user', 'anon'))
    expect(folder.partition()).toEqual([['anon', 'user']])
    expect(folder.person('user')).toMatchObject({ id: hex(creator), is_identified: true })
  })

  test('of two persons moves ids, properties, age and past events', async () => {
    await folder.batch(
      { ...capture('anon', { $set: { a: 'anon', b: 'anon' } }), timestamp: '2026-01-01' },
      { ...capture('user', { $set: { b: 'user', c: 'user' } }), timestamp: '2026-02-01' },
      { ...identify('user', 'anon', { $set: { c: 'now' } }), timestamp: '2026-03-01' },
      capture('anon'),
    )
    expect(folder.partition()).toEqual([['anon', 'user']])
    expect(folder.person('anon')).toMatchObject({
      id: hex('user'),
      properties: { a: 'anon', b: 'user', c: 'now' },
      created_at: '2026-01-01T00:00:00.000Z',
      is_identified: true,
    })
    expect(peopleOfEvents()).toEqual([hex('user'), hex('user'), hex('user'), hex('user')])
    expect(folder.rows('select 1 from persons where is_deleted = 1')).toHaveLength(1)
  })

  test('of merged persons leads past events over one step', async () => {
    await folder.batch(capture('a'), capture('b'), capture('c'))
    await folder.batch(mergeDangerously('b', 'a'))
    await folder.batch(mergeDangerously('c', 'b'))
    expect(folder.partition()).toEqual([['a', 'b', 'c']])
    expect(new Set(peopleOfEvents())).toEqual(new Set([hex('c')]))
  })

  test('is refused when the other person has been identified', async () => {
    await folder.batch(identify('one', 'anon1'), identify('two', 'anon2'))
    await folder.batch(identify('one', 'two', { $set: { a: 1 } }), alias('two', 'one'))
    expect(folder.partition()).toEqual([
      ['anon1', 'one'],
      ['anon2', 'two'],
    ])
    expect(folder.person('one')?.properties).toMatchObject({ a: 1 })
    expect(folder.warnings()).toEqual([
      'cannot_merge_already_identified',
      'cannot_merge_already_identified',
    ])
  })

  test('that was refused still marks its own person as identified', async () => {
    await folder.batch(identify('one', 'anon1'), capture('two'), identify('two', 'one'))
    expect(folder.person('two')?.is_identified).toBe(true)
  })

  test('of $merge_dangerously asks nobody', async () => {
    await folder.batch(
      identify('one', 'anon1'),
      identify('two', 'anon2'),
      mergeDangerously('one', 'two'),
    )
    expect(folder.partition()).toEqual([['anon1', 'anon2', 'one', 'two']])
  })

  test('of ids that share their person only marks it as identified', async () => {
    await folder.batch(capture('a'), alias('a', 'b'))
    await folder.batch(identify('a', 'b'))
    expect(folder.partition()).toEqual([['a', 'b']])
    expect(folder.person('a')?.is_identified).toBe(true)
  })

  test('with itself does nothing, and neither does $identify without another id', async () => {
    await folder.batch(
      identify('a', 'a'),
      capture('b', { $set: { x: 1 } }, '$identify'),
      identify('c', null),
    )
    for (const id of ['a', 'b', 'c']) expect(folder.person(id)?.is_identified).toBe(false)
    expect(folder.warnings()).toEqual([])
  })

  const illegal_ids = ['', ' ', 'null', 'Anonymous', '"undefined"', '0', 0, {}, { a: 1 }, ['a']]
  test.each(illegal_ids.map((id) => [id]))(
    'with the illegal id %j is skipped, and the event is stored with its updates',
    async (illegal) => {
      await folder.batch(identify('user', illegal, { $set: { a: 1 } }))
      expect(folder.partition()).toEqual([['user']])
      expect(folder.person('user')).toMatchObject({ is_identified: false, properties: { a: 1 } })
      expect(folder.warnings()).toEqual(['cannot_merge_with_illegal_distinct_id'])
    },
  )

  test('into an illegal id is skipped too', async () => {
    await folder.batch(capture('real'), identify('anonymous', 'real'))
    expect(folder.partition()).toEqual([['anonymous'], ['real']])
  })

  test('of $create_alias makes the alias the main id', async () => {
    await folder.batch(capture('current'), alias('current', 'main'))
    expect(folder.rows('select distinct_id, is_main from distinct_ids order by 1')).toEqual([
      { distinct_id: 'current', is_main: 0 },
      { distinct_id: 'main', is_main: 1 },
    ])
  })

  test('stays within its project', async () => {
    await folder.batch(capture('anon'))
    await folder.send({ api_key: 'phc_two', batch: [identify('user', 'anon')] })
    expect(folder.partition()).toEqual([['anon']])
  })

  test('that is sent again with its uuid is not applied again', async () => {
    const uuid = '0193e000-0000-7000-8000-00000000aaaa'
    await folder.batch({ ...capture('u', { $set: { n: 1 } }), uuid })
    await folder.batch(capture('u', { $set: { n: 2 } }))
    await folder.batch({ ...capture('u', { $set: { n: 1 } }), uuid })
    expect(folder.person('u')?.properties).toMatchObject({ n: 2 })
  })

  test('in any order of the same calls ends with the same groups of ids', async () => {
    const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
    const call = fc.tuple(ids, ids)
    const calls = fc.array(call, { minLength: 1, maxLength: 8 })
    const shuffled = calls.chain((list) =>
      fc.tuple(
        fc.constant(list),
        fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }),
        fc.boolean(),
      ),
    )
    await fc.assert(
      fc.asyncProperty(shuffled, async ([given, other_order, is_cold]) => {
        const before = String(folder.rows('select coalesce(max(seq), 0) n from events')[0]?.['n'])
        const outcomes: string[] = []
        for (const [index, order] of [given, other_order].entries()) {
          const prefix = `${before}-${index}-`
          const merges = order.map(([a, b]) => mergeDangerously(prefix + a, prefix + b))
          if (is_cold) for (const merge of merges) await folder.batch(merge)
          else await folder.batch(...merges)
          const own = folder.partition().filter((part) => part[0]?.startsWith(prefix))
          outcomes.push(JSON.stringify(own).replaceAll(prefix, ''))
        }
        expect(outcomes[0]).toBe(outcomes[1] ?? '')
      }),
      randomRuns(8),
    )
  })

  test('of one anonymous id at a time, in any order of events, gathers all of a user', async () => {
    const anons = ['a1', 'a2', 'a3']
    const steps = anons.flatMap((anon) => [capture(anon), identify('user', anon)])
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(steps, { minLength: steps.length }), async (order) => {
        const fresh = new Folder()
        await fresh.open()
        await fresh.batch(...order)
        expect(fresh.partition()).toEqual([['a1', 'a2', 'a3', 'user']])
        expect(fresh.warnings()).toEqual([])
        await fresh.remove()
      }),
      randomRuns(2),
    )
  })
})

describe('an event without a person profile', () => {
  test('makes no person, and gets the id its person would have', async () => {
    await folder.batch(personless('anon', { $set: { a: 1 } }))
    expect(folder.rows('select 1 from persons')).toEqual([])
    expect(folder.events()[0]).toMatchObject({
      person_id: hex('anon'),
      person_mode: 'propertyless',
      properties: { $process_person_profile: false },
    })
  })

  test('loses updates and groups', async () => {
    const properties = {
      $process_person_profile: false,
      $set: { a: 1 },
      $set_once: { a: 1 },
      $unset: ['a'],
      $group_0: 'x',
      $groups: { company: 'acme' },
      $browser: 'x',
    }
    await folder.batch(capture('anon', properties))
    const stored = folder.events()[0]
    expect(stored?.groups).toEqual([null, null, null, null, null])
    for (const gone of ['$set', '$set_once', '$unset', '$group_0']) {
      expect(stored?.properties).not.toHaveProperty(gone)
    }
    expect(folder.rows('select 1 from group_types')).toEqual([])
  })

  test.each(['$identify', '$create_alias', '$merge_dangerously', '$groupidentify'])(
    'is dropped when it is %s',
    async (event) => {
      const answer = await folder.batch(
        capture('u', { $process_person_profile: false, alias: 'x' }, event),
      )
      expect(answer).toEqual({ kind: 'stored', accepted: 0, dropped: 1, repeated: 0 })
      expect(folder.warnings()).toEqual(['invalid_event_when_process_person_profile_is_false'])
    },
  )

  test.each([['true'], [0], [null], [{}]])(
    'is none when the flag is %j: warned about and taken out',
    async (flag) => {
      await folder.batch(capture('u', { $process_person_profile: flag }))
      expect(folder.person('u')).not.toBeNull()
      expect(folder.events()[0]?.properties).not.toHaveProperty('$process_person_profile')
      expect(folder.warnings()).toEqual(['invalid_process_person_profile'])
    },
  )

  test('hangs on a person that exists, and after a minute counts in full', async () => {
    await folder.batch(
      { ...capture('u'), timestamp: '2026-01-01T00:00:00Z' },
      personless('u', { timestamp: '2026-01-01T00:01:00Z' }),
      personless('u', { timestamp: '2026-01-01T00:01:01Z' }),
    )
    expect(folder.events().map((event) => event.person_mode)).toEqual([
      'full',
      'propertyless',
      'force_upgrade',
    ])
    expect(new Set(peopleOfEvents())).toEqual(new Set([hex('u')]))
  })

  test('is claimed by a later merge of its id', async () => {
    await folder.batch(capture('user'), personless('anon'), personless('anon'))
    await folder.batch(identify('user', 'anon'))
    expect(new Set(peopleOfEvents())).toEqual(new Set([hex('user')]))
  })

  test('lends its id to the person when nobody else was known', async () => {
    await folder.batch(personless('anon'), identify('user', 'anon'))
    expect(folder.person('user')?.id).toBe(hex('anon'))
    await folder.batch(personless('anon2'), personless('user2'), identify('user2', 'anon2'))
    expect(folder.person('user2')?.id).toBe(hex('user2'))
    expect(peopleOfEvents().slice(2)).toEqual([hex('user2'), hex('user2'), hex('user2')])
  })
})

describe('groups', () => {
  const groupidentify = (type: unknown, key: unknown, set?: unknown, event = '$groupidentify') =>
    capture(
      'setup',
      { $group_type: type, $group_key: key, ...(set === undefined ? {} : { $group_set: set }) },
      event,
    )
  const groups = () =>
    folder
      .rows('select group_type_index, group_key, properties from groups order by 1, 2')
      .map((row) => [
        row['group_type_index'],
        row['group_key'],
        JSON.parse(String(row['properties'])),
      ])

  test('get their indexes in order of arrival, five per project', async () => {
    const types = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const type of types)
      await folder.batch(capture('u', { $groups: { [type]: `key-${type}` } }))
    await folder.batch(capture('u', { $groups: { f: 1, c: 2, a: { x: 1 }, b: null } }))
    await folder.send({ api_key: 'phc_two', batch: [capture('u', { $groups: { c: 'other' } })] })
    expect(
      folder.rows('select group_type, group_type_index from group_types where project_id = 1'),
    ).toHaveLength(5)
    expect(
      folder
        .events()
        .slice(4)
        .map((event) => event.groups),
    ).toEqual([
      [null, null, null, null, 'key-e'],
      [null, null, null, null, null],
      ['{"x":1}', null, '2', null, null],
      ['other', null, null, null, null],
    ])
    expect(groups()).toEqual([])
  })

  test('are created by $groupidentify and merged over by the next', async () => {
    await folder.batch(
      groupidentify('company', 'acme', { name: 'Acme', size: 1 }),
      groupidentify('company', 'acme', { size: 2 }, '$group_identify'),
      groupidentify('company', 5),
      groupidentify('company', null, { a: 1 }),
      groupidentify(undefined, 'acme', { a: 1 }),
      groupidentify('company', '', { a: 1 }),
      groupidentify('company', 0, { a: 1 }),
      groupidentify('', 'acme', { a: 1 }),
      groupidentify('company', 'acme', 'nonsense'),
    )
    expect(groups()).toEqual([
      [0, '5', {}],
      [0, 'acme', { name: 'Acme', size: 2 }],
    ])
    expect(folder.person('setup')?.id).toBe(hex('setup'))
  })

  const deleted = (type: unknown, key: unknown, names: unknown) =>
    capture(
      'setup',
      { $group_type: type, $group_key: key, $group_unset: names },
      '$delete_group_property',
    )

  test('lose properties by $delete_group_property, in the order of the events', async () => {
    await folder.batch(
      groupidentify('company', 'acme', { name: 'Acme', size: 1, city: 'Rome', constructor: 1 }),
      deleted('company', 'acme', ['size', 'constructor', 'toString', 3]),
      groupidentify('company', 'acme', { city: 'Bonn' }),
    )
    expect(groups()).toEqual([[0, 'acme', { name: 'Acme', city: 'Bonn' }]])
    await folder.batch(
      deleted('company', 'acme', ['city', '__proto__']),
      groupidentify('company', 'acme', { size: 2 }),
      deleted('company', 'acme', 'name'),
    )
    expect(groups()).toEqual([[0, 'acme', { name: 'Acme', size: 2 }]])
  })

  test('are gone once deleted, after a restart too; the next $groupidentify begins without the old properties', async () => {
    const group = { project_id: 1, group_type_index: 0, group_key: 'acme' }
    const stored = () =>
      folder.rows(
        'select group_key, created_at, properties, is_deleted, change from groups order by 1',
      )
    await folder.batch(
      { ...groupidentify('company', 'acme', { name: 'Acme' }), timestamp: '2026-01-01' },
      groupidentify('company', 'other', { name: 'Other' }),
    )
    const [before = {}, other = {}] = stored()
    expect(await folder.capture.deleteGroup(group)).toEqual({ kind: 'changed', persons: [] })
    expect(await folder.capture.deleteGroup(group)).toEqual({ kind: 'not_found' })
    expect(await folder.capture.deleteGroup({ ...group, project_id: 2 })).toEqual({
      kind: 'not_found',
    })
    await folder.capture.close()
    await folder.open()
    await folder.batch(deleted('company', 'acme', ['name']))
    const [tombstone] = stored()
    expect(tombstone).toMatchObject({ properties: '{}', is_deleted: 1 })
    expect(Number(tombstone?.['change'])).toBeGreaterThan(Number(before['change']))
    await folder.batch({
      ...groupidentify('company', 'acme', { size: 2 }),
      timestamp: '2026-02-01',
    })
    expect(stored()).toEqual([
      {
        group_key: 'acme',
        created_at: Date.parse('2026-02-01') * 1000,
        properties: '{"size":2}',
        is_deleted: 0,
        change: expect.any(Number),
      },
      other,
    ])
  })

  test('are not made by $delete_group_property, nor is a type', async () => {
    await folder.batch(
      groupidentify('company', 'acme', { name: 'Acme' }),
      deleted('company', 'nobody', ['name']),
      deleted('team', 'red', ['name']),
    )
    expect(groups()).toEqual([[0, 'acme', { name: 'Acme' }]])
    expect(folder.rows('select group_type from group_types')).toEqual([{ group_type: 'company' }])
  })

  test('are as old as their earliest event', async () => {
    await folder.batch(
      { ...groupidentify('company', 'acme'), timestamp: '2026-02-01' },
      { ...groupidentify('company', 'acme'), timestamp: '2026-01-01' },
    )
    expect(folder.rows('select created_at from groups')).toEqual([
      { created_at: Date.parse('2026-01-01') * 1000 },
    ])
  })
})
