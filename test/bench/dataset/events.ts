/** The events of the data set as one SQL relation: sessions of people over eighteen months, each value from a hash of its place. */

import { textLiteral } from '../../../src/storage/duckdb/duckdb-text.ts'
import { EVENT_COLUMNS } from '../../../src/storage/files/replication-sources.ts'

/** The size of a data set, and over which time it lies. Times are microseconds since 1970 UTC. */
export type Extent = {
  readonly events: number
  readonly persons: number
  readonly first_us: number
  readonly span_us: number
}

/** Sessions come in fours of one, two, four and seventeen events. */
export const EVENTS_PER_BLOCK = 24

/** Later months have more sessions than earlier ones. */
const GROWTH = 0.8

const text = textLiteral

/** A number in [0, 1) from a hash of the expression: the same in every run. */
const unit = (of: string, salt: string): string =>
  `((hash(${of}, ${text(salt)}) >> 11)::double / 9007199254740992)`

const whole = (of: string, salt: string, below: number): string =>
  `floor(${unit(of, salt)} * ${below})::bigint`

/** One of the values, each as likely as the others; repeat a value to have it more often. */
const pick = (of: string, salt: string, values: readonly string[]): string =>
  `[${values.map(text).join(', ')}][1 + ${whole(of, salt, values.length)}]`

/** A UUIDv7 of this time, the rest from a hash. */
const uuidAt = (time_us: string, of: string, salt: string): string => `(
  printf('%012x', (${time_us}) // 1000)
  || printf('7%03x', (hash(${of}, ${text(`${salt} a`)}) % 4096)::bigint)
  || printf('%016x', ((hash(${of}, ${text(`${salt} b`)}) >> 2) | 9223372036854775808::ubigint))
)::uuid`

/** The id of the person with this number, in every form that tables want it. */
export const personId = (number: string): string => `md5('person ' || ${number})::uuid`
/** The id that a person had before it was merged into the one above. */
export const oldPersonId = (number: string): string => `md5('visitor ' || ${number})::uuid`
export const userName = (number: string): string => `'user-' || ${number}`
/** The distinct id of a browser whose visitor has not said who they are. */
export const visitorName = (number: string): string => `md5('browser ' || ${number})::uuid::varchar`
/** One person in this many began as somebody else, and was merged. */
export const MERGED_EVERY = 20
/** One person in this many was a visitor before being a user. */
export const VISITOR_EVERY = 3
export const COMPANIES = 2000
export const TEAMS = 300

/** Places: the session an event belongs to and the event's place in it. */
const PLACES = (from: number, to: number): string => `
select i, (i // ${EVENTS_PER_BLOCK}) * 4 + part as s, i % ${EVENTS_PER_BLOCK} - [0, 1, 3, 7][part + 1] as k
from (
  select i, case when r < 1 then 0 when r < 3 then 1 when r < 7 then 2 else 3 end as part
  from (select range as i, range % ${EVENTS_PER_BLOCK} as r from range(${from}, ${to}))
)`

/** Whose session it is and when it began. People near the beginning of the list come more often. */
const sessions = ({ events, persons, first_us, span_us }: Extent): string => `
select
  i, s, k,
  floor(${persons} * pow(${unit('s', 'person')}, 1.4))::bigint as person,
  (${first_us} + ${span_us} * pow((s + ${unit('s', 'start')}) / ${Math.ceil(events / EVENTS_PER_BLOCK) * 4}, ${GROWTH}))::bigint as began_us
from places`

const EVENT_NAMES = [
  ...Array<string>(10).fill('$pageview'),
  ...Array<string>(5).fill('$autocapture'),
  ...Array<string>(2).fill('$pageleave'),
  'searched',
  'product viewed',
  'product added',
  'checkout started',
  'order placed',
  'signed up',
]

/** What an event is, and what hangs on who and when. */
const HAPPENED = `
select
  i, s, k, person, began_us,
  case when k = 0 then '$pageview' else ${pick('i', 'event', EVENT_NAMES)} end as event,
  began_us + k * 20000000 + ${whole('i', 'pause', 20_000_000)} as at_us,
  person % ${VISITOR_EVERY} = 0 and k < 2 as is_visitor,
  person % ${MERGED_EVERY} = 0 and s % 5 = 0 as was_other,
  ${pick('i', 'path', ['/', '/pricing', '/docs', '/docs/start', '/blog/one', '/blog/two', '/shop', '/shop/books', '/checkout', '/account'])} as path,
  ${whole('person', 'screen', 5)} as screen,
  ${pick('person', 'browser', ['Chrome', 'Chrome', 'Chrome', 'Safari', 'Safari', 'Firefox', 'Edge'])} as browser
from sessions`

const isOrder = `event in ('order placed', 'checkout started', 'product added')`

/** As JSON.stringify spells it: whole numbers have no fraction. */
const number = (value: string): string => `regexp_replace((${value})::varchar, '\\.0$', '')::json`

type Property = readonly [name: string, value: string]
const same = (name: string, values: readonly string[], of = 'person'): Property => [
  name,
  pick(of, name, values),
]

/** Forty properties in the order in which they are sent; null where an event has none. */
const PROPERTIES: readonly Property[] = [
  ['$browser', 'browser'],
  ['$browser_version', `100 + ${whole('person', 'version', 40)}`],
  same('$os', ['Mac OS X', 'Windows', 'Windows', 'Linux', 'iOS', 'Android']),
  same('$os_version', ['10.15.7', '11', '14.2', '6.1', '17.1.2']),
  same('$device_type', ['Desktop', 'Desktop', 'Mobile', 'Tablet']),
  [
    '$current_url',
    `'https://shop.example' || path || case when k = 0 then '?utm_source=mail&ref=' || ${whole('i', 'ref', 1000)} else '' end`,
  ],
  ['$pathname', 'path'],
  ['$host', `'shop.example'`],
  ['$title', `case when event = '$pageview' then 'Shop – ' || path end`],
  [
    '$referrer',
    pick('s', 'referrer', [
      '$direct',
      '$direct',
      'https://search.example/',
      'https://news.example/a',
    ]),
  ],
  [
    '$referring_domain',
    pick('s', 'referrer', ['$direct', '$direct', 'search.example', 'news.example']),
  ],
  ['$screen_width', '1280 + screen * 160'],
  ['$screen_height', '720 + screen * 90'],
  ['$viewport_width', '1200 + screen * 155'],
  ['$viewport_height', `600 + ${whole('s', 'viewport', 300)}`],
  ['$session_id', uuidAt('began_us', 's', 'session')],
  ['$window_id', uuidAt('began_us + 1000', 's', 'window')],
  ['$insert_id', `substr(md5('insert ' || i), 1, 16)`],
  ['$lib', `'web'`],
  ['$lib_version', pick('s', 'lib', ['1.261.8', '1.255.0'])],
  same('$timezone', ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'UTC']),
  same('$geoip_country_code', ['DE', 'US', 'US', 'JP', 'FR', 'GB']),
  [
    '$geoip_city_name',
    pick('person', 'city', [
      'Berlin',
      'Köln',
      'New York',
      'Austin',
      '東京',
      'Paris',
      'London',
      'Leeds',
    ]),
  ],
  ['$geoip_latitude', number(`round(48 + ${unit('person', 'latitude')} * 4, 4)`)],
  ['utm_source', `case when k = 0 then ${pick('s', 'source', ['mail', 'ads', 'partner'])} end`],
  ['utm_campaign', `case when k = 0 then 'campaign-' || ${whole('s', 'campaign', 50)} end`],
  ['plan', pick('person', 'plan', ['free', 'free', 'basic', 'pro', 'enterprise'])],
  ['is_logged_in', 'not is_visitor'],
  ['experiment', pick('person', 'experiment', ['control', 'test'])],
  ['load_ms', `case when event = '$pageview' then 80 + ${whole('i', 'load', 4000)} end`],
  [
    'scroll_depth',
    `case when event = '$pageleave' then ${number(`round(${unit('i', 'scroll')}, 3)`)} end`,
  ],
  ['query', `case when event = 'searched' then 'word ' || ${whole('i', 'query', 5000)} end`],
  ['product_id', `case when event like 'product%' then ${whole('i', 'product', 20_000)} end`],
  same('category', ['books', 'music', 'garden', 'kitchen', 'tools'], 'i'),
  ['price', `case when ${isOrder} then ${number(`${whole('i', 'price', 20_000)} / 100`)} end`],
  ['quantity', `case when ${isOrder} then 1 + ${whole('i', 'quantity', 5)} end`],
  ['coupon', `case when ${isOrder} then ${unit('i', 'coupon')} < 0.1 end`],
]

/** Three more that are not of one type: number or text, an object, a list. */
const MIXED = `concat_ws(',',
  case when event = 'order placed' then '"reference":' || case when i % 3 = 0 then i::varchar else '"R-' || i || '"' end end,
  case when event = 'order placed' then '"delivery":{"days":' || (1 + i % 9) || ',"to":"' || ${pick('i', 'to', ['home', 'shop', 'work'])} || '"}' end,
  case when event in ('order placed', 'product added') then '"items":[' || (i % 700) || ',' || (i % 90) || ']' end,
  case when event = 'signed up' then '"ordered_at":"' || strftime(make_timestamp(at_us), '%Y-%m-%dT%H:%M:%S.%gZ') || '"' end
)`

const PROPERTIES_JSON = `'{' || concat_ws(',',
  ${PROPERTIES.map(([name, value]) => `'"${name}":' || to_json(${value})`).join(',\n  ')},
  nullif(${MIXED}, '')
) || '}'`

const ELEMENTS = `case when event = '$autocapture' then
  'button.primary:text="Buy' || i % 9 || '"nth-child="1"nth-of-type="1"attr__class="primary";div:nth-child="' || i % 5 || '"nth-of-type="1"'
else '' end`

const VALUES: Readonly<Record<string, string>> = {
  seq: 'i + 1',
  uuid: uuidAt('at_us', 'i', 'event'),
  event: 'event',
  distinct_id: `case when is_visitor then ${visitorName('person')} else ${userName('person')} end`,
  person_id: `case when was_other then ${oldPersonId('person')} else ${personId('person')} end`,
  person_mode: `'full'`,
  timestamp: 'make_timestamp(at_us)',
  created_at: `make_timestamp(at_us + 200000 + ${whole('i', 'way', 2_000_000)})`,
  properties: PROPERTIES_JSON,
  elements_chain: ELEMENTS,
  group_0: `case when person % 2 = 0 then 'company-' || (person % ${COMPANIES}) end`,
  group_1: `case when event = 'order placed' then 'team-' || (person % ${TEAMS}) end`,
}

/** The events numbered `from` up to `to` (exclusive) of project 1, as the table `log` of a snapshot has them. */
export function selectEvents(extent: Extent, from: number, to: number): string {
  const values = EVENT_COLUMNS.map(
    ([name, type]) => `(${VALUES[name] ?? 'null'})::${type} as "${name}"`,
  )
  return `
with places as (${PLACES(from, to)}),
sessions as (${sessions(extent)}),
happened as (${HAPPENED})
select ${values.join(', ')}, 1::bigint as project_id, strftime(make_timestamp(at_us), '%Y-%m') as month
from happened`
}
