/** Two servers for tests of a move: what the source has, and how both are asked. */
import { expect } from 'bun:test'
import type { TestServer } from '../../../src/testing/start.ts'

export type Json = Readonly<Record<string, unknown>>

/** A project of a server, by its API. */
export type ServerEnd = Pick<
  TestServer,
  'personal_api_key' | 'project_id' | 'project_token' | 'url'
>

/** Calls a server's API below the project. */
export async function call(server: ServerEnd, method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}/api/projects/${server.project_id}/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${server.personal_api_key}`,
      'Content-Type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text) as Json
}

export async function listOf(server: ServerEnd, path: string): Promise<readonly Json[]> {
  const { results } = await call(server, 'GET', `${path}?limit=1000`)
  return results as Json[]
}

export async function capture(server: ServerEnd, batch: readonly Json[]): Promise<void> {
  const response = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    body: JSON.stringify({ api_key: server.project_token, historical_migration: true, batch }),
  })
  expect(response.status).toBe(200)
}

export async function flagsOf(server: ServerEnd, distinct_id: string): Promise<unknown> {
  const response = await fetch(`${server.url}/decide/?v=3`, {
    method: 'POST',
    body: JSON.stringify({ api_key: server.project_token, distinct_id, groups: { company: 'c1' } }),
  })
  const { featureFlags } = (await response.json()) as Json
  return featureFlags
}

export const at = (index: number): string =>
  new Date(Date.UTC(2025, 2, 1) + index * 7_200_123).toISOString()
export const uuid = (index: number): string =>
  `7e3b8f0a-52c6-4b29-9c31-${String(index).padStart(12, '0')}`

/** Visitors who log in, groups, clicks, and events without a profile. */
const EVENTS: readonly Json[] = Array.from({ length: 300 }, (_, index): Json => {
  const base = { uuid: uuid(index), distinct_id: `visitor ${index % 30}`, timestamp: at(index) }
  if (index === 0) {
    const group = { $group_type: 'company', $group_key: 'c1', $group_set: { name: 'One', size: 7 } }
    return { ...base, event: '$groupidentify', properties: group }
  }
  if (index >= 200 && index < 220) {
    const $set = { email: `user${index}@example.org`, plan: index % 2 === 0 ? 'pro' : 'free' }
    const properties = { $anon_distinct_id: `visitor ${index % 30}`, $set }
    return { ...base, event: '$identify', distinct_id: `user ${index}`, properties }
  }
  if (index % 7 === 3) {
    return {
      ...base,
      event: '$autocapture',
      properties: { $elements: [{ tag_name: 'a', $el_text: 'Buy;now' }] },
    }
  }
  if (index % 11 === 5) {
    return {
      ...base,
      distinct_id: `nobody ${index}`,
      event: 'seen',
      properties: { $process_person_profile: false },
    }
  }
  return {
    ...base,
    event: 'bought',
    properties: {
      price: index / 4,
      'odd "key" ü': [index],
      $ip: '203.0.113.7',
      $groups: { company: `c${index % 3}` },
    },
  }
})

const trends = (series: readonly Json[], more: Json = {}): Json => ({
  kind: 'InsightVizNode',
  source: {
    kind: 'TrendsQuery',
    series,
    dateRange: { date_from: '2025-03-01', date_to: '2025-03-31' },
    ...more,
  },
})

/** Fills the source with a bit of everything; ids here and there are made to differ. */
export async function fillEnds(source: ServerEnd, target: ServerEnd): Promise<void> {
  const create = (path: string, body: Json): Promise<Json> => call(source, 'POST', path, body)
  await capture(source, EVENTS)
  for (const path of ['actions/', 'dashboards/', 'insights/']) {
    await call(target, 'POST', path, { name: 'there before' })
  }
  await call(target, 'POST', 'cohorts/', { name: 'there before' })
  await call(target, 'POST', 'feature_flags/', { key: 'taken', name: 'there before' })
  await create('feature_flags/', { key: 'taken', name: 'from the source' })
  const action = await create('actions/', {
    name: 'Paid',
    steps: [{ event: 'bought' }],
    tags: ['money'],
  })
  const pro = await create('cohorts/', {
    name: 'Pro',
    filters: {
      properties: {
        type: 'OR',
        values: [
          {
            type: 'AND',
            values: [{ key: 'plan', type: 'person', operator: 'exact', value: 'pro' }],
          },
        ],
      },
    },
  })
  const both = await create('cohorts/', {
    name: 'Pro, again',
    filters: {
      properties: {
        type: 'OR',
        values: [{ type: 'AND', values: [{ key: 'id', type: 'cohort', value: pro['id'] }] }],
      },
    },
  })
  const list = await create('cohorts/', { name: 'List', is_static: true })
  await call(source, 'PATCH', `cohorts/${String(list['id'])}/add_persons_to_static_cohort/`, {
    distinct_ids: ['visitor 3', 'user 204'],
  })
  const of_pro = await create('feature_flags/', {
    key: 'for-pro',
    filters: {
      groups: [
        { properties: [{ key: 'id', type: 'cohort', value: both['id'] }], rollout_percentage: 100 },
      ],
      payloads: { true: '"p"' },
    },
  })
  await create('feature_flags/', {
    key: 'after-pro',
    filters: {
      groups: [
        {
          properties: [
            { key: String(of_pro['id']), type: 'flag', operator: 'flag_evaluates_to', value: true },
          ],
          rollout_percentage: 100,
        },
      ],
    },
  })
  await create('feature_flags/', {
    key: 'of-list',
    filters: {
      groups: [
        { properties: [{ key: 'id', type: 'cohort', value: list['id'] }], rollout_percentage: 100 },
      ],
    },
  })
  await create('feature_flags/', {
    key: 'half',
    filters: {
      groups: [{ properties: [], rollout_percentage: 50 }],
      multivariate: {
        variants: [
          { key: 'control', rollout_percentage: 50 },
          { key: 'test', rollout_percentage: 50 },
        ],
      },
    },
  })
  await create('feature_flags/', {
    key: 'companies',
    filters: {
      aggregation_group_type_index: 0,
      groups: [
        {
          properties: [
            { key: 'size', type: 'group', group_type_index: 0, operator: 'gt', value: '5' },
          ],
          rollout_percentage: 100,
        },
      ],
    },
  })
  const early = await create('feature_flags/', {
    key: 'early',
    filters: { groups: [{ properties: [], rollout_percentage: 0 }] },
  })
  const feature = { name: 'Early', stage: 'beta', feature_flag_id: early['id'] }
  await create('early_access_feature/', { ...feature, description: 'Soon' })
  const paid = await create('insights/', {
    name: 'Paid by day',
    query: trends([{ kind: 'ActionsNode', id: action['id'] }]),
  })
  const by_cohort = await create('insights/', {
    name: 'By cohort',
    query: trends([{ kind: 'EventsNode', event: 'bought', math: 'dau' }], {
      breakdownFilter: { breakdown_type: 'cohort', breakdown: [pro['id'], list['id']] },
    }),
  })
  const board = await create('dashboards/', {
    name: 'Board',
    description: 'All of it',
    tags: ['main'],
  })
  for (const { id } of [paid, by_cohort])
    await call(source, 'PATCH', `insights/${String(id)}/`, { dashboards: [board['id']] })
  await call(source, 'PATCH', `dashboards/${String(board['id'])}/`, {
    tiles: [{ text: { body: 'Hello' }, layouts: { sm: { x: 0, y: 9, w: 6, h: 2 } } }],
  })
  await create('annotations/', {
    content: 'Launch',
    date_marker: '2025-03-05T00:00:00Z',
    scope: 'dashboard_item',
    dashboard_item: paid['id'],
  })
  const variable = await create('insight_variables/', {
    name: 'Least',
    type: 'Number',
    default_value: 3,
  })
  await create('insights/', {
    name: 'SQL',
    saved: true,
    query: {
      kind: 'DataVisualizationNode',
      source: {
        kind: 'HogQLQuery',
        query: 'select count() from events where properties.price > {variables.least}',
        variables: {
          [String(variable['id'])]: { variableId: variable['id'], code_name: 'least', value: 5 },
        },
      },
    },
  })
  const holdout = await create('experiment_holdouts/', {
    name: 'Held',
    filters: [{ properties: [], rollout_percentage: 10 }],
  })
  await create('experiments/', {
    name: 'Trial',
    feature_flag_key: 'half',
    holdout_id: holdout['id'],
    start_date: '2025-03-01T00:00:00Z',
    exposure_cohort: pro['id'],
  })
  await create('surveys/', {
    name: 'Ask',
    type: 'popover',
    questions: [{ type: 'open', question: 'Why?' }],
    linked_flag_id: of_pro['id'],
    targeting_flag_filters: {
      groups: [
        {
          properties: [{ key: 'plan', type: 'person', operator: 'exact', value: 'pro' }],
          rollout_percentage: 100,
        },
      ],
    },
  })
}

/** Makes one more project on a server. */
export async function makeProject(server: TestServer): Promise<ServerEnd> {
  const response = await fetch(`${server.url}/api/organizations/@current/projects/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${server.personal_api_key}` },
    body: JSON.stringify({ name: 'One more' }),
  })
  const { id, api_token } = (await response.json()) as { id: number; api_token: string }
  const { url, personal_api_key } = server
  return { url, personal_api_key, project_id: id, project_token: api_token }
}

/** Runs a HogQL query on current data. */
export async function rowsOf(
  server: ServerEnd,
  query: string,
): Promise<readonly (readonly unknown[])[]> {
  const body = { query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }
  const { results } = await call(server, 'POST', 'query/', body)
  return results as unknown[][]
}

/** The options of a move between two projects. */
export function moveOptions(source: ServerEnd, target: ServerEnd, folder: string) {
  return {
    url: source.url,
    source_project: source.project_id,
    project_id: target.project_id,
    key: source.personal_api_key,
    here: { url: target.url, api_token: target.project_token, key: target.personal_api_key },
    folder,
    kinds: [] as readonly string[],
    onProgress: () => undefined,
    onWait: () => undefined,
  }
}

/** Queries over everything that comes from events. */
export const COUNTS = [
  'select event, count(), uniq(distinct_id), count(distinct person_id), sum(toFloat(properties.price)) from events group by event order by event',
  'select toString(uuid), timestamp, distinct_id, properties.$ip, elements_chain, $group_0 from events order by timestamp, uuid limit 1000',
  'select is_identified, properties, created_at from persons order by created_at, properties.email limit 1000',
  'select index, key, properties, created_at from groups order by key',
  'select count() from person_distinct_ids',
]

/** Lists of definitions, with how many the source has. */
export const LISTS = {
  'insight_variables/': 1,
  'actions/': 1,
  'cohorts/': 3,
  'feature_flags/': 7,
  'early_access_feature/': 1,
  'insights/': 3,
  'dashboards/': 2,
  'annotations/': 1,
  'experiment_holdouts/': 1,
  'experiments/': 1,
  'surveys/': 1,
} as const

const NAMED_HERE: ReadonlySet<string> = new Set(['action', 'breakdown_value', 'filter', 'id'])

/** The result of a saved insight, without the ids that differ from server to server. */
export async function resultOf(server: ServerEnd, name: string): Promise<unknown> {
  const insight = (await listOf(server, 'insights/')).find((one) => one['name'] === name)
  const path = `insights/${String(insight?.['id'])}/?refresh=force_blocking`
  const { result } = await call(server, 'GET', path)
  const hide = (key: string, value: unknown): unknown => (NAMED_HERE.has(key) ? null : value)
  return JSON.parse(JSON.stringify(result), hide)
}
