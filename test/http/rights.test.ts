/** A right is a right on every way to the thing: each line of WAYS, with each right missing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ROUTES } from '../../src/app.ts'
import { RESOURCES } from '../../src/projects/rights/access-controls.ts'
import type { Scope } from '../../src/projects/rights/scopes.ts'
import {
  MEMBER_WAYS,
  type NeededRight,
  ROUTE_WAYS,
  TABLE_WAYS,
} from '../../src/projects/rights/ways.ts'
import { type Answer, openRights, type RightsWorld, SECRET } from './rights-world.ts'

let rights: RightsWorld
/** Stands in the conditions of flags. */
const ASKED = 'asked-by-flags-only'
/** Ids of what was made at first. */
let ids: Readonly<
  Record<
    'board' | 'cohort' | 'companies' | 'exposed' | 'feature' | 'insight' | 'staff' | 'tested',
    number
  >
>
let experiment = 0
let holdout = 0
let feature = ''
let person = ''

const ANYBODY = { groups: [{ properties: [], rollout_percentage: 99 }] }
const STAFF = {
  groups: [
    {
      properties: [{ key: 'email', type: 'person', value: ASKED, operator: 'exact' }],
      rollout_percentage: 10,
    },
  ],
}
const OF_COMPANIES = {
  groups: [
    {
      properties: [
        { key: 'size', type: 'group', group_type_index: 0, value: 'x', operator: 'exact' },
      ],
      rollout_percentage: 100,
    },
  ],
  aggregation_group_type_index: 0,
}
const TESTED = {
  ...STAFF,
  multivariate: {
    variants: [
      { key: 'control', rollout_percentage: 100 },
      { key: 'test', rollout_percentage: 0 },
    ],
  },
}
const number = (json: Readonly<Record<string, unknown>>): number => Number(json['id'])

beforeAll(async () => {
  rights = await openRights()
  const { make, world } = rights
  const batch = [
    { event: '$identify', distinct_id: 'ann', properties: { $set: { email: SECRET } } },
    { event: '$identify', distinct_id: 'bob', properties: { $set: { email: `bob-${SECRET}` } } },
    { event: '$create_alias', distinct_id: 'bob', properties: { alias: 'bob-too' } },
    { event: 'open', distinct_id: 'ann', properties: { $groups: { company: 'acme' } } },
    {
      event: '$groupidentify',
      distinct_id: 'ann',
      properties: {
        $group_type: 'company',
        $group_key: 'acme',
        $group_set: { size: 'group-only' },
      },
    },
  ]
  await world.send('/batch/', {
    method: 'POST',
    body: JSON.stringify({ api_key: world.first.api_token, batch }),
  })
  const idOf = async (distinct_id: string): Promise<string> => {
    const found = await make(`GET persons/?distinct_id=${distinct_id}`)
    return String((found['results'] as { id: unknown }[])[0]?.id)
  }
  person = await idOf('ann')
  await make(`POST persons/${await idOf('bob')}/split/`)
  ids = {
    staff: number(await make('POST feature_flags/', { key: 'staff', filters: STAFF })),
    tested: number(
      await make('POST feature_flags/', { key: 'tested', filters: TESTED, active: false }),
    ),
    feature: number(await make('POST feature_flags/', { key: 'featured', filters: STAFF })),
    companies: number(
      await make('POST feature_flags/', { key: 'companies', filters: OF_COMPANIES }),
    ),
    exposed: number(
      await make('POST experiments/', {
        name: 'exposed',
        feature_flag_key: 'shown',
        start_date: '2026-01-01T00:00:00Z',
      }),
    ),
    cohort: number(await make('POST cohorts/', { name: 'list', is_static: true })),
    board: number(await make('POST dashboards/', { name: 'board-name' })),
    insight: number(
      await make('POST insights/', { name: 'insight-name', query: HOGQL('select 1') }),
    ),
  }
  await make(`PATCH cohorts/${ids.cohort}/add_persons_to_static_cohort/`, { person_ids: [person] })
  holdout = number(
    await make('POST experiment_holdouts/', {
      name: 'held',
      filters: [{ properties: [], rollout_percentage: 5 }],
    }),
  )
  experiment = number(
    await make('POST experiments/', { name: 'x', feature_flag_key: 'tested', holdout_id: holdout }),
  )
  feature = String(
    (
      await make('POST early_access_feature/', {
        name: 'feature-name',
        stage: 'draft',
        feature_flag_id: ids.feature,
      })
    )['id'],
  )
  await make('PATCH ', { slack_incoming_webhook: 'https://hooks.slack.example/secret' })
})
afterAll(() => rights.close())

const HOGQL = (query: string) => ({ kind: 'HogQLQuery', query })
const SERIES = [{ kind: 'EventsNode', event: 'open' }]
const BY_EMAIL = [
  { key: 'email', type: 'person', value: SECRET.slice(0, 5), operator: 'icontains' },
]

const IN_BROWSER = ', in a browser'
const objectOf = (scope: Scope): string => scope.split(':', 1).join('')

/** Calls without one right after the other: the key without the scope, the member below the level. */
async function withoutEach(
  need: NeededRight,
  call: (key: string) => Promise<Answer>,
): Promise<readonly (readonly [lacks: string, answer: Answer])[]> {
  const { keyWithout, member, member_session, atLevel } = rights
  const resource = objectOf(need.scope)
  const answers: [string, Answer][] = []
  if (need.by === 'key_and_level') {
    answers.push([`scope ${need.scope}`, await call(keyWithout(need.scope))])
  }
  if (!RESOURCES.includes(resource)) return answers
  const levels = need.scope.endsWith(':write') ? (['none', 'viewer'] as const) : (['none'] as const)
  for (const level of levels) {
    const [of_key, of_session] = await atLevel(resource, level, async () => [
      await call(member),
      await call(member_session),
    ])
    answers.push([`${resource}: ${level}`, of_key])
    answers.push([`${resource}: ${level}${IN_BROWSER}`, of_session])
  }
  return answers
}

describe('every route of a project', () => {
  const OF_PROJECTS = ROUTES.flatMap(({ method, paths, scope, needs, is_for_sdks }) => {
    const path = paths.find((one) => one.startsWith('/api/projects/:project_id/'))
    return path === undefined ? [] : [{ method, path, scope, needs, is_for_sdks }]
  })

  test.each(OF_PROJECTS)(
    '$method $path refuses callers without one of its rights, changes nothing and tells nothing',
    async ({ method, path, scope, needs, is_for_sdks }) => {
      const { send, everything, limited } = rights
      const before = everything()
      const body = method === 'GET' ? undefined : '{'
      const line = (id: number) => `${method} ${path.replace(':project_id', String(id))}`
      for (const need of [{ scope, by: 'key_and_level' } as const, ...needs]) {
        for (const [lacks, answer] of await withoutEach(need, (key) => send(key, line(1), body))) {
          const is_no_caller = is_for_sdks && lacks.endsWith(IN_BROWSER)
          expect([lacks, answer.status, answer.json['code']]).toEqual(
            is_no_caller ? [lacks, 401, 'not_authenticated'] : [lacks, 403, 'permission_denied'],
          )
        }
      }
      const abroad = await send(limited, line(1), body)
      expect([abroad.status, abroad.json['detail']]).toEqual([
        403,
        'API key does not have access to the requested project: ID 1.',
      ])
      expect(everything()).toBe(before)
    },
  )

  test('that WAYS names is there', () => {
    const there = new Set(
      OF_PROJECTS.map(
        ({ method, path }) => `${method} ${path.replace('/api/projects/:project_id/', '')}`,
      ),
    )
    expect([...ROUTE_WAYS.keys()].filter((way) => !there.has(way))).toEqual([])
  })
})

describe('every table', () => {
  test.each([...TABLE_WAYS].flatMap(([table, needs]) => needs.map((need) => ({ table, need }))))(
    '$table is read with $need.scope only',
    async ({ table, need }) => {
      const ask = (key: string) =>
        rights.send(key, 'POST query/', {
          query: HOGQL(`select * from ${table} limit 1`),
          refresh: 'force_blocking',
        })
      expect((await ask(rights.member)).status).toBe(200)
      for (const [lacks, { status, text }] of await withoutEach(need, ask)) {
        expect([lacks, status]).toEqual([lacks, 403])
        expect(text).toContain(`what this query reads: ${table}.`)
      }
      expect((await ask(rights.member)).status).toBe(200)
    },
  )
})

/** Every kind of query by which persons could be told. */
const TELLING: readonly (readonly [what: string, query: object])[] = [
  ...[
    'select * from persons',
    'select * from raw_persons',
    'select count() from persons where properties.email is not null',
    'select * from person_distinct_ids',
    'select * from raw_person_distinct_ids',
    'select * from person_distinct_id_overrides',
    'select * from cohort_people',
    'select * from static_cohort_people',
    'select * from raw_cohort_people',
    'select person.properties.email from events',
    'select person.properties from events',
    'select person.created_at from events',
    'select pdi.person.properties.email from events',
    'select e.person.properties.email from events e',
    'select poe.properties.email from events',
    'with p as (select properties from persons) select * from p',
    'select * from (select 1) a join persons p on 1 = 1',
    'select count() from events where person_id in (select id from persons)',
    "select count() from events where person_id in cohort 'list'",
    'select event from events where {filters}',
  ].map(
    (text) =>
      [
        text,
        text.includes('{filters}')
          ? { ...HOGQL(text), filters: { properties: BY_EMAIL } }
          : HOGQL(text),
      ] as const,
  ),
  ['ActorsQuery', { kind: 'ActorsQuery', select: ['person', 'id'] }],
  [
    'ActorsQuery of an insight',
    {
      kind: 'ActorsQuery',
      source: { kind: 'InsightActorsQuery', source: { kind: 'TrendsQuery', series: SERIES } },
    },
  ],
  ['EventsQuery', { kind: 'EventsQuery', select: ['event', 'person'] }],
  ['EventsQuery of properties', { kind: 'EventsQuery', select: ['person.properties.email'] }],
  ['EventsQuery filtered', { kind: 'EventsQuery', select: ['event'], properties: BY_EMAIL }],
  ['ActorsPropertyTaxonomyQuery', { kind: 'ActorsPropertyTaxonomyQuery', properties: ['email'] }],
  [
    'TrendsQuery broken down',
    {
      kind: 'TrendsQuery',
      series: SERIES,
      breakdownFilter: { breakdown: 'email', breakdown_type: 'person' },
    },
  ],
  ['TrendsQuery filtered', { kind: 'TrendsQuery', series: SERIES, properties: BY_EMAIL }],
  [
    'TrendsQuery of a property',
    {
      kind: 'TrendsQuery',
      series: [
        {
          ...SERIES[0],
          math: 'sum',
          math_property: 'email',
          math_property_type: 'person_properties',
        },
      ],
    },
  ],
  [
    'TrendsQuery by cohort',
    {
      kind: 'TrendsQuery',
      series: SERIES,
      breakdownFilter: { breakdown: [1], breakdown_type: 'cohort' },
    },
  ],
  [
    'FunnelsQuery broken down',
    {
      kind: 'FunnelsQuery',
      series: [...SERIES, ...SERIES],
      breakdownFilter: { breakdown: 'email', breakdown_type: 'person' },
    },
  ],
  [
    'RetentionQuery filtered',
    { kind: 'RetentionQuery', retentionFilter: {}, properties: BY_EMAIL },
  ],
  ['StickinessQuery filtered', { kind: 'StickinessQuery', series: SERIES, properties: BY_EMAIL }],
  ['PathsQuery filtered', { kind: 'PathsQuery', pathsFilter: {}, properties: BY_EMAIL }],
  ['LifecycleQuery', { kind: 'LifecycleQuery', series: SERIES }],
]

describe('groups that are hidden from a member', () => {
  const size = { key: 'size', value: 'group-only', operator: 'exact' }
  const READING: readonly object[] = [
    { type: 'group', group_type_index: 0, ...size },
    { type: 'hogql', key: "group_0.properties.size = 'group-only'" },
    { type: 'hogql', key: "(select count() from groups where key = 'acme') > 0" },
  ]
  const cohortOf = (event: object) => {
    const time = { time_value: 30, time_interval: 'day' }
    const did = { type: 'behavioral', value: 'performed_event', ...time, ...event }
    return { filters: { properties: { type: 'AND', values: [{ type: 'OR', values: [did] }] } } }
  }

  test('are not counted by conditions on events that the member puts into a cohort', async () => {
    const { make, member, send, atLevel } = rights
    const open = { key: 'open', event_type: 'events' }
    const id = number(await make('POST cohorts/', cohortOf(open)))
    const others = cohortOf({ ...open, event_filters: [READING[0]] })
    const of_owner = number(await make('POST cohorts/', others))
    const answers = await atLevel('group', 'none', async () => {
      const statuses: number[] = []
      for (const filter of READING) {
        const body = { name: 'probe', ...cohortOf({ ...open, event_filters: [filter] }) }
        const created = await send(member, 'POST cohorts/', body)
        const changed = await send(member, `PATCH cohorts/${id}/`, body)
        expect(created.text).toContain('You do not have access to what this query reads: groups.')
        statuses.push(created.status, changed.status)
      }
      const sound = await send(member, `PATCH cohorts/${id}/`, { name: 'x', ...cohortOf(open) })
      const kept = await send(member, `PATCH cohorts/${of_owner}/`, { name: 'y', ...others })
      return [...statuses, sound.status, kept.status]
    })
    expect(answers).toEqual([...READING.flatMap(() => [403, 403]), 200, 200])
  })

  test('are not counted by a cohort that comes along with a flag from another project', async () => {
    const { member, send, atLevel, world } = rights
    const { project_id, organization_id } = world.first
    const sibling = rights.sibling.id
    const event = { key: 'open', event_type: 'events', event_filters: [READING[0]] }
    const made = await send(member, `POST /api/projects/${sibling}/cohorts/`, {
      name: 'probe by copy',
      ...cohortOf(event),
    })
    const asking = [{ properties: [{ key: 'id', type: 'cohort', value: number(made.json) }] }]
    const flag = { key: 'probe-by-copy', filters: { groups: asking } }
    await send(member, `POST /api/projects/${sibling}/feature_flags/`, flag)
    const line = `POST /api/organizations/${organization_id}/feature_flags/copy_flags/`
    const copy = {
      feature_flag_key: flag.key,
      from_project: sibling,
      target_project_ids: [project_id],
    }
    const refused = await atLevel('group', 'none', () => send(member, line, copy))
    expect(refused.json).toMatchObject({
      success: [],
      failed: [{ error_message: 'You do not have access to what this query reads: groups.' }],
    })
    const { text } = await send(member, 'GET cohorts/?search=probe%20by%20copy')
    expect(JSON.parse(text)).toMatchObject({ count: 0 })
    expect((await send(member, line, copy)).json).toMatchObject({ failed: [] })
  })

  test('are not counted by an action that the member changes', async () => {
    const { make, member, send, atLevel } = rights
    const steps = [{ event: 'open' }]
    const id = number(await make('POST actions/', { name: 'opened', steps }))
    const answers = await atLevel('group', 'none', async () => {
      const statuses: number[] = []
      for (const filter of READING) {
        const reading = [{ event: 'open', properties: [filter] }]
        const created = await send(member, 'POST actions/', { name: 'probe', steps: reading })
        const changed = await send(member, `PATCH actions/${id}/`, { steps: reading })
        statuses.push(created.status, changed.status)
      }
      const sound = await send(member, `PATCH actions/${id}/`, { name: 'opened too', steps })
      return [...statuses, sound.status]
    })
    expect(answers).toEqual([...READING.flatMap(() => [403, 403]), 200])
  })
})

describe('persons that are hidden from a member', () => {
  test('are hidden from a query that the member has sent before, as long as they are hidden', async () => {
    const { member, atLevel, send } = rights
    const ask = () => send(member, 'POST query/', { query: HOGQL('select count() from persons') })
    const before = [await ask(), await ask()]
    expect(before.map(({ json }) => json['is_cached'])).toEqual([false, true])
    const hidden = await atLevel('person', 'none', async () => [await ask(), await ask()])
    expect(hidden.map(({ status }) => status)).toEqual([403, 403])
    expect((await ask()).json['results']).toEqual(before[0]?.json['results'])
  })

  test.each(TELLING)('are not told by %s', async (_what, query) => {
    const { send, make, member, owner, atLevel } = rights
    const asked = { query, refresh: 'force_blocking' }
    const open = await send(member, 'POST query/', asked)
    expect([open.status, open.text]).toEqual([200, expect.any(String)])
    const saved = number(await make('POST insights/', { query, dashboards: [ids.board] }))
    // So that an answer for others lies in the cache.
    for (const key of [owner, member]) await send(key, `GET insights/${saved}/?refresh=blocking`)
    const answers = await atLevel('person', 'none', async () => [
      await send(member, 'POST query/', asked),
      await send(member, 'POST query/', { query }),
      await send(member, 'POST query/', { query, refresh: 'force_cache' }),
      await send(member, 'POST query/?format=csv', { query }),
      await send(member, `GET insights/${saved}/?refresh=blocking`),
      await send(member, `GET insights/${saved}/`),
      await send(member, `GET insights/?refresh=blocking`),
      await send(member, `GET dashboards/${ids.board}/?refresh=blocking`),
    ])
    for (const { text } of answers) {
      expect(text).not.toContain(SECRET)
    }
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 200, 403, 403, 200, 200, 200])
    await make(`PATCH insights/${saved}/`, { deleted: true })
  })

  test('are not told by lists, counts and look-ups', async () => {
    const { send, member, atLevel } = rights
    const filters = encodeURIComponent(JSON.stringify(BY_EMAIL))
    const lines = [
      `GET events/?properties=${filters}`,
      'GET persons/',
      `GET persons/${person}/`,
      'GET persons/values/?key=email',
      `GET persons/cohorts/?person_id=${person}`,
      `GET cohorts/${ids.cohort}/persons/`,
      `GET groups/related/?id=${person}`,
      'GET persons/activity/',
    ]
    await atLevel('person', 'none', async () => {
      for (const line of lines) {
        const { status, text } = await send(member, line)
        expect([line, status]).toEqual([line, 403])
        expect(text).not.toContain(SECRET)
      }
      const events = await send(member, 'GET events/?event=open')
      expect(events.json['results']).toEqual([
        expect.objectContaining({ distinct_id: 'ann', person: null }),
      ])
      const event = (events.json['results'] as { id: string }[])[0]?.id ?? ''
      expect((await send(member, `GET events/${event}/`)).json).toMatchObject({ person: null })
    })
  })

  test('may be counted by what events say themselves', async () => {
    const { send, member, atLevel } = rights
    const unique = { kind: 'TrendsQuery', series: [{ ...SERIES[0], math: 'dau' }] }
    await atLevel('person', 'none', async () => {
      for (const query of [
        unique,
        HOGQL('select distinct_id, person_id from events'),
        HOGQL('select person.id from events'),
        HOGQL('select * from system.information_schema.columns'),
      ]) {
        expect((await send(member, 'POST query/', { query })).status).toBe(200)
      }
    })
  })
})

describe('a member who may not ask', () => {
  test('reads no answer of what is saved, stored ones too', async () => {
    const { send, make, owner, member, atLevel } = rights
    const query = HOGQL("select 'computed' || '-only'")
    const saved = number(await make('POST insights/', { query, dashboards: [ids.board] }))
    const lines = [
      `GET insights/${saved}/?refresh=blocking`,
      `GET insights/${saved}/`,
      'GET insights/?refresh=blocking',
      `GET dashboards/${ids.board}/?refresh=blocking`,
      `GET dashboards/${ids.board}/`,
    ]
    for (const line of lines) expect((await send(owner, line)).text).toContain('"computed-only"')
    for (const line of lines) expect((await send(member, line)).text).toContain('"computed-only"')
    await atLevel('query', 'none', async () => {
      for (const line of lines) {
        const { status, text } = await send(member, line)
        expect([line, status]).toEqual([line, 200])
        expect(text).not.toContain('"computed-only"')
        expect(text).toContain('You do not have viewer access to query.')
      }
    })
    await make(`PATCH insights/${saved}/`, { deleted: true })
  })

  test('makes no list of people by a query', async () => {
    const { send, member, atLevel, everything } = rights
    const before = everything()
    const query = { kind: 'ActorsQuery', select: ['id'] }
    const made = () => send(member, 'POST cohorts/', { name: 'q', is_static: true, query })
    expect((await atLevel('query', 'none', made)).status).toBe(403)
    expect((await atLevel('person', 'none', made)).status).toBe(403)
    expect(everything()).toBe(before)
  })
})

describe('the id of a query', () => {
  const asked = (word: string) => ({
    query: HOGQL(`select '${word}' from persons limit 1`),
    client_query_id: 'mine',
    refresh: 'async',
  })
  const finished = async (key: string) => {
    for (;;) {
      const { text, json } = await rights.send(key, 'GET query/mine/')
      if ((json['query_status'] as { complete: boolean } | undefined)?.complete !== false)
        return text
      await Bun.sleep(5)
    }
  }

  test('belongs to its caller: others ask under it, read it and cancel it for themselves', async () => {
    const { send, owner, member } = rights
    expect((await send(owner, 'POST query/', asked('of-owner'))).status).toBe(200)
    expect(await finished(owner)).toContain('of-owner')
    expect((await send(member, 'GET query/mine/')).status).toBe(404)
    const own = await send(member, 'POST query/', asked('of-member'))
    expect([own.status, own.text.includes('of-owner')]).toEqual([200, false])
    expect(await finished(member)).toContain('of-member')
    expect(await finished(owner)).toContain('of-owner')
    expect((await send(member, 'DELETE query/mine/')).status).toBe(204)
    expect((await send(member, 'GET query/mine/')).status).toBe(404)
    expect(await finished(owner)).toContain('of-owner')
    expect((await send(owner, 'DELETE query/mine/')).status).toBe(204)
  })

  test('tells nothing any more when what it read is hidden from its caller', async () => {
    const { send, member, atLevel } = rights
    await send(member, 'POST query/', asked('seen-before'))
    expect(await finished(member)).toContain('seen-before')
    const later = await atLevel('person', 'none', () => send(member, 'GET query/mine/'))
    expect([later.status, later.text.includes('seen-before')]).toEqual([404, false])
    expect((await atLevel('query', 'none', () => send(member, 'GET query/mine/'))).status).toBe(403)
  })
})

/** Every way by which one thing changes another. */
const EDITS: readonly (readonly [
  what: string,
  scope: Scope,
  line: () => string,
  body: () => unknown,
])[] = [
  [
    'a survey that takes a flag over',
    'feature_flag:write',
    () => 'POST surveys/',
    () => ({
      name: 's',
      type: 'popover',
      questions: [{ type: 'open', question: '?' }],
      targeting_flag_id: ids.staff,
      targeting_flag_filters: ANYBODY,
    }),
  ],
  [
    'an experiment that is launched',
    'feature_flag:write',
    () => `POST experiments/${experiment}/launch/`,
    () => undefined,
  ],
  [
    'an experiment that begins',
    'feature_flag:write',
    () => `PATCH experiments/${experiment}/`,
    () => ({ start_date: '2026-01-01T00:00:00Z' }),
  ],
  [
    'an experiment that says other variants',
    'feature_flag:write',
    () => `PATCH experiments/${experiment}/`,
    () => ({
      parameters: {
        feature_flag_variants: [
          { key: 'control', rollout_percentage: 0 },
          { key: 'test', rollout_percentage: 100 },
        ],
      },
    }),
  ],
  [
    'a web experiment on a page',
    'feature_flag:write',
    () => 'POST experiments/',
    () => ({
      name: 'y',
      feature_flag_key: 'tested',
      holdout_id: null,
      start_date: '2026-01-01T00:00:00Z',
      parameters: {},
    }),
  ],
  [
    'a holdout',
    'feature_flag:write',
    () => `PATCH experiment_holdouts/${holdout}/`,
    () => ({ filters: [{ properties: [], rollout_percentage: 50 }] }),
  ],
  [
    'a holdout that goes',
    'feature_flag:write',
    () => `DELETE experiment_holdouts/${holdout}/`,
    () => undefined,
  ],
  [
    'an early access feature that opens',
    'feature_flag:write',
    () => `PATCH early_access_feature/${feature}/`,
    () => ({ stage: 'beta' }),
  ],
  [
    'an early access feature on a flag',
    'feature_flag:write',
    () => 'POST early_access_feature/',
    () => ({ name: 'g', stage: 'beta', feature_flag_id: ids.staff }),
  ],
  [
    'a dashboard of a flag',
    'dashboard:write',
    () => `POST feature_flags/${ids.staff}/dashboard/`,
    () => undefined,
  ],
  [
    'insights about a flag',
    'insight:write',
    () => `POST feature_flags/${ids.staff}/dashboard/`,
    () => undefined,
  ],
  [
    'an insight put on a dashboard',
    'dashboard:write',
    () => `PATCH insights/${ids.insight}/`,
    () => ({ dashboards: [ids.board] }),
  ],
  [
    'an insight made on a dashboard',
    'dashboard:write',
    () => 'POST insights/',
    () => ({ query: HOGQL('select 1'), dashboards: [ids.board] }),
  ],
  [
    'a cohort of who was exposed',
    'cohort:write',
    () => `POST experiments/${ids.exposed}/create_exposure_cohort_for_experiment/`,
    () => undefined,
  ],
]

describe('what one thing changes of another', () => {
  test.each(EDITS)('%s needs %s', async (_what, scope, line, body) => {
    const { everything, send } = rights
    const before = everything()
    const need = { scope, by: 'key_and_level' } as const
    for (const [lacks, answer] of await withoutEach(need, (key) => send(key, line(), body()))) {
      expect([lacks, answer.status, answer.json['code']]).toEqual([lacks, 403, 'permission_denied'])
    }
    expect(everything()).toBe(before)
  })

  test('a flag comes into another project only with the cohorts that the caller may make there', async () => {
    const { make, send, everything, sibling } = rights
    const cohort = number(
      await make('POST cohorts/', {
        name: 'come along',
        filters: { properties: { type: 'OR', values: [{ type: 'AND', values: BY_EMAIL }] } },
      }),
    )
    const filters = {
      groups: [
        { properties: [{ key: 'id', type: 'cohort', value: cohort }], rollout_percentage: 100 },
      ],
    }
    await make('POST feature_flags/', { key: 'travels', filters })
    // Working a cohort out is no effect of the calls below.
    await rights.world.needs.cohorts.look()
    const before = everything()
    const body = { feature_flag_key: 'travels', from_project: 1, target_project_ids: [sibling.id] }
    const copy = (key: string) =>
      send(key, 'POST /api/organizations/@current/feature_flags/copy_flags/', body)
    for (const [lacks, answer] of await withoutEach(
      { scope: 'cohort:write', by: 'key_and_level' },
      copy,
    )) {
      expect([lacks, answer.json['success'], answer.json['failed']]).toEqual([
        lacks,
        [],
        [
          {
            project_id: sibling.id,
            error_message: expect.stringMatching(/cohort:write|editor access/),
          },
        ],
      ])
    }
    expect(everything()).toBe(before)
    expect((await copy(rights.member)).json['failed']).toEqual([])
  })

  test('its own flag needs no right but that on the thing', async () => {
    const { send, keyOf, keyWithout, make } = rights
    const key = keyWithout('feature_flag:read')
    const survey = await send(key, 'POST surveys/', {
      name: 'own',
      type: 'popover',
      questions: [{ type: 'open', question: '?' }],
      targeting_flag_filters: STAFF,
    })
    expect(survey.status).toBe(201)
    const id = String(survey.json['id'])
    const changed = await send(key, `PATCH surveys/${id}/`, { targeting_flag_filters: ANYBODY })
    expect([changed.status, changed.json['targeting_flag']]).toEqual([
      200,
      expect.objectContaining({ filters: ANYBODY }),
    ])
    expect((await send(key, `POST surveys/${id}/launch/`)).status).toBe(200)
    expect((await send(key, `DELETE surveys/${id}/`)).status).toBe(204)
    const own = await send(key, 'POST experiments/', {
      name: 'own',
      feature_flag_key: 'own-of-experiment',
    })
    expect((await send(key, `POST experiments/${number(own.json)}/launch/`)).status).toBe(200)
    const narrow = keyOf(1, ['early_access_feature:write'])
    const made = await send(narrow, 'POST early_access_feature/', {
      name: 'own one',
      stage: 'beta',
    })
    expect(
      (
        await send(narrow, `PATCH early_access_feature/${String(made.json['id'])}/`, {
          stage: 'concept',
        })
      ).status,
    ).toBe(200)
    // Other things do not come with it.
    const flag = (await make(`GET experiments/${number(own.json)}/`))['feature_flag'] as {
      id: number
    }
    const taken = await send(keyOf(1, ['survey:write']), 'POST surveys/', {
      name: 'thief',
      type: 'popover',
      questions: [{ type: 'open', question: '?' }],
      targeting_flag_id: flag.id,
      targeting_flag_filters: ANYBODY,
    })
    expect(taken.status).toBe(403)
  })
})

/** What an editor asks where a text ends. */
const completion = (query: string) => ({
  query: {
    kind: 'HogQLAutocomplete',
    language: 'hogQL',
    query: query.includes(' FROM ') ? query : `${query} FROM events`,
    startPosition: query.length - (/\w*$/.exec(query)?.[0] ?? '').length,
    endPosition: query.length,
  },
})

/** What shows each member of MEMBER_WAYS, and how it looks to those without the right. */
const MEMBERS: Readonly<
  Record<
    keyof typeof MEMBER_WAYS,
    readonly (readonly [line: () => string, body: () => unknown, shown: string])[]
  >
> = {
  'linked_flag.filters': [
    [() => 'GET early_access_feature/', () => undefined, ASKED],
    [() => `GET early_access_feature/${feature}/`, () => undefined, ASKED],
    [() => `PATCH early_access_feature/${feature}/`, () => ({}), ASKED],
    [() => 'GET experiments/', () => undefined, ASKED],
    [() => `GET experiments/${experiment}/`, () => undefined, ASKED],
    [() => `PATCH experiments/${experiment}/`, () => ({}), ASKED],
    [() => 'GET surveys/', () => undefined, ASKED],
  ],
  'event.person': [[() => 'GET events/?event=open', () => undefined, SECRET]],
  'cohort.count': [
    [() => 'GET cohorts/', () => undefined, '"count":1,"errors_calculating"'],
    [() => `GET cohorts/${ids.cohort}/`, () => undefined, '"count":1,"errors_calculating"'],
    [() => `PATCH cohorts/${ids.cohort}/`, () => ({}), '"count":1,"errors_calculating"'],
    [
      () => 'POST query/',
      () => ({ query: HOGQL("select concat('has ', toString(count)) from system.cohorts") }),
      'has 1',
    ],
  ],
  'groups/related.persons': [
    [() => 'GET groups/related/?group_type_index=0&id=acme', () => undefined, SECRET],
  ],
  'test_evaluation.person': [
    [
      () => `POST feature_flags/${ids.staff}/test_evaluation/`,
      () => ({ distinct_id: 'ann' }),
      SECRET,
    ],
  ],
  'test_evaluation.group': [
    [
      () => `POST feature_flags/${ids.companies}/test_evaluation/`,
      () => ({ distinct_id: 'ann', groups: { company: 'acme' } }),
      'group-only',
    ],
  ],
  'project.slack_incoming_webhook': [
    [() => 'GET ', () => undefined, 'hooks.slack.example'],
    [() => 'GET activity/?limit=1000', () => undefined, 'hooks.slack.example'],
    [() => 'GET activity_log/?limit=1000', () => undefined, 'hooks.slack.example'],
    [() => 'GET access_controls/', () => undefined, 'hooks.slack.example'],
    [() => 'GET global_access_controls/', () => undefined, 'hooks.slack.example'],
    [() => 'GET is_generating_demo_data/', () => undefined, 'hooks.slack.example'],
    [() => 'GET /api/users/@me/', () => undefined, 'hooks.slack.example'],
  ],
  'flag.surveys': [[() => `GET feature_flags/${ids.staff}/`, () => undefined, '"linked"']],
  'flag.features': [[() => 'GET feature_flags/', () => undefined, '"feature-name"']],
  'annotation.insight': [[() => 'GET annotations/', () => undefined, '"insight-name"']],
  'annotation.dashboard': [[() => 'GET annotations/', () => undefined, '"board-name"']],
  'insight.result': [
    [() => `GET insights/${ids.insight}/?refresh=blocking`, () => undefined, '"result":[[1]]'],
  ],
  'dashboard.insight': [[() => `GET dashboards/${ids.board}/`, () => undefined, '"short_id"']],
  'editor.events': [
    [() => 'POST query/', () => completion("SELECT 1 FROM events WHERE event = 'op"), '"open"'],
  ],
  'editor.properties': [
    [() => 'POST query/', () => completion('SELECT person.properties.ema'), '"email"'],
  ],
}

describe('what answers show of another resource', () => {
  beforeAll(async () => {
    const { make } = rights
    await make('POST surveys/', {
      name: 'linked',
      type: 'popover',
      questions: [{ type: 'open', question: '?' }],
      linked_flag_id: ids.staff,
    })
    const about = { content: 'note', date_marker: '2026-01-01T00:00:00Z' }
    await make('POST annotations/', {
      ...about,
      scope: 'dashboard_item',
      dashboard_item: ids.insight,
    })
    await make('POST annotations/', { ...about, scope: 'dashboard', dashboard_id: ids.board })
    await make('POST insights/', { query: HOGQL('select 1'), dashboards: [ids.board] })
  })

  const cases = Object.entries(MEMBERS).flatMap(([way, probes]) =>
    probes.map(([line, body, shown]) => ({
      way: way as keyof typeof MEMBER_WAYS,
      line,
      body,
      shown,
    })),
  )
  test.each(cases)(
    '$way ($line) is shown with the right only',
    async ({ way, line, body, shown }) => {
      const { send, owner } = rights
      const whole = await send(owner, line(), body())
      expect([whole.status, whole.text.includes(shown)]).toEqual([200, true])
      for (const [lacks, { status, text }] of await withoutEach(MEMBER_WAYS[way], (key) =>
        send(key, line(), body()),
      )) {
        expect([lacks, status, text.includes(shown)]).toEqual([lacks, 200, false])
      }
    },
  )

  test('a refusal suggests names of cohorts and actions to those only who may read them', async () => {
    const { send, owner, keyWithout, atLevel, member, make } = rights
    await make('POST cohorts/', { name: 'secret-people', is_static: true })
    await make('POST actions/', { name: 'secret-action', steps: [{ event: 'open' }] })
    const cohort = {
      query: HOGQL("select count() from events where person_id in cohort 'secret-peopl'"),
    }
    const action = {
      query: HOGQL("select count() from events where matchesAction('secret-actio')"),
    }
    const asked = async (key: string, body: object) => (await send(key, 'POST query/', body)).text
    expect(await asked(owner, cohort)).toContain('secret-people')
    expect(await asked(owner, action)).toContain('secret-action')
    expect(await asked(keyWithout('cohort:read'), cohort)).not.toContain('secret-people')
    expect(await asked(keyWithout('action:read'), action)).not.toContain('secret-action')
    const hidden = await atLevel('cohort', 'none', () => send(member, 'POST query/', cohort))
    expect([hidden.status, hidden.text.includes('secret-people')]).toEqual([403, false])
    const unnamed = await atLevel('action', 'none', () => asked(member, action))
    expect(unnamed).not.toContain('secret-action')
  })

  test('the activity log tells values to those only who may read the thing', async () => {
    const { send, owner, keyOf } = rights
    const narrow = keyOf(1, ['activity_log:read'])
    const lines = [
      'GET activity_log/?limit=1000',
      'GET persons/activity/',
      'GET feature_flags/activity/',
    ]
    for (const line of lines) {
      const told = await send(narrow, line)
      expect([line, told.status]).toEqual([line, 200])
      for (const value of [SECRET, ASKED, 'bob-too']) expect(told.text).not.toContain(value)
    }
    const [whole, shortened] = [
      await send(owner, 'GET persons/activity/'),
      await send(narrow, 'GET persons/activity/'),
    ]
    for (const value of [SECRET, 'bob-too']) expect(whole.text).toContain(value)
    expect(shortened.json['results']).toEqual([
      expect.objectContaining({
        activity: 'split_person',
        detail: expect.objectContaining({
          name: '',
          changes: [expect.objectContaining({ field: 'distinct_ids', before: null, after: null })],
        }),
      }),
    ])
  })
})

describe('a public link', () => {
  const shown = async (token: unknown): Promise<string> => {
    const answer = await rights.world.send(`/shared/${String(token)}.json`)
    return answer.text()
  }
  const persons = HOGQL('select properties.email from persons')

  /** A dashboard whose link the owner has opened; what each of these does makes it show persons. */
  const open = async () => {
    const { make } = rights
    const board = number(await make('POST dashboards/', { name: 'open' }))
    const other = number(await make('POST dashboards/', { name: 'other' }))
    const on = (query: object, id: number) => ({ name: 'shown', query, dashboards: [id] })
    const counted = number(await make('POST insights/', on(HOGQL('select 1'), board)))
    const told = number(await make('POST insights/', on(persons, other)))
    const link = await make(`PATCH dashboards/${board}/sharing/`, { enabled: true })
    const tiles = (await make(`GET dashboards/${other}/`))['tiles'] as { id: number }[]
    return { board, other, counted, told, token: link['access_token'], tile: tiles[0]?.id }
  }
  type Opened = Awaited<ReturnType<typeof open>>
  const edits: readonly (readonly [
    what: string,
    edit: (opened: Opened) => readonly [line: string, body: object],
  ])[] = [
    ['adds an insight', ({ board }) => ['POST insights/', { query: persons, dashboards: [board] }]],
    ['changes an insight', ({ counted }) => [`PATCH insights/${counted}/`, { query: persons }]],
    [
      'adds an insight of another',
      ({ told, board }) => [`PATCH insights/${told}/`, { dashboards: [board] }],
    ],
    [
      'moves a tile to it',
      ({ other, board, tile }) => [
        `PATCH dashboards/${other}/move_tile/`,
        { tile: { id: tile }, toDashboard: board },
      ],
    ],
  ]
  test.each(edits)('tells no persons to a member without the right who %s', async (_, edit) => {
    const { member, send, setLevel } = rights
    const opened = await open()
    setLevel('person', 'none')
    try {
      const [line, body] = edit(opened)
      expect((await send(member, line, body)).status).toBeLessThan(300)
      const text = await shown(opened.token)
      expect(text).not.toContain(SECRET)
      expect(text).toContain('You do not have access to what this query reads: persons.')
    } finally {
      setLevel('person', null)
    }
  })

  const OF_SECRET = [{ key: 'email', value: SECRET, operator: 'exact', type: 'person' }]

  /** A dashboard whose insight reads persons by another definition, and an edit of that which selects a person. */
  const readers: readonly (readonly [
    what: string,
    made: (name: string) => readonly [line: string, body: object],
    query: (name: string, id: string) => object,
    edit: (id: string) => readonly [line: string, body: object],
  ])[] = [
    [
      'a variable',
      (name) => ['POST insight_variables/', { name, type: 'String', default_value: 'nobody' }],
      (name, id) => ({
        ...HOGQL(
          `select properties.email from persons where properties.email = {variables.${name}}`,
        ),
        variables: { [id]: { variableId: id, code_name: name } },
      }),
      (id) => [`PATCH insight_variables/${id}/`, { default_value: SECRET }],
    ],
    [
      'an action',
      (name) => ['POST actions/', { name, steps: [{ event: 'nothing' }] }],
      (name) => HOGQL(`select person.properties.email from events where matchesAction('${name}')`),
      (id) => [`PATCH actions/${id}/`, { steps: [{ event: '$identify' }] }],
    ],
    [
      'a cohort',
      (name) => ['POST cohorts/', { name, is_static: true }],
      (name) => HOGQL(`select properties.email from persons where id in cohort '${name}'`),
      (id) => [`PATCH cohorts/${id}/`, { name: 'renamed' }],
    ],
    [
      'the members of a cohort',
      (name) => ['POST cohorts/', { name, is_static: true }],
      (name) => HOGQL(`select properties.email from persons where id in cohort '${name}'`),
      (id) => [`PATCH cohorts/${id}/add_persons_to_static_cohort/`, { distinct_ids: ['ann'] }],
    ],
    [
      'an experiment',
      (name) => [
        'POST experiments/',
        { name, feature_flag_key: name, start_date: '2026-01-01T00:00:00Z' },
      ],
      (_, id) => ({
        kind: 'ExperimentQuery',
        experiment_id: Number(id),
        metric: {
          kind: 'ExperimentMetric',
          metric_type: 'mean',
          source: { kind: 'EventsNode', event: 'paid' },
        },
      }),
      (id) => [
        `PATCH experiments/${id}/`,
        {
          exposure_criteria: {
            exposure_config: {
              kind: 'ExperimentEventExposureConfig',
              event: '$identify',
              properties: OF_SECRET,
            },
          },
        },
      ],
    ],
    [
      'the filters of test accounts',
      (name) => ['POST annotations/', { content: name }],
      () => ({
        kind: 'TrendsQuery',
        series: [{ kind: 'EventsNode', event: 'paid' }],
        filterTestAccounts: true,
      }),
      () => ['PATCH /api/projects/1/', { test_account_filters: OF_SECRET }],
    ],
    [
      'an action that a cohort counts',
      (name) => ['POST actions/', { name, steps: [{ event: 'nothing' }] }],
      () => HOGQL(`select properties.email from persons where id in cohort 'counts it'`),
      (id) => [`PATCH actions/${id}/`, { steps: [{ event: '$identify' }] }],
    ],
  ]
  test.each(readers)(
    'tells no persons to a member without the right who changes %s',
    async (...args) => {
      const [what, made, query, edit] = args
      const { member, make, send, setLevel } = rights
      const name = `reader_${what.replace(/\W/g, '_')}`
      const board = number(await make('POST dashboards/', { name }))
      const definition = await make(...made(name))
      const id = String(definition['id'])
      await make('POST insights/', { name, query: query(name, id), dashboards: [board] })
      const link = await make(`PATCH dashboards/${board}/sharing/`, { enabled: true })
      expect(await shown(link['access_token'])).not.toContain('You do not have access')
      setLevel('person', 'none')
      try {
        expect((await send(member, ...edit(id))).status).toBe(200)
        const text = await shown(link['access_token'])
        expect(text).not.toContain(SECRET)
        expect(text).toContain('You do not have access to what this query reads: persons')
      } finally {
        setLevel('person', null)
      }
    },
  )

  test('goes on in the name of its opener when a member with the same rights changes it', async () => {
    const { member, send } = rights
    const { counted, token } = await open()
    const changed = await send(member, `PATCH insights/${counted}/`, { query: persons })
    expect(changed.status).toBe(200)
    expect(await shown(token)).toContain(SECRET)
  })
})

describe('a message that the server computes in the name of a member', () => {
  const url = 'https://8.8.8.8/hook'
  const author = ({ json }: Answer): unknown =>
    (json as { created_by?: { email: string } }).created_by?.email
  const idOf = ({ json }: Answer): string => String(json['id'])

  test('is computed in the name of the one who changes where it goes', async () => {
    const { owner, member, send } = rights
    const board = Number(idOf(await send(owner, 'POST dashboards/', { name: 'told' })))
    const subscription = {
      dashboard: board,
      target_type: 'webhook',
      target_value: url,
      frequency: 'daily',
    }
    const made = await send(owner, 'POST subscriptions/', subscription)
    const line = `PATCH subscriptions/${idOf(made)}/`
    const renamed = await send(member, line, { title: 'mine' })
    expect(author(renamed)).toBe(author(made))
    const moved = await send(member, line, { target_value: `${url}/mine` })
    expect(author(moved)).toBe('member@example.com')
  })

  test('is computed in the name of the one who changes what it tells', async () => {
    const { owner, member, send } = rights
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] }
    const insight = async () =>
      Number(idOf(await send(owner, 'POST insights/', { name: 'told', query })))
    const alert = {
      insight: await insight(),
      threshold: { configuration: { type: 'absolute', bounds: { upper: 1 } } },
      condition: { type: 'absolute_value' },
      config: { type: 'TrendsAlertConfig', series_index: 0 },
      webhook_url: url,
    }
    const made = await send(owner, 'POST alerts/', alert)
    expect(made.status).toBe(201)
    const line = `PATCH alerts/${idOf(made)}/`
    expect(author(await send(member, line, { name: 'mine' }))).toBe(author(made))
    const changed = await send(member, line, { insight: await insight() })
    expect(author(changed)).toBe('member@example.com')
    expect(author(await send(owner, line, { webhook_url: `${url}/o` }))).toBe(author(made))

    // Whoever may see less and changes the insight reads the values of its alert.
    const asked = await send(owner, `GET alerts/${idOf(made)}/`)
    const its = `PATCH insights/${String((asked.json['insight'] as { id: unknown }).id)}/`
    expect((await send(member, its, { name: 'seen' })).status).toBe(200)
    expect(author(await send(owner, `GET alerts/${idOf(made)}/`))).toBe(author(made))
    rights.setLevel('person', 'none')
    expect((await send(member, its, { name: 'hidden' })).status).toBe(200)
    rights.setLevel('person', null)
    expect(author(await send(owner, `GET alerts/${idOf(made)}/`))).toBe('member@example.com')
  })
})
