/** Sessions are what their events make of them, whatever order those were written in. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { compileHogQL } from '../../src/hogql/compile.ts'
import { withFormNames } from '../query/handwritten-sql.ts'
import { CONTEXT, openWorld, type World } from './engine.ts'

/** The first twelve digits are a time: 2024-06-10 00:00:00.000. */
const V7 = `${Date.UTC(2024, 5, 10)
  .toString(16)
  .padStart(12, '0')
  .replace(/(.{8})/, '$1-')}-7000-8000-000000000001`

type Sent = readonly [session: string, at: string, event: string, Readonly<Record<string, unknown>>]

/** How a session came, and its channel. */
const CAME: readonly (readonly [Readonly<Record<string, unknown>>, channel: string])[] = [
  [{}, 'Unknown'],
  [{ utm_source: '', utm_medium: '', utm_campaign: '', gclid: '', gad_source: '' }, 'Unknown'],
  [
    { $referring_domain: '$direct', utm_source: 'null', utm_medium: 'null', gclid: 'null' },
    'Direct',
  ],
  [{ $referring_domain: '$direct', utm_source: 'what', utm_medium: 'who' }, 'Direct'],
  [{ $referring_domain: '$direct', utm_campaign: 'cross-network' }, 'Cross Network'],
  [{ utm_source: 'yahoo', utm_medium: 'ppc' }, 'Paid Search'],
  [{ utm_campaign: 'shopping', utm_medium: 'ppc' }, 'Paid Shopping'],
  [{ $referring_domain: 'www.youtube.com', gclid: 'C' }, 'Paid Video'],
  [{ $referring_domain: 'a.googlesyndication.com', gclid: 'E' }, 'Paid Unknown'],
  [{ $referring_domain: '$direct', gad_source: '1', gclid: 'C' }, 'Paid Search'],
  // The source and the medium say more than the page before.
  [{ $referring_domain: 'bing.com', utm_source: 'substack', utm_medium: 'email' }, 'Email'],
  [{ $referring_domain: 'foo.com', utm_source: 'Foo', utm_medium: 'partnership' }, 'Affiliate'],
  [{ $referring_domain: 'news.ycombinator.com', utm_medium: 'in-product' }, 'Organic Social'],
  [{ $referring_domain: 'plus.google.com' }, 'Organic Social'],
  [{ $referring_domain: 'mail.google.com' }, 'Email'],
  [{ $referring_domain: 'com.google.android.gm' }, 'Email'],
  [{ $referring_domain: 'shopping.yahoo.co.jp' }, 'Organic Shopping'],
  [{ $referring_domain: '$direct', fbclid: 'ABC' }, 'Organic Social'],
  // Facebook and Instagram name themselves so in the addresses of their ads.
  [{ utm_source: 'fb', utm_medium: 'paid' }, 'Paid Social'],
  [{ utm_source: 'IG' }, 'Organic Social'],
  [{ $referring_domain: 'www.ig.com' }, 'Referral'],
  [{ $referring_domain: 'example.com', utm_source: 123, utm_medium: 123 }, 'Referral'],
]

const EVENTS: readonly Sent[] = [
  // Written out of order: what came first in time is the entry.
  [V7, '2024-06-10 00:00:30', '$autocapture', { $current_url: 'https://a.com/end?x=1' }],
  [
    V7,
    '2024-06-10 00:00:01',
    '$pageview',
    {
      $current_url: 'https://a.com/in',
      utm_source: 'google',
      gclid: 'abc',
      $referring_domain: 'www.google.com',
    },
  ],
  [V7, '2024-06-10 00:00:10', '$pageview', { $current_url: 'https://a.com/in', utm_source: 'x' }],
  ['quick', '2024-06-11 00:00:00', '$pageview', { $referring_domain: '$direct' }],
  ['quick', '2024-06-11 00:00:09', 'thought', {}],
  ['app', '2024-06-12 00:00:00', '$screen', { $referring_domain: 'm.facebook.com' }],
  ['app', '2024-06-12 00:00:10', '$screen', {}],
  ['server', '2024-06-13 00:00:00', 'paid', { $referring_domain: 'blog.example' }],
  ['mail', '2024-06-14 00:00:00', '$pageview', { utm_medium: 'Email', utm_source: 'list' }],
  ['ads', '2024-06-14 00:00:00', '$pageview', { utm_medium: 'cpc', utm_source: 'facebook' }],
  ['', '2024-06-14 00:00:00', '$pageview', {}],
  ...CAME.map(
    ([properties], index): Sent => [
      `came ${index}`,
      '2024-05-01 00:00:00',
      '$pageview',
      properties,
    ],
  ),
  ['vitals', '2024-06-15 00:00:09', '$web_vitals', { $web_vitals_LCP_value: 900 }],
  ['vitals', '2024-06-15 00:00:01', '$web_vitals', { $web_vitals_INP_value: 8 }],
  ['vitals', '2024-06-15 00:00:02', '$web_vitals', { $web_vitals_LCP_value: 'slow' }],
  ['vitals', '2024-06-15 00:00:03', '$web_vitals', { $web_vitals_LCP_value: '1800.5' }],
  ['vitals', '2024-06-15 00:00:04', '$pageview', {}],
]

let world: World
beforeAll(async () => {
  world = await openWorld()
  for (const [index, [session, at, event, properties]] of EVENTS.entries()) {
    const json = JSON.stringify({ ...properties, $session_id: session })
    await world.connection.run(
      `insert into all_events values (1, ${index}, uuid(), '${event}', 'd${index}', uuid(), 'full', '${at}', '${at}', '${json}', '', null, null, null, null, null)`,
    )
  }
})
afterAll(() => world.close())

const of = (session: string, columns: string): Promise<readonly (readonly unknown[])[]> =>
  world.ask(`select ${columns} from sessions where session_id = '${session}'`)

describe('a session', () => {
  test('begins, lasts and ends with its events', async () => {
    const columns =
      'id, session_id_v7, distinct_id, $start_timestamp, $end_timestamp, $session_duration, duration'
    expect(await of(V7, columns)).toEqual([
      [V7, V7, 'd0', '2024-06-10 00:00:01', '2024-06-10 00:00:30', '29', '29'],
    ])
    expect(await of(V7, 'session_timestamp')).toEqual([['2024-06-10 00:00:00']])
    expect(await of('quick', 'session_timestamp, session_id_v7')).toEqual([
      ['2024-06-11 00:00:00', null],
    ])
  })

  test('enters and leaves by its first and last addresses', async () => {
    const columns =
      '$entry_current_url, $entry_pathname, $entry_hostname, $end_current_url, $exit_pathname, $urls, $num_uniq_urls'
    expect(await of(V7, columns)).toEqual([
      [
        'https://a.com/in',
        '/in',
        'a.com',
        'https://a.com/end?x=1',
        '/end',
        ['https://a.com/in', 'https://a.com/end?x=1'],
        '2',
      ],
    ])
    expect(await of('server', '$entry_current_url, $urls, $num_uniq_urls')).toEqual([
      [null, [], '0'],
    ])
  })

  test('has the first largest paint that is a number, and null without one', async () => {
    expect(await of('vitals', '$vitals_lcp, toTypeName($vitals_lcp)')).toEqual([
      [1800.5, 'Nullable(Float64)'],
    ])
    expect(await of(V7, '$vitals_lcp')).toEqual([[null]])
  })

  test('counts what happened', async () => {
    const columns =
      '$pageview_count, $screen_count, $autocapture_count, $has_autocapture, $has_replay_events'
    expect(await of(V7, columns)).toEqual([['2', '0', '1', 1, 0]])
    expect(await of('app', columns)).toEqual([['0', '2', '0', 0, 0]])
  })

  test('remembers where it came from', async () => {
    const columns =
      '$entry_utm_source, $entry_gclid, $entry_has_gclid, $entry_has_fbclid, $entry_referring_domain'
    expect(await of(V7, columns)).toEqual([['google', 'abc', 1, 0, 'www.google.com']])
  })

  test.each([
    ['quick', 1],
    [V7, 0],
    ['app', 0],
    ['mail', 1],
    ['server', null],
  ])('%s bounced: %p', async (session, bounced) => {
    expect(await of(session, '$is_bounce')).toEqual([[bounced]])
  })

  test.each([
    [V7, 'Paid Search'],
    ['quick', 'Direct'],
    ['app', 'Organic Social'],
    ['server', 'Referral'],
    ['mail', 'Email'],
    ['ads', 'Paid Social'],
  ])('%s came by %s', async (session, channel) => {
    expect(await of(session, '$channel_type')).toEqual([[channel]])
  })

  test.each(CAME.map(([properties, channel], index) => [properties, channel, index] as const))(
    'that came with %p came by %s',
    async (_, channel, index) => {
      expect(await of(`came ${index}`, '$channel_type')).toEqual([[channel]])
    },
  )

  test('events without a session have none', async () => {
    expect(await world.ask('select count() from sessions')).toEqual([[`${7 + CAME.length}`]])
    const joined =
      'select count(), countIf(session.id is not null) from events where not empty(distinct_id)'
    expect(await world.ask(joined)).toEqual([[`${16 + CAME.length}`, `${15 + CAME.length}`]])
  })
})

describe('ranges', () => {
  test('a session that began before the range is not cut down to it', async () => {
    const inside =
      "select id from sessions where $start_timestamp > '2024-06-10 00:00:05' order by id"
    expect(await world.ask(inside)).toEqual([
      ['ads'],
      ['app'],
      ['mail'],
      ['quick'],
      ['server'],
      ['vitals'],
    ])
    const ended =
      "select $session_duration from sessions where $end_timestamp = '2024-06-10 00:00:30'"
    expect(await world.ask(ended)).toEqual([['29']])
  })

  test.each([
    "select 1 from sessions where $start_timestamp > '2024-06-10'",
    "select 1 from sessions as s where toStartOfWeek(s.$start_timestamp) = '2024-06-10'",
    "select 1 from sessions where $end_timestamp between '2024-06-01' and '2024-06-02'",
    "select session.duration from events where timestamp >= '2024-06-10'",
  ])('%s looks at the events of those days only', (text) => {
    const { sql, reads } = compileHogQL(text, CONTEXT)
    expect(withFormNames(sql, reads)).toMatch(
      /FROM events_of\(\$\d+::BIGINT\) AS t\d+ WHERE .*"timestamp" >= .* GROUP BY/,
    )
  })

  test('what is known of other tables bounds no session', () => {
    const text =
      "select 1 from sessions s join persons p on p.properties.x = s.id where p.created_at > '2024-06-01'"
    expect(compileHogQL(text, CONTEXT).sql).not.toMatch(/t\d+\."timestamp" >=/)
  })
})
