/** Every route about flags, cohorts, early access, surveys, experiments, actions, boards: good, missing and bad calls. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ROUTES } from '../../../src/app.ts'
import { withPutCases } from '../described.ts'
import { openWorld, type World } from '../world.ts'
import { manage } from './flag-world.ts'

type Case = {
  readonly status: number
  readonly body?: unknown
  /** What is refused, and for which field. */
  readonly bad?: readonly [body: unknown, attr: string | null]
}

const NOWHERE = '00000000-0000-4000-8000-000000000000'
const FAMILY =
  /:project_id\/(actions|cohorts|early_access_feature|experiments|web_experiments|experiment_holdouts|experiment_saved_metrics|surveys|feature_flags|insights|dashboards|annotations|insight_variables)\//
const FILTERS = { properties: { type: 'AND', values: [{ key: 'a', value: 'b', type: 'person' }] } }
const QUESTIONS = [{ type: 'open', question: 'How was it?' }]

const METRIC = {
  kind: 'ExperimentMetric',
  metric_type: 'mean',
  uuid: 'm-1',
  source: { kind: 'EventsNode', event: 'paid' },
}

const read: Case = { status: 200 }
const gone: Case = { status: 204 }
const asked: Case = { status: 200, body: { events: [{ id: 'a' }] }, bad: [{ events: 1 }, 'events'] }
const UNNAMED = [{ name: '' }, 'name'] as const

/** One line per route, by its path below the project. */
const CASES: Readonly<Record<string, Case>> = {
  'GET actions/': read,
  'GET actions/activity/': read,
  'POST actions/': { status: 201, body: { name: 'two' }, bad: UNNAMED },
  'GET actions/:id/': read,
  'PATCH actions/:id/': { status: 200, body: { name: 'three' }, bad: UNNAMED },
  'GET actions/:id/count/': read,
  'GET actions/:id/activity/': read,
  'GET cohorts/': read,
  'GET cohorts/activity/': read,
  'POST cohorts/': {
    status: 201,
    body: { name: 'two', filters: FILTERS },
    bad: [{ name: 'empty filters', filters: {} }, 'filters'],
  },
  'GET cohorts/:id/': read,
  'PATCH cohorts/:id/': { status: 200, body: { name: 'x' }, bad: [{ name: 1 }, 'name'] },
  'GET cohorts/:id/persons/': read,
  'PATCH cohorts/:id/add_persons_to_static_cohort/': {
    status: 200,
    body: { person_ids: [NOWHERE] },
    bad: [{ person_ids: 'all' }, 'person_ids'],
  },
  'PATCH cohorts/:id/remove_person_from_static_cohort/': {
    status: 200,
    body: { person_id: NOWHERE },
    bad: [{ person_id: 1 }, 'person_id'],
  },
  'GET cohorts/:id/duplicate_as_static_cohort/': read,
  'GET cohorts/:id/calculation_history/': read,
  'GET cohorts/:id/activity/': read,
  'GET early_access_feature/': read,
  'GET early_access_feature/activity/': read,
  'POST early_access_feature/': {
    status: 201,
    body: { name: 'two', stage: 'beta' },
    bad: [{ name: 'two' }, 'stage'],
  },
  'GET early_access_feature/:id/': read,
  'PATCH early_access_feature/:id/': { status: 200, body: { stage: 'beta' }, bad: UNNAMED },
  'DELETE early_access_feature/:id/': gone,
  'GET experiments/': read,
  'GET experiments/activity/': read,
  'POST experiments/': {
    status: 201,
    body: { name: 'two', feature_flag_key: 'fresh' },
    bad: [{ name: 'two' }, 'feature_flag_key'],
  },
  'GET experiments/:id/': read,
  'PATCH experiments/:id/': { status: 200, body: { description: 'x' }, bad: UNNAMED },
  'GET experiments/:id/exposures/': read,
  'GET experiments/:id/results/': read,
  'GET experiments/:id/activity/': read,
  'GET experiments/eligible_feature_flags/': read,
  'GET experiments/stats/': read,
  'GET experiments/requires_flag_implementation/': read,
  'POST experiments/:id/launch/': { status: 400 },
  'POST experiments/:id/pause/': { status: 200 },
  'POST experiments/:id/resume/': { status: 400 },
  'POST experiments/:id/reset/': { status: 200 },
  'POST experiments/:id/archive/': { status: 400 },
  'POST experiments/:id/unarchive/': { status: 400 },
  'POST experiments/:id/end/': {
    status: 200,
    body: { conclusion: 'won', conclusion_comment: 'a' },
    bad: [{ conclusion: 'great' }, 'conclusion'],
  },
  'POST experiments/:id/ship_variant/': {
    status: 200,
    body: { variant_key: 'test', release_to_everyone: true },
    bad: [{ variant_key: 'neither' }, 'variant_key'],
  },
  'POST experiments/:id/duplicate/': {
    status: 201,
    body: { name: 'again', feature_flag_key: 'tried-again' },
    bad: [{ name: 1 }, 'name'],
  },
  'POST experiments/:id/copy_to_project/': {
    status: 201,
    body: { target_team_id: 1, feature_flag_key: 'other' },
    bad: [{ target_team_id: 999 }, 'target_team_id'],
  },
  'POST experiments/:id/create_exposure_cohort_for_experiment/': { status: 201 },
  'GET experiments/:id/timeseries_results/?metric_uuid=m-1': read,
  'GET experiment_saved_metrics/': read,
  'GET experiment_saved_metrics/activity/': read,
  'POST experiment_saved_metrics/': {
    status: 201,
    body: { name: 'two', query: METRIC },
    bad: [{ name: 'two', query: { kind: 'ExperimentMetric' } }, 'query'],
  },
  'GET experiment_saved_metrics/:id/': read,
  'PATCH experiment_saved_metrics/:id/': { status: 200, body: { name: 'x' }, bad: UNNAMED },
  'PUT experiment_saved_metrics/:id/': { status: 200, body: { name: 'x' }, bad: UNNAMED },
  'DELETE experiment_saved_metrics/:id/': gone,
  'GET experiment_saved_metrics/:id/activity/': read,
  'GET web_experiments/': read,
  'POST web_experiments/': {
    status: 201,
    body: { name: 'two', variants: { control: {}, test: {} } },
    bad: [{ name: 'two', variants: { test: {} } }, 'variants'],
  },
  'GET web_experiments/:id/': read,
  'PATCH web_experiments/:id/': { status: 200, body: { name: 'x' }, bad: UNNAMED },
  'GET experiment_holdouts/': read,
  'GET experiment_holdouts/activity/': read,
  'POST experiment_holdouts/': {
    status: 201,
    body: { name: 'two', filters: [{ properties: [], rollout_percentage: 5 }] },
    bad: [{ name: 'two' }, 'filters'],
  },
  'GET experiment_holdouts/:id/': read,
  'PATCH experiment_holdouts/:id/': { status: 200, body: { name: 'x' }, bad: UNNAMED },
  'DELETE experiment_holdouts/:id/': gone,
  'GET surveys/': read,
  'GET surveys/activity/': read,
  'POST surveys/': {
    status: 201,
    body: { name: 'two', type: 'api', questions: QUESTIONS },
    bad: [{ name: 'two', type: 'telepathy' }, 'type'],
  },
  'GET surveys/responses_count/': read,
  'GET surveys/:id/': read,
  'PATCH surveys/:id/': { status: 200, body: { archived: true }, bad: UNNAMED },
  'DELETE surveys/:id/': gone,
  'GET surveys/:id/stats/': read,
  'GET surveys/stats/': read,
  'POST surveys/:id/launch/': { status: 200 },
  'POST surveys/:id/stop/': { status: 400 },
  'POST surveys/:id/duplicate_to_projects/': {
    status: 201,
    body: { target_team_ids: [1] },
    bad: [{ target_team_ids: [] }, 'target_team_ids'],
  },
  'GET surveys/:id/responses/': read,
  'GET surveys/:id/archived-response-uuids/': read,
  'POST surveys/:id/responses/:uuid/archive/': { status: 404 },
  'POST surveys/:id/responses/:uuid/unarchive/': { status: 404 },
  'GET surveys/:id/activity/': read,
  'GET annotations/': read,
  'GET annotations/activity/': read,
  'POST annotations/': { status: 201, body: { content: 'v2' }, bad: [{ scope: 'x' }, 'scope'] },
  'GET annotations/:id/': read,
  'PATCH annotations/:id/': {
    status: 200,
    body: { date_marker: '2026-05-01T10:00:00Z' },
    bad: [{ date_marker: 'soon' }, 'date_marker'],
  },
  'GET annotations/:id/activity/': read,
  'GET insight_variables/': read,
  'POST insight_variables/': {
    status: 201,
    body: { name: 'Plan', type: 'String' },
    bad: [{ name: 'Plan', type: 'Colour' }, 'type'],
  },
  'GET insight_variables/:id/': read,
  'PATCH insight_variables/:id/': {
    status: 200,
    body: { default_value: 'pro' },
    bad: [{ values: 'pro' }, 'values'],
  },
  'DELETE insight_variables/:id/': gone,
  'GET insights/': read,
  'GET insights/activity/': read,
  'POST insights/cancel/': {
    status: 201,
    body: { client_query_id: 'x' },
    bad: [{}, 'client_query_id'],
  },
  'POST insights/': { status: 201, body: { name: 'two' }, bad: [{ name: 1 }, 'name'] },
  'GET insights/:id/': read,
  'PATCH insights/:id/': { status: 200, body: { name: 'x' }, bad: [{ tags: 'a' }, 'tags'] },
  'GET insights/:id/activity/': read,
  'GET insights/trend/?events=[{"id":"a"}]': read,
  'POST insights/trend/': asked,
  'GET insights/funnel/?events=[{"id":"a"},{"id":"b"}]': read,
  'POST insights/funnel/': asked,
  // A funnel without steps.
  'GET insights/funnel/correlation/': { status: 400 },
  'POST insights/funnel/correlation/': {
    status: 200,
    body: { events: [{ id: 'a' }, { id: 'b' }] },
    bad: [{ events: 1 }, 'events'],
  },
  'GET insights/retention/': read,
  'POST insights/retention/': { status: 200, body: {}, bad: [{ properties: 'all' }, 'properties'] },
  'GET insights/path/': read,
  'POST insights/path/': { status: 200, body: {}, bad: [{ step_limit: 'x' }, 'step_limit'] },
  'GET insights/my_last_viewed/': read,
  'GET insights/trending/': read,
  'POST insights/viewed/': {
    status: 404,
    body: { insight_ids: [999_999] },
    bad: [{ insight_ids: [] }, 'insight_ids'],
  },
  'POST insights/:id/viewed/': { status: 201 },
  'GET dashboards/': read,
  'GET dashboards/activity/': read,
  'POST dashboards/': { status: 201, body: { name: 'two' }, bad: [{ pinned: 1 }, 'pinned'] },
  'GET dashboards/:id/': read,
  'GET dashboards/:id/run_insights/': read,
  'GET dashboards/:id/sharing/': read,
  'PATCH dashboards/:id/sharing/': {
    status: 200,
    body: { enabled: true },
    bad: [{ enabled: 'perhaps' }, 'enabled'],
  },
  'POST dashboards/:id/sharing/refresh/': { status: 200 },
  'PATCH dashboards/:id/': { status: 200, body: { name: 'x' }, bad: [{ tiles: 1 }, 'tiles'] },
  'POST dashboards/create_from_template_json/': {
    status: 200,
    body: { template: { tiles: [{ type: 'TEXT', body: 'a' }] } },
    bad: [{}, 'template'],
  },
  // Tiles are moved in insights-and-dashboards.test.ts; a new dashboard has none.
  'PATCH dashboards/:id/move_tile/': {
    status: 400,
    body: { tile: { id: 999_999 }, toDashboard: 1 },
    bad: [{ tile: 1 }, 'tile'],
  },
  'POST dashboards/:id/reorder_tiles/': {
    status: 400,
    body: { tile_order: [999_999] },
    bad: [{ tile_order: 'all' }, 'tile_order'],
  },
  'GET dashboards/:id/activity/': read,
  'GET feature_flags/local_evaluation/': read,
  'GET feature_flags/:id/remote_config/': read,
  'GET feature_flags/my_flags/': read,
  'GET feature_flags/evaluation_reasons/?distinct_id=a': read,
  'POST feature_flags/user_blast_radius/': {
    status: 200,
    body: { condition: { properties: [] } },
    bad: [{}, 'condition'],
  },
  'POST feature_flags/:id/create_static_cohort_for_flag/': { status: 201 },
  'POST feature_flags/:id/dashboard/': { status: 200 },
  'POST feature_flags/:id/enrich_usage_dashboard/': { status: 400 },
  'POST feature_flags/:id/enable/': { status: 200 },
  'POST feature_flags/:id/disable/': { status: 200 },
  'POST feature_flags/:id/archive/': { status: 200 },
  'POST feature_flags/:id/unarchive/': { status: 200 },
  'POST feature_flags/:id/has_active_dependents/': { status: 200 },
  'POST feature_flags/:id/test_evaluation/': {
    status: 200,
    body: { distinct_id: 'a' },
    bad: [{ distinct_id: 1 }, 'distinct_id'],
  },
  'GET feature_flags/matching_ids/': read,
  'POST feature_flags/bulk_keys/': { status: 200, body: { ids: [1] }, bad: [{ ids: 1 }, 'ids'] },
  'POST feature_flags/bulk_delete/': { status: 200, body: { ids: [1] }, bad: [{}, 'ids'] },
  'POST feature_flags/bulk_update_tags/': {
    status: 200,
    body: { ids: [1], action: 'add', tags: ['a'] },
    bad: [{ ids: [1], action: 'spill', tags: [] }, 'action'],
  },
  'GET feature_flags/:id/status/': read,
  'GET feature_flags/:id/versions/:version/': { status: 404 },
  'GET feature_flags/:id/dependent_flags/': read,
  'GET feature_flags/activity/': read,
  'GET feature_flags/:id/activity/': read,
  'GET feature_flags/': read,
  'POST feature_flags/': { status: 201, body: { key: 'two' }, bad: [{ key: 'a b' }, 'key'] },
  'GET feature_flags/:id/': read,
  'PATCH feature_flags/:id/': { status: 200, body: { name: 'x' }, bad: [{ name: 1 }, 'name'] },
  'PUT feature_flags/:id/': { status: 200, body: { key: 'one' }, bad: [{}, 'key'] },
}

const LINES = Object.entries(withPutCases(CASES)).map(([name, one]) => {
  const [method = '', path = ''] = name.split(' ')
  return { name, method, path, ...one }
})

/** What to make for each family before one of its things is asked for. */
const FIRST: Readonly<Record<string, object>> = {
  actions: { name: 'one', steps: [{ event: 'paid' }] },
  cohorts: { name: 'one', is_static: true },
  early_access_feature: { name: 'one', stage: 'draft' },
  experiments: {
    name: 'one',
    feature_flag_key: 'tried',
    // A query is asked for each day since.
    start_date: new Date(Date.now() - 3 * 86_400_000).toISOString(),
    metrics: [METRIC],
  },
  experiment_saved_metrics: { name: 'one', query: METRIC },
  web_experiments: { name: 'one', variants: { control: {}, test: {} } },
  experiment_holdouts: { name: 'one', filters: [{ properties: [], rollout_percentage: 5 }] },
  annotations: { content: 'one' },
  insight_variables: { name: 'one', type: 'Number' },
  insights: { name: 'one' },
  dashboards: { name: 'one' },
  surveys: { name: 'one', type: 'popover', questions: QUESTIONS },
  feature_flags: { key: 'one', filters: { groups: [{ rollout_percentage: 50 }] } },
}

let world: World
let root = ''

beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

/** A project of its own for each call, with one thing of the family in it. */
async function makeFirst(path: string): Promise<string> {
  const { body: project } = await manage(world, 'POST', '/api/projects/', { name: path })
  root = `/api/projects/${String(project['id'])}/`
  const family = path.split('/')[0] ?? ''
  const made = await manage(world, 'POST', `${root}${family}/`, FIRST[family])
  expect(made.status).toBe(201)
  return String(made.body['id'])
}

test('every route of these families has a line', () => {
  const named = new Set(LINES.map(({ method, path }) => `${method} ${path.split('?')[0] ?? ''}`))
  const routes = ROUTES.flatMap(({ method, paths }) =>
    paths
      .filter((path) => path.startsWith('/api/projects/') && FAMILY.test(path))
      .slice(0, 1)
      .map((path) => `${method} ${path.replace('/api/projects/:project_id/', '')}`),
  )
  expect(routes.toSorted()).toEqual([...named].toSorted())
})

test.each(LINES)('$name answers as it is described', async ({ method, path, status, body }) => {
  const id = await makeFirst(path)
  const answer = await manage(world, method, root + path.replace(':id', id), body)
  expect(answer.status).toBe(status)
})

const nested = LINES.filter(({ path }) => path.includes(':id'))

test.each(nested)('$name does not find what is missing', async ({ method, path, body }) => {
  await makeFirst(path)
  for (const id of ['999999', NOWHERE, '0', 'x', '1%27', '%00', '%ff']) {
    const answer = await manage(world, method, root + path.replace(':id', id), body)
    expect([id, answer.status]).toEqual([id, 404])
  }
})

const refusing = LINES.flatMap((line) => (line.bad === undefined ? [] : { ...line, bad: line.bad }))

test.each(refusing)('$name names the field that is wrong', async ({ method, path, bad }) => {
  const id = await makeFirst(path)
  const target = root + path.replace(':id', id)
  expect(await manage(world, method, target, bad[0])).toMatchObject({
    status: 400,
    body: { attr: bad[1] },
  })
  for (const strange of [[], 'text', 1]) {
    expect((await manage(world, method, target, strange)).status).toBe(400)
  }
})
