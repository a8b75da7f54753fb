/** What strangers with a project's token send, and what comes back of it when it is listed. */
import { type Attack, doubled, KIB, type Sent } from './attack.ts'

/** Texts that are hard for something: patterns that go back, escapes, markup, names. */
export const HARD_TEXTS: readonly ((length: number) => string)[] = [
  (n) => 'a'.repeat(n),
  (n) => ' '.repeat(n),
  (n) => '\\"'.repeat(n / 2),
  (n) => '"'.repeat(n),
  (n) => '\\'.repeat(n),
  (n) => `a:x="1"${'b'.repeat(n)}`,
  (n) => 'a:x="1";'.repeat(n / 8),
  (n) => '<a b '.repeat(n / 5),
  (n) => '<a '.concat('b="c" '.repeat(n / 6), '>'),
  (n) => '<'.repeat(n),
  (n) => `a[b${' '.repeat(n)}`,
  (n) => '('.repeat(n),
  (n) => '(a|b)*'.repeat(n / 6),
  (n) => '1.'.repeat(n / 2),
  (n) => '1'.repeat(n),
  (n) => '-'.repeat(n),
  (n) => '/'.repeat(n),
  (n) => '%'.repeat(n),
  (n) => '.'.repeat(n),
  (n) => 'a.'.repeat(n / 2),
  (n) => ','.repeat(n),
  (n) => '\n'.repeat(n),
  (n) => '"\n'.repeat(n / 2),
  (n) => '𝒳'.repeat(n / 2),
  (n) => '{a}'.repeat(n / 3),
  (n) => '['.repeat(n),
  (n) => '{"a":'.repeat(n / 5),
  (n) => `https://a.example/${'a?b=c&'.repeat(n / 6)}`,
  (n) => '2026-01-01T00:00:00'.concat('0'.repeat(n)),
  (n) => '10.0.0.1, '.repeat(n / 10),
]

/** What may stand in the place of any value, by its size. */
export const GROWN: readonly ((size: number) => unknown)[] = [
  ...HARD_TEXTS,
  (n) => Array.from({ length: n / 4 }, () => 1),
  (n) => Array.from({ length: n / 8 }, (_, index) => `a${index}`),
  (n) => Array.from({ length: n / 16 }, () => ({ key: 'a', value: 'b' })),
  (n) => Object.fromEntries(Array.from({ length: n / 16 }, (_, index) => [`k${index}`, 1])),
  (n) => nestedList(Math.min(n, 2000)),
]

function nestedList(depth: number): unknown {
  let list: unknown = 1
  for (let level = 0; level < depth; level += 1) list = [list]
  return list
}

/** Members of an event that something reads. */
const EVENT_MEMBERS = [
  'event',
  'distinct_id',
  'timestamp',
  'uuid',
  'sent_at',
  'offset',
  'type',
  'library',
]

/** Properties that something reads: of ingestion, lists, or queries. */
const EVENT_PROPERTIES = [
  '$elements_chain',
  '$elements',
  '$current_url',
  '$referrer',
  '$ip',
  '$set',
  '$set_once',
  '$unset',
  '$groups',
  '$group_type',
  '$group_key',
  '$group_set',
  '$session_id',
  '$window_id',
  '$user_agent',
  '$raw_user_agent',
  '$initial_referrer',
  '$anon_distinct_id',
  '$feature_flag',
  '$exception_list',
  '$time',
  '$geoip_disable',
  'alias',
  'distinct_id',
  'a',
]

const LISTS = [
  'events/?limit=100',
  'elements/stats/',
  'elements/values/?key=tag_name',
  'persons/?limit=100',
  'property_definitions/',
  'event_definitions/',
  'persons/values/?key=a',
  'events/values/?key=$current_url',
]

const api_key = 'phc_flow'
const SIZES = doubled(4 * KIB, 512 * KIB)

function captureOf(events: readonly object[]): Sent {
  return { method: 'POST', path: '/batch/', body: JSON.stringify({ api_key, batch: events }) }
}

function listing(): readonly Sent[] {
  return LISTS.map((path) => ({ method: 'GET', path: `/api/projects/1/${path}`, body: null }))
}

/** Bodies that are hard to read, to each public path, packed as tightly as clients may. */
const RAW_BODIES: Readonly<Record<string, (size: number) => string>> = {
  'no JSON, in an open text': (n) => `{"a":NaN,"b":"${'\\"'.repeat(n / 2)}`,
  'many numbers': (n) => `{"a":[${'NaN,'.repeat(n / 4)}1]}`,
  depth: (n) => '{"a":'.repeat(n / 5),
  lists: (n) => '['.repeat(n),
  'a form': (n) => `data=${'%7B'.repeat(n / 3)}`,
  'fields of a form': (n) => 'a=b&'.repeat(n / 4),
  base64: (n) => btoa('{"a":"'.concat('\\"'.repeat(n / 4))),
  'the same name': (n) => `{${'"a":1,'.repeat(n / 6)}"api_key":"${api_key}"}`,
  names: (n) =>
    `{${Array.from({ length: n / 12 }, (_, i) => `"n${i}":1`).join(',')},"api_key":"${api_key}"}`,
  blanks: (n) => ' '.repeat(n),
  events: (n) =>
    JSON.stringify({
      api_key,
      batch: Array.from({ length: n / 64 }, (_, i) => ({ event: 'e', distinct_id: `d${i}` })),
    }),
}

const RAW_ATTACKS = ['/flags/', '/decide/?v=3', '/batch/', '/e/', '/engage/'].flatMap((path) =>
  Object.entries(RAW_BODIES).map(
    ([name, bodyOf]): Attack => ({
      name: `${path}: ${name}`,
      sizes: doubled(16 * KIB, 2048 * KIB),
      requests: (size) => [
        { method: 'POST', path, body: bodyOf(size) },
        {
          method: 'POST',
          path,
          body: Bun.gzipSync(new TextEncoder().encode(bodyOf(size))),
          content_encoding: 'gzip',
        },
      ],
    }),
  ),
)

/** Batches of the newer capture protocol, which is spoken with a project's token as bearer. */
const BATCH_BODIES: Readonly<Record<string, (size: number) => string>> = {
  'many numbers': (n) => `{"batch":[${'1,'.repeat(n / 2)}1]}`,
  'empty events': (n) => `{"batch":[${'{},'.repeat(n / 3)}{}]}`,
  'an open text': (n) => `{"batch":["${'\\"'.repeat(n / 2)}`,
  'wide events': (n) => batchOf(n / 36_000, (at) => Object.fromEntries(namedNumbers(3000, at))),
  events: (n) => batchOf(Math.min(10_000, n / 400), () => ({ a: 'x'.repeat(250) })),
}

const namedNumbers = (count: number, at: number) =>
  Array.from({ length: count }, (_, index) => [`p${index}`, at] as const)

function batchOf(count: number, propertiesOf: (at: number) => object): string {
  const batch = Array.from({ length: Math.ceil(count) }, (_, at) => ({
    event: 'e',
    uuid: Bun.randomUUIDv7(),
    timestamp: '2026-01-01T00:00:00Z',
    distinct_id: `d${at}`,
    properties: propertiesOf(at),
  }))
  return JSON.stringify({ batch })
}

const BATCH_ATTACKS = Object.entries(BATCH_BODIES).map(
  ([name, bodyOf]): Attack => ({
    name: `/i/v1/analytics/events: ${name}`,
    sizes: doubled(32 * KIB, 4000 * KIB),
    requests: (size) => {
      const sent = { method: 'POST', path: '/i/v1/analytics/events', bearer: api_key }
      const packed = Bun.gzipSync(new TextEncoder().encode(bodyOf(size)))
      return [
        { ...sent, body: bodyOf(size) },
        { ...sent, body: packed, content_encoding: 'gzip' },
      ]
    },
  }),
)

/** Each member and property of an event, grown; then all is listed. */
const EVENT_ATTACKS = [...EVENT_MEMBERS, ...EVENT_PROPERTIES].map(
  (name, at): Attack => ({
    name: `an event's ${name}, then lists`,
    sizes: SIZES,
    requests: (size) => [
      ...GROWN.map((grow) => {
        const good = { event: '$autocapture', distinct_id: 'x', properties: {} }
        const value = grow(size)
        const event =
          at < EVENT_MEMBERS.length
            ? { ...good, [name]: value }
            : { ...good, properties: { [name]: value } }
        return captureOf([event])
      }),
      ...listing(),
    ],
  }),
)

let last = 0
/** Persons that nothing else has touched. */
const fresh = (): string => `attack-${(last += 1)}`

const PERSON_ATTACKS: readonly Attack[] = [
  {
    name: 'many wide persons, then walks over all of them',
    sizes: doubled(8, 64),
    requests: (size) => [
      ...Array.from({ length: size }, (_, at) => {
        const $set = { email: `${at}@x.example`, wide: '[1,2,'.repeat(60 * KIB) }
        return captureOf([{ event: '$set', distinct_id: fresh(), properties: { $set } }])
      }),
      upload('email\n1@x.example'),
      {
        method: 'POST',
        path: '/api/projects/1/feature_flags/user_blast_radius/',
        body: JSON.stringify({
          condition: {
            properties: [{ key: 'email', type: 'person', value: 'x', operator: 'icontains' }],
          },
        }),
      },
    ],
  },
  {
    name: 'a person of many ids, led from one to the next',
    sizes: doubled(64, 4096),
    requests: (size) => {
      const ids = Array.from({ length: size }, fresh)
      const [first = ''] = ids
      const identify = (distinct_id: string, anonymous: string) => ({
        event: '$merge_dangerously',
        distinct_id,
        properties: { alias: anonymous },
      })
      const others = Array.from({ length: 50 }, fresh)
      const chain = others.map((other, at) => identify(other, others[at - 1] ?? first))
      return [captureOf(ids.slice(1).map((id) => identify(first, id))), captureOf(chain)]
    },
  },
  {
    name: 'a web of merges',
    sizes: doubled(64, 4096),
    requests: (size) => {
      const ids = Array.from({ length: Math.ceil(Math.sqrt(size)) }, fresh)
      const events = Array.from({ length: size }, (_, at) => ({
        event: '$create_alias',
        distinct_id: ids[(at * 7) % ids.length],
        properties: { alias: ids[(at * 13) % ids.length], distinct_id: ids[(at * 7) % ids.length] },
      }))
      return [captureOf(events)]
    },
  },
  {
    name: 'a wide person, changed a little',
    sizes: doubled(128, 8192),
    requests: (size) => {
      const distinct_id = fresh()
      const $set = Object.fromEntries(Array.from({ length: size }, (_, at) => [`w${at}`, at]))
      const change = (at: number) => ({
        event: '$set',
        distinct_id,
        properties: { $set: { [`w${at}`]: 'changed' } },
      })
      return [
        captureOf([{ event: '$set', distinct_id, properties: { $set } }]),
        captureOf(Array.from({ length: 500 }, (_, at) => change(at))),
        captureOf(
          Array.from({ length: 500 }, (_, at) => ({
            event: '$unset',
            distinct_id,
            properties: { $unset: [`w${at}`] },
          })),
        ),
      ]
    },
  },
  {
    name: 'groups that change',
    sizes: doubled(128, 4096),
    requests: (size) => [
      captureOf(
        Array.from({ length: size }, (_, at) => ({
          event: '$groupidentify',
          distinct_id: 'g',
          properties: { $group_type: 'a', $group_key: 'same', $group_set: { [`g${at}`]: at } },
        })),
      ),
    ],
  },
]

const flagWith = (filters: object): Sent => ({
  method: 'POST',
  path: '/api/projects/1/feature_flags/',
  body: JSON.stringify({ key: fresh(), active: true, filters }),
})
const decide = (person_properties: object, groups: object = {}): Sent => ({
  method: 'POST',
  path: '/flags/?v=2',
  body: JSON.stringify({ token: api_key, distinct_id: 'x', person_properties, groups }),
})
const conditions = (count: number, value: unknown, operator: string) =>
  Array.from({ length: count }, () => ({
    properties: [{ key: 'a', type: 'person', value, operator }],
    rollout_percentage: 100,
  }))

const OPERATORS = [
  'exact',
  'icontains',
  'regex',
  'gt',
  'is_date_before',
  'semver_eq',
  'semver_wildcard',
]

const FLAG_ATTACKS: readonly Attack[] = [
  ...['(?i)(?:a|b)*a(?:a|b){100}c', '(a+)+$', '(a|aa)*b', '.*.*.*.*x'].map(
    (pattern): Attack => ({
      name: `flags: conditions with ${pattern}`,
      sizes: doubled(1, 64),
      requests: (size) => [
        flagWith({ groups: conditions(size, pattern, 'regex') }),
        decide({ a: 'ab'.repeat(5000) }),
      ],
    }),
  ),
  ...OPERATORS.map(
    (operator): Attack => ({
      name: `flags: ${operator} of long texts`,
      sizes: doubled(KIB, 256 * KIB),
      requests: (size) =>
        HARD_TEXTS.slice(0, 22).flatMap((text) => [
          flagWith({ groups: conditions(2, text(size), operator) }),
          decide({ a: text(size) }),
        ]),
    }),
  ),
  {
    name: 'flags: conditions',
    sizes: doubled(64, 8192),
    requests: (size) => [
      flagWith({ groups: conditions(size, ['b'], 'exact') }),
      decide({ a: 'c' }),
    ],
  },
  {
    name: 'flags: many person properties and groups',
    sizes: doubled(KIB, 128 * KIB),
    requests: (size) => {
      const members = Object.fromEntries(
        Array.from({ length: size / 16 }, (_, at) => [`p${at}`, 'a'.repeat(8)]),
      )
      return [decide(members), decide({}, members)]
    },
  },
]

const upload = (text: string): Sent => {
  const body = new FormData()
  body.set('name', 'uploaded')
  body.set('is_static', 'true')
  body.set('csv', new Blob([text], { type: 'text/csv' }), 'people.csv')
  return { method: 'POST', path: '/api/projects/1/cohorts/', body }
}

const UPLOAD_ATTACKS: readonly Attack[] = HARD_TEXTS.map((text, at) => ({
  name: `an uploaded table of text ${at}`,
  sizes: doubled(16 * KIB, 4096 * KIB),
  requests: (size) => [upload(text(size)), upload(`distinct_id,a\n${text(size)}`)],
}))

const FORM_ATTACKS: readonly Attack[] = [
  {
    name: 'a form of many parts',
    sizes: doubled(256, 16 * KIB),
    requests: (size) => {
      const body = new FormData()
      for (let at = 0; at < size; at += 1) body.append(`f${at}`, new Blob(['a']), 'a.csv')
      return [{ method: 'POST', path: '/api/projects/1/cohorts/', body }]
    },
  },
  {
    name: 'an uploaded table of ids',
    sizes: doubled(256, 128 * KIB),
    requests: (size) => [
      upload(`distinct_id\n${Array.from({ length: size }, (_, at) => `some-id-${at}`).join('\n')}`),
    ],
  },
  {
    name: 'new persons in one request, then a cohort of them, listed',
    sizes: doubled(1024, 64 * KIB),
    requests: (size) => {
      const ids = Array.from({ length: size }, fresh)
      const list = '/api/projects/1/cohorts/'
      return [
        captureOf(
          ids.map((distinct_id) => ({ event: 'e', distinct_id, properties: { $set: { a: 1 } } })),
        ),
        upload(`distinct_id\n${ids.join('\n')}`),
        ...[1, 2, 3].map(
          (id): Sent => ({
            method: 'GET',
            path: `${list}${id}/persons/?limit=10000&offset=${size >> 1}`,
            body: null,
          }),
        ),
      ]
    },
  },
]

export const PUBLIC_ATTACKS: readonly Attack[] = [
  ...RAW_ATTACKS,
  ...BATCH_ATTACKS,
  ...EVENT_ATTACKS,
  ...PERSON_ATTACKS,
  ...FLAG_ATTACKS,
  ...UPLOAD_ATTACKS,
  ...FORM_ATTACKS,
]
