/** Queries at the edge: envelope, freshness, refusals, isolation. What HogQL means is for test/hogql. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createApiKey } from '../../../../src/projects/keys/api-key.ts'
import { createOrganization, getOrganizationOwner } from '../../../../src/projects/organization.ts'
import { createProject, type Project } from '../../../../src/projects/settings/project.ts'
import { joinWorld } from '../../shared-world.ts'

const world = await joinWorld()
const { project_id } = world.first

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

let other: Project
beforeAll(async () => {
  const { control } = world.needs
  const user_id = getOrganizationOwner(control, world.first.organization_id)
  const organization_id = createOrganization(control, { name: 'Other', user_id }, new Date()).id
  other = createProject(control, { organization_id, name: 'other' }, new Date())
})

type Envelope = { readonly [name: string]: unknown; readonly results: readonly unknown[] }

const capture = (event: object, api_key = world.first.api_token) =>
  world.send('/capture/', { method: 'POST', body: JSON.stringify({ api_key, ...event }) })

const post = (
  body: string,
  path = `/api/environments/${project_id}/query/`,
  key = world.first.personal_api_key,
) => world.send(path, { method: 'POST', body, headers: { Authorization: `Bearer ${key}` } })

const ask = (query: string, more: object = {}, path?: string) =>
  post(JSON.stringify({ query: { kind: 'HogQLQuery', query, ...more } }), path)

async function answerOf(query: string, more: object = {}, path?: string): Promise<Envelope> {
  const answer = await ask(query, more, path)
  const text = await answer.text()
  expect([answer.status, answer.headers.get('content-type')], text.slice(0, 500)).toEqual([
    200,
    'application/json',
  ])
  return JSON.parse(text)
}

describe('a query', () => {
  test('sees an event as soon as it is answered, in the envelope of the interface', async () => {
    const event = { event: 'bought', distinct_id: 'u1', properties: { price: 12.5, plan: 'pro' } }
    expect((await capture(event)).status).toBe(200)
    const query =
      "SELECT event, properties.price AS price, properties.plan FROM events WHERE event = 'bought'"
    expect(await answerOf(query)).toEqual({
      results: [['bought', 12.5, 'pro']],
      columns: ['event', 'price', 'plan'],
      types: [
        ['event', 'String'],
        ['price', 'Nullable(Float64)'],
        ['plan', 'Nullable(String)'],
      ],
      hogql: expect.stringMatching(/^SELECT event, properties\.price AS price/),
      clickhouse: null,
      explain: null,
      metadata: null,
      modifiers: {},
      timings: expect.any(Array),
      hasMore: false,
      limit: 100,
      offset: 0,
      timezone: 'UTC',
      is_cached: false,
      last_refresh: expect.stringMatching(/^\d{4}-/),
      next_allowed_client_refresh: expect.stringMatching(/^\d{4}-/),
      cache_target_age: expect.stringMatching(/^\d{4}-/),
      calculation_trigger: null,
      cache_key: expect.stringMatching(/^cache_[0-9a-f]{32}$/),
      query,
      error: null,
      query_status: null,
    })
  })

  const series = [{ kind: 'EventsNode', event: 'bought' }]
  test.each([
    [{ kind: 'TrendsQuery', series }, 1],
    [{ kind: 'StickinessQuery', series, dateRange: { date_from: '-3d' } }, 3],
    [{ kind: 'StickinessQuery', series, dateRange: { date_from: '-30d' } }, 15],
    [{ kind: 'StickinessQuery', series, dateRange: { date_from: '-30d' }, interval: 'hour' }, 3],
    [{ kind: 'RetentionQuery', retentionFilter: { totalIntervals: 4 } }, 3],
    [{ kind: 'RetentionQuery', retentionFilter: {} }, 15],
  ])('%j has its clients wait %d minutes before they ask again', async (query, minutes) => {
    const answer = (await (await post(JSON.stringify({ query }))).json()) as Envelope
    const [asked, next] = [answer['last_refresh'], answer['next_allowed_client_refresh']]
    expect(Date.parse(String(next)) - Date.parse(String(asked))).toBe(minutes * 60_000)
  })

  test('joins the person', async () => {
    await capture({ event: 'joined', distinct_id: 'u2', properties: { $set: { email: 'a@b.c' } } })
    const query = "SELECT person.properties.email FROM events WHERE event = 'joined'"
    expect((await answerOf(query)).results).toEqual([['a@b.c']])
  })

  test('answers a page when its text has no LIMIT, and says whether there is more', async () => {
    const all = 'SELECT number FROM numbers(101)'
    expect(await answerOf(all)).toMatchObject({ hasMore: true, limit: 100, offset: 0 })
    expect((await answerOf(all)).results).toHaveLength(100)
    const own = await answerOf(`${all} LIMIT 3 OFFSET 1`)
    expect(own.results).toEqual([[1], [2], [3]])
    expect(Object.keys(own)).not.toContain('hasMore')
  })

  test('takes values for its placeholders, nested ones by their path', async () => {
    const values = { name: "it's", variables: { n: 3 }, list: [1, 2] }
    const query = 'SELECT {name}, {variables.n} + 1, has({list}, 2)'
    expect((await answerOf(query, { values })).results).toEqual([["it's", 4, 1]])
  })

  test('is the same under every name of its project', async () => {
    for (const path of [
      `/api/projects/${project_id}/query/`,
      '/api/environments/@current/query',
      `/api/projects/${project_id}/query`,
    ]) {
      expect((await answerOf('SELECT 1', {}, path)).results).toEqual([[1]])
    }
  })

  test("sees its own project's rows only", async () => {
    await capture({ event: 'secret', distinct_id: 'spy' }, other.api_token)
    const count = "SELECT count() FROM events WHERE event = 'secret'"
    expect((await answerOf(count)).results).toEqual([[0]])
    expect((await answerOf(count, {}, `/api/projects/${other.id}/query/`)).results).toEqual([[1]])
  })

  test('needs no more than query:read', async () => {
    const reader = createApiKey(
      world.needs.control,
      {
        user_id: getOrganizationOwner(world.needs.control, world.first.organization_id),
        label: 'reader',
        scopes: ['query:read'],
        organization_id: null,
        project_id: null,
      },
      new Date(),
    ).value
    const body = '{"query":{"kind":"HogQLQuery","query":"SELECT 1"}}'
    expect((await post(body, undefined, reader)).status).toBe(200)
  })
})

describe('a query that cannot be answered', () => {
  test.each([
    ['no HogQL', 'SELECT FROM WHERE'],
    ['an unknown field', 'SELECT nothing FROM events'],
    ['an unknown table', 'SELECT 1 FROM pg_catalog'],
    ['an unknown function', "SELECT read_text('/etc/passwd')"],
    ['two statements', 'SELECT 1; DROP TABLE events'],
    ['nothing', ''],
  ])('for %s is refused with the place', async (_what, query) => {
    const answer = await ask(query)
    expect(answer.status).toBe(400)
    const body: unknown = await answer.json()
    expect(body).toMatchObject({
      type: 'validation_error',
      code: 'invalid_input',
      attr: 'query',
      extra: { start: expect.any(Number), end: expect.any(Number) },
    })
  })

  test.each([
    ['{}', 'query: This field is required.', 'query'],
    ['{"query":null}', 'query: This field may not be null.', 'query'],
    ['{"query":"SELECT 1"}', 'query: Expected an object.', 'query'],
    ['{"query":{"query":"SELECT 1"}}', 'query.kind: This field is required.', 'query__kind'],
    ['{"query":{"kind":"HogQLQuery"}}', 'query.query: This field is required.', 'query__query'],
    [
      '{"query":{"kind":"HogQLQuery","query":{"a":1}}}',
      'query.query: Not a valid string.',
      'query__query',
    ],
    [
      '{"query":{"kind":"HogQLQuery","query":"SELECT 1","values":3}}',
      'query.values: Expected an object.',
      'query__values',
    ],
    [
      '{"query":{"kind":"HogQLQuery","query":"SELECT 1"},"refesh":true}',
      'refesh: Unexpected field.',
      'refesh',
    ],
    [
      '{"query":{"kind":"HogQLQuery","query":"SELECT 1"},"refresh":"soon"}',
      'refresh: "soon" is not a valid choice.',
      'refresh',
    ],
  ])('for the body %s is refused: %s', async (sent, detail, attr) => {
    const answer = await post(sent)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({
      type: 'invalid_request',
      code: 'parse_error',
      detail: `JSON parse error - ${detail}`,
      attr,
    })
  })

  test.each([
    '{"query":{"kind":"HogQLQuery","query":"SELECT 1"},"limit_context":"posthog_ai","name":"x"}',
    '{"query":{"kind":"HogQLQuery","query":"SELECT 1","connectionId":null,"sendRawQuery":false}}',
    '{"query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode"}],"conversionGoal":null}}',
  ])('with members that have no effect is answered: %s', async (sent) => {
    expect((await post(sent)).status).toBe(200)
  })

  test('for a kind there is not is refused', async () => {
    const answer = await post('{"query":{"kind":"CrystalBallQuery"}}')
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({
      type: 'validation_error',
      code: 'invalid_input',
      detail: 'Unsupported query kind: CrystalBallQuery',
      attr: 'query__kind',
    })
  })
})

describe('a query that names many properties', () => {
  const named = (count: number, owner: string) =>
    Array.from({ length: count }, (_, index) => `${owner}properties.k${index}`).join(', ')

  test.each(['', 'person.', 'group_0.'])(
    'of %p is answered, and so are those after it',
    async (owner) => {
      const { columns } = await answerOf(`SELECT ${named(300, owner)} FROM events`)
      expect(columns).toHaveLength(300)
      const further = Array.from({ length: 3 }, (_, index) =>
        answerOf(`SELECT ${named(100, owner).replaceAll('.k', `.k${index}_`)} FROM events`),
      )
      for (const answer of await Promise.all(further)) expect(answer['columns']).toHaveLength(100)
    },
  )

  test('beyond their limit is refused, and the next one is answered', async () => {
    const answer = await ask(`SELECT ${named(1001, '')} FROM events`)
    expect([answer.status, JSON.parse(await answer.text()).code]).toEqual([400, 'query_too_large'])
    expect((await answerOf('SELECT count(properties.k1) FROM events')).results).toHaveLength(1)
  })
})
