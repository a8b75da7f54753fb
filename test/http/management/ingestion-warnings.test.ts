/** Ingestion warnings over the wire: listed, and asked by HogQL. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createProject } from '../../../src/projects/settings/project.ts'
import { openWorld, type World } from '../world.ts'

const ROOT = '/api/projects/1/ingestion_warnings/'

let world: World

type Json = Readonly<Record<string, unknown>>

async function ask(path: string, body?: unknown) {
  const answer = await world.send(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, json: JSON.parse(await answer.text()) as Json }
}

const askHogQL = async (project_id: number, query: string): Promise<unknown> => {
  const body = { query: { kind: 'HogQLQuery', query } }
  return (await ask(`/api/projects/${project_id}/query/`, body)).json['results']
}

async function list(parameters: string): Promise<readonly Json[]> {
  const { status, json } = await ask(`${ROOT}?${parameters}`)
  expect([status, json['detail']]).toEqual([200, undefined])
  return json['results'] as readonly Json[]
}

async function capture(batch: readonly Json[], api_key: string): Promise<void> {
  const body = JSON.stringify({ api_key, batch })
  expect((await world.send('/batch/', { method: 'POST', body })).status).toBe(200)
}

let other_id = 0

beforeAll(async () => {
  world = await openWorld()
  const other = createProject(
    world.needs.control,
    { organization_id: world.first.organization_id, name: 'other' },
    new Date(),
  )
  other_id = other.id
  const merge = (alias: string) => ({
    event: '$create_alias',
    distinct_id: 'anna',
    properties: { alias },
  })
  await capture([merge('guest')], world.first.api_token)
  await capture(
    [
      { event: 'visit', distinct_id: 'Ötzi', properties: { $process_person_profile: 'no' } },
      { event: 'visit', distinct_id: 'Ötzi', properties: { $process_person_profile: 'no' } },
      { event: 'nobody did it' },
    ],
    world.first.api_token,
  )
  await capture([merge('null')], other.api_token)
})
afterAll(() => world.close())

describe('GET ingestion_warnings', () => {
  test('lists them newest first, the repeated one once, and those of the project alone', async () => {
    const { json } = await ask(ROOT)
    expect(json['count']).toBe(3)
    const results = json['results'] as readonly Json[]
    expect(results.at(-1)).toEqual({
      id: 1,
      team_id: 1,
      type: 'cannot_merge_with_illegal_distinct_id',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      details: expect.objectContaining({ distinct_id: 'anna', other_distinct_id: 'guest' }),
    })
    expect(new Set(results.map((warning) => warning['type']))).toEqual(
      new Set([
        'cannot_merge_with_illegal_distinct_id',
        'invalid_process_person_profile',
        'missing_distinct_id',
      ]),
    )
    const times = results.map((warning) => String(warning['timestamp']))
    expect(times).toEqual(times.toSorted().toReversed())
    expect(await ask(ROOT.replace('projects', 'environments'))).toMatchObject({
      json: { results },
    })
  })

  test.each([
    ['type=missing_distinct_id', ['missing_distinct_id']],
    ['type=nothing', []],
    ['search=%C3%96tzi', ['invalid_process_person_profile']],
    ['search=ILLEGAL', ['cannot_merge_with_illegal_distinct_id']],
    ['search=%25', []],
    ['after=2100-01-01', []],
    ['before=2000-01-01T00:00:00Z', []],
    ['type=missing_distinct_id&after=2000-01-01&before=2100-01-01', ['missing_distinct_id']],
  ])('filters by %s', async (parameters, types) => {
    expect((await list(parameters)).map((warning) => warning['type'])).toEqual(types)
  })

  test('comes a page at a time', async () => {
    const all = await list('')
    const { json } = await ask(`${ROOT}?limit=1&offset=1`)
    expect(json).toEqual({
      count: 3,
      next: `https://tidemark.example${ROOT}?limit=1&offset=2`,
      previous: `https://tidemark.example${ROOT}?limit=1`,
      results: all.slice(1, 2),
    })
  })

  test('refuses what is no time', async () => {
    const { status, json } = await ask(`${ROOT}?after=yesterday`)
    expect([status, json['attr']]).toEqual([400, 'after'])
  })
})

describe('the table ingestion_warnings', () => {
  const QUERY =
    "select type, JSONExtractString(details, 'distinct_id') as who from ingestion_warnings order by type, who"

  test("has the project's warnings, and the ones that come later", async () => {
    expect(await askHogQL(1, QUERY)).toEqual([
      ['cannot_merge_with_illegal_distinct_id', 'anna'],
      ['invalid_process_person_profile', 'Ötzi'],
      ['missing_distinct_id', ''],
    ])
    const late = { event: '$create_alias', distinct_id: 'bert', properties: { alias: '0' } }
    await capture([late], world.first.api_token)
    expect(
      await askHogQL(
        1,
        "select count() from ingestion_warnings where details like '%bert%' and timestamp > now() - interval 1 day",
      ),
    ).toEqual([[1]])
  })

  test('of another project has only those', async () => {
    expect(await askHogQL(other_id, QUERY)).toEqual([
      ['cannot_merge_with_illegal_distinct_id', 'anna'],
    ])
    expect(await askHogQL(other_id, 'select count() from ingestion_warnings')).toEqual([[1]])
  })
})
