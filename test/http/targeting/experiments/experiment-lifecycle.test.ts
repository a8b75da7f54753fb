/** What becomes of experiments: their turns, what is shipped, copies, cohorts, shared metrics, and lists of them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openWorld, type World } from '../../world.ts'
import { ask, capture, manage, putFlag } from '../flag-world.ts'

const ROOT = '/api/projects/1/'
const EXPERIMENTS = `${ROOT}experiments/`

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

type Body = Readonly<Record<string, unknown>>

const make = async (name: string, rest: object = {}): Promise<Body> => {
  const { status, body } = await manage(world, 'POST', EXPERIMENTS, {
    name,
    feature_flag_key: name,
    ...rest,
  })
  expect(status).toBe(201)
  return body
}
const pathOf = (body: Body, rest = ''): string => `${EXPERIMENTS}${String(body['id'])}/${rest}`
const turn = (body: Body, name: string, fields?: object) =>
  manage(world, 'POST', pathOf(body, `${name}/`), fields)
const valueOf = async (key: string, distinct_id: string) =>
  ((await ask(world, '/decide?v=3', { distinct_id })).body['featureFlags'] as Body)[key]
const begun = { start_date: '2024-01-01T00:00:00Z' }
const paid = { kind: 'EventsNode', event: 'paid' }
const mean = (rest: object = {}) => ({
  kind: 'ExperimentMetric',
  metric_type: 'mean',
  source: paid,
  ...rest,
})

describe('an experiment', () => {
  test('is begun, paused, gone on with, ended, put away, taken out and begun again', async () => {
    const made = await make('turns')
    expect(made['status']).toBe('draft')
    const refused = async (name: string, detail: string) =>
      expect(await turn(made, name)).toMatchObject({
        status: 400,
        body: { code: 'invalid_input', detail },
      })
    await refused('pause', 'Experiment has not been launched yet.')
    await refused('end', 'Experiment has not been launched yet.')
    await refused('reset', 'Experiment is already in draft state.')
    const launched = await turn(made, 'launch')
    expect(launched.body).toMatchObject({ status: 'running', feature_flag: { active: true } })
    expect(launched.body['start_date']).not.toBeNull()
    await refused('launch', 'Experiment has already been launched.')
    await refused('resume', 'Experiment is not paused.')
    await refused('archive', 'Experiment must be ended before it can be archived.')
    expect(await valueOf('turns', 'a')).toBeString()
    expect((await turn(made, 'pause')).body['status']).toBe('paused')
    expect(await valueOf('turns', 'a')).toBeUndefined()
    await refused('pause', 'Experiment is already paused.')
    expect((await turn(made, 'resume')).body['status']).toBe('running')
    const outcome = { conclusion: 'won', conclusion_comment: 'as hoped' }
    const ended = await turn(made, 'end', outcome)
    expect(ended.body).toMatchObject({ status: 'stopped', ...outcome })
    expect(await valueOf('turns', 'a')).toBeString()
    await refused('end', 'Experiment has already ended.')
    await refused('unarchive', 'Experiment is not archived.')
    expect((await turn(made, 'archive')).body['archived']).toBe(true)
    await refused('archive', 'Experiment is already archived.')
    expect((await turn(made, 'unarchive')).body['archived']).toBe(false)
    expect((await turn(made, 'reset')).body).toMatchObject({
      status: 'draft',
      start_date: null,
      end_date: null,
      conclusion: null,
      feature_flag: { active: true },
    })
    const log = await manage(world, 'GET', pathOf(made, 'activity/'))
    const fields = (log.body['results'] as { detail: { changes: { field: string }[] } }[]).map(
      ({ detail }) => detail.changes.map(({ field }) => field),
    )
    expect(fields).toContainEqual(['end_date', 'conclusion', 'conclusion_comment'])
    await manage(world, 'PATCH', pathOf(made), { deleted: true })
    expect((await manage(world, 'GET', pathOf(made))).status).toBe(404)
    expect((await turn(made, 'launch')).status).toBe(404)
    expect((await manage(world, 'PATCH', pathOf(made), { name: 'x' })).status).toBe(404)
    expect((await manage(world, 'PATCH', pathOf(made), { deleted: false })).status).toBe(200)
  })

  test('ships one variant to those it is for, or to everybody', async () => {
    const made = await make('shipped', { parameters: { rollout_percentage: 0 } })
    const ship = (fields: object) => turn(made, 'ship_variant', fields)
    expect((await ship({ variant_key: 'test' })).body['detail']).toBe(
      'Experiment has not been launched yet.',
    )
    await turn(made, 'launch')
    expect(await ship({ variant_key: 'odd' })).toMatchObject({
      status: 400,
      body: { attr: 'variant_key' },
    })
    const shipped = await ship({ variant_key: 'test', conclusion: 'won' })
    expect(shipped.body).toMatchObject({
      status: 'stopped',
      conclusion: 'won',
      feature_flag: {
        filters: {
          groups: [{ rollout_percentage: 0 }],
          multivariate: {
            variants: [
              { key: 'control', rollout_percentage: 0 },
              { key: 'test', rollout_percentage: 100 },
            ],
          },
        },
      },
    })
    expect(await valueOf('shipped', 'a')).toBeFalsy()
    const everybody = await ship({ variant_key: 'control', release_to_everyone: true })
    expect(everybody.body).toMatchObject({ conclusion: 'won', end_date: shipped.body['end_date'] })
    expect(await valueOf('shipped', 'a')).toBe('control')
  })

  test('on a flag of the oldest form keeps its one condition set', async () => {
    const properties = [{ key: 'plan', type: 'person', value: 'pro', operator: 'exact' }]
    const variants = ['control', 'test'].map((key) => ({ key, rollout_percentage: 50 }))
    const filters = { properties, rollout_percentage: 100, multivariate: { variants } }
    for (const release_to_everyone of [false, true]) {
      const key = `oldest-${release_to_everyone}`
      putFlag(world, { key, filters })
      const made = await make(key, { ...begun, parameters: { rollout_percentage: 40 } })
      const fields = { variant_key: 'test', release_to_everyone }
      const shipped = (await turn(made, 'ship_variant', fields)).body['feature_flag'] as Body
      const { groups } = shipped['filters'] as { readonly groups: readonly object[] }
      expect(groups).toHaveLength(release_to_everyone ? 2 : 1)
      expect(groups.at(-1)).toMatchObject({ properties })
    }
  })

  test('on a flag of the oldest form follows it, condition set included', async () => {
    const properties = [{ key: 'plan', type: 'person', value: 'pro', operator: 'exact' }]
    const variants = ['control', 'test'].map((key) => ({ key, rollout_percentage: 50 }))
    putFlag(world, {
      key: 'oldest-draft',
      filters: { properties, rollout_percentage: 100, multivariate: { variants } },
    })
    const made = await make('oldest-draft')
    await manage(world, 'PATCH', pathOf(made), { parameters: { rollout_percentage: 40 } })
    expect((await manage(world, 'GET', pathOf(made))).body).toMatchObject({
      feature_flag: { filters: { groups: [{ properties, rollout_percentage: 40 }] } },
    })
  })

  test('with the longest name gives its copies names that are no longer', async () => {
    const name = 'n'.repeat(400)
    const source = await make('longest', { name })
    expect((await turn(source, 'duplicate')).body['name']).toBe(`${'n'.repeat(393)} (Copy)`)
    const { body } = await turn(source, 'duplicate')
    expect(body['name']).toBe(`${'n'.repeat(391)} (Copy) 1`)
    const described = await manage(world, 'PATCH', pathOf(body), { name: body['name'] })
    expect(described.status).toBe(200)
  })

  test('once more is a draft with metrics of its own', async () => {
    const source = await make('source', {
      ...begun,
      metrics: [mean({ uuid: 'm-1', name: 'Paid' })],
      stats_config: { method: 'frequentist' },
      parameters: { minimum_detectable_effect: 10 },
    })
    const same = await turn(source, 'duplicate')
    expect(same).toMatchObject({
      status: 201,
      body: {
        name: 'source (Copy)',
        feature_flag_key: 'source',
        status: 'draft',
        stats_config: { method: 'frequentist' },
        parameters: { minimum_detectable_effect: 10 },
        metrics: [{ name: 'Paid', source: paid }],
      },
    })
    const [metric] = same.body['metrics'] as { uuid: string }[]
    expect(metric?.uuid).not.toBe('m-1')
    expect(same.body['primary_metrics_ordered_uuids']).toEqual([metric?.uuid])
    expect((await turn(source, 'duplicate')).body['name']).toBe('source (Copy) 1')
    // The flag is the running experiment's: a draft on it does not move it.
    const variants = ['control', 'test'].map((key) => ({ key, split_percent: 50 }))
    const moved = {
      feature_flag_variants: [...variants.slice(0, 1), { key: 'b', split_percent: 50 }],
    }
    expect(await manage(world, 'PATCH', pathOf(same.body), { parameters: moved })).toMatchObject({
      status: 400,
      body: { attr: 'parameters' },
    })
    const own = await turn(source, 'duplicate', { name: 'Own', feature_flag_key: 'own-flag' })
    expect(own.body).toMatchObject({ name: 'Own', feature_flag: { active: false } })
    const old = await make('older', {
      secondary_metrics: [{ kind: 'ExperimentTrendsQuery', count_query: { series: [paid] } }],
    })
    expect((await turn(old, 'duplicate')).status).toBe(400)
  })

  test('goes into another project of the organization, and into no other', async () => {
    const { body: there } = await manage(world, 'POST', '/api/projects/', { name: 'there' })
    const target_team_id = Number(there['id'])
    const source = await make('travels', { metrics: [mean()] })
    const copy = (fields: object) => turn(source, 'copy_to_project', fields)
    expect(await copy({ target_team_id })).toMatchObject({
      status: 201,
      body: { name: 'travels (Copy)', status: 'draft', feature_flag_key: 'travels' },
    })
    const listed = await manage(world, 'GET', `/api/projects/${target_team_id}/experiments/`)
    expect(listed.body['count']).toBe(1)
    expect(await copy({ target_team_id: 99_999 })).toMatchObject({
      status: 400,
      body: { code: 'does_not_exist', attr: 'target_team_id' },
    })
    const action = await manage(world, 'POST', `${ROOT}actions/`, { name: 'Here', steps: [] })
    const node = { kind: 'ActionsNode', id: action.body['id'] }
    const bound = await make('bound', { metrics: [mean({ source: node })] })
    expect(await turn(bound, 'copy_to_project', { target_team_id })).toMatchObject({
      status: 400,
      body: { code: 'does_not_exist' },
    })
    const missing = [mean({ source: { ...node, id: 99_999 } })]
    expect(await manage(world, 'PATCH', pathOf(bound), { metrics: missing })).toMatchObject({
      status: 400,
      body: { attr: 'metrics__0', code: 'does_not_exist' },
    })
  })

  test('has a cohort of those it reached', async () => {
    const made = await make('reached')
    expect((await turn(made, 'create_exposure_cohort_for_experiment')).status).toBe(400)
    await manage(world, 'PATCH', pathOf(made), begun)
    const { status, body } = await turn(made, 'create_exposure_cohort_for_experiment')
    expect(status).toBe(201)
    const cohort = body['cohort'] as Body
    expect(cohort).toMatchObject({
      name: 'Users exposed to experiment "reached"',
      is_static: false,
    })
    expect((await manage(world, 'GET', pathOf(made))).body['exposure_cohort']).toBe(cohort['id'])
    expect((await turn(made, 'create_exposure_cohort_for_experiment')).status).toBe(400)
  })

  test.each([
    [{ stats_config: { method: 'magic' } }, 'stats_config__method'],
    [{ stats_config: { frequentist: 1, method: 'frequentist' } }, 'stats_config__frequentist'],
    [{ metrics: [1] }, 'metrics__0'],
    [{ metrics: [mean({ upper_bound_percentile: 95 })] }, 'metrics__0'],
    [{ metrics: [mean(), mean({ threshold: 'x' })] }, 'metrics__1'],
    [{ metrics_secondary: [mean({ source: null })] }, 'metrics_secondary__0'],
    [{ metrics: Array.from({ length: 51 }, () => mean()) }, 'metrics'],
    [{ saved_metrics_ids: [{ id: 99_999 }] }, 'saved_metrics_ids'],
    [
      { saved_metrics_ids: [{ id: 1, metadata: { type: 'odd' } }] },
      'saved_metrics_ids__0__metadata__type',
    ],
    [{ stats_config: { baseline_variant_key: 'odd' } }, 'stats_config__baseline_variant_key'],
    [{ parameters: { excluded_variants: ['odd'] } }, 'parameters__excluded_variants'],
    [{ parameters: { excluded_variants: 'test' } }, 'parameters__excluded_variants'],
    [{ parameters: { excluded_variants: ['control'] } }, 'parameters__excluded_variants'],
    [{ parameters: { excluded_variants: ['test'] } }, 'parameters__excluded_variants'],
    [
      { parameters: { aggregation_group_type_index: 99 } },
      'parameters__aggregation_group_type_index',
    ],
    [{ parameters: { rollout_percentage: 'all' } }, 'parameters'],
    [{ feature_flag_key: 'a b' }, 'feature_flag_key'],
    [{ conclusion: 'great' }, 'conclusion'],
    [{ parameters: { feature_flag_variants: 'two' } }, 'parameters'],
    [{ parameters: { feature_flag_variants: [{ key: 'control' }, 1] } }, 'parameters'],
    [
      { parameters: { feature_flag_variants: [{ key: 'control', rollout_percentage: 100 }] } },
      'parameters',
    ],
    [{ start_date: '2024-02-01T00:00:00Z', end_date: '2024-01-01T00:00:00Z' }, 'end_date'],
  ])('says what is wrong with %j', async (fields, attr) => {
    const { status, body } = await manage(world, 'POST', EXPERIMENTS, {
      name: 'wrong',
      feature_flag_key: 'wrong',
      ...fields,
    })
    expect([status, body['attr']]).toEqual([400, attr])
  })
})

describe('a shared metric', () => {
  const SHARED = `${ROOT}experiment_saved_metrics/`

  test('is made once, and its results are those of every experiment that looks at it', async () => {
    const made = await manage(world, 'POST', SHARED, {
      name: 'Money',
      query: mean({ uuid: 'mine' }),
      tags: ['a'],
    })
    expect(made).toMatchObject({ status: 201, body: { name: 'Money', tags: ['a'] } })
    const id = Number(made.body['id'])
    const { uuid } = made.body['query'] as { uuid: string }
    expect(uuid).not.toBe('mine')
    const path = `${SHARED}${id}/`
    expect(await manage(world, 'POST', SHARED, { name: 'MONEY', query: mean() })).toMatchObject({
      status: 400,
      body: { code: 'unique', attr: 'name' },
    })
    for (const query of [{}, mean({ source: 1 }), { kind: 'TrendsQuery' }]) {
      const refused = await manage(world, 'PATCH', path, { query })
      expect([refused.status, refused.body['attr']]).toEqual([400, 'query'])
    }
    expect((await manage(world, 'PATCH', path, { query: mean({ uuid: 'other' }) })).status).toBe(
      400,
    )
    const one = await make('looks', {
      ...begun,
      metrics: [mean({ name: 'Own' })],
      saved_metrics_ids: [{ id, metadata: { type: 'primary' } }],
    })
    expect(one['saved_metrics']).toMatchObject([
      { experiment: one['id'], saved_metric: id, name: 'Money', metadata: { type: 'primary' } },
    ])
    const order = one['primary_metrics_ordered_uuids'] as string[]
    expect(order).toHaveLength(2)
    expect(order).toContain(uuid)
    const turned = await manage(world, 'PATCH', pathOf(one), {
      primary_metrics_ordered_uuids: order.toReversed(),
    })
    expect(turned.body['primary_metrics_ordered_uuids']).toEqual(order.toReversed())
    await capture(
      world,
      {
        event: '$feature_flag_called',
        distinct_id: 'm',
        properties: { $feature_flag: 'looks', $feature_flag_response: 'test' },
      },
      { event: 'paid', distinct_id: 'm' },
    )
    const namesOf = async () => {
      const { body } = await manage(world, 'GET', pathOf(one, 'results/'))
      return [body['metrics'], body['secondary_metrics']].map((list) =>
        (list as { name: string; variants: { count: number }[] }[]).map(({ name, variants }) => [
          name,
          variants.map(({ count }) => count),
        ]),
      )
    }
    const counts = [0, 1]
    expect(await namesOf()).toEqual([
      [
        ['Money', counts],
        ['Own', counts],
      ],
      [],
    ])
    const beside = [{ id, metadata: { type: 'secondary' } }]
    await manage(world, 'PATCH', pathOf(one), { saved_metrics_ids: beside })
    await manage(world, 'PATCH', path, {
      name: 'Cash',
      query: mean({ source: { ...paid, event: 'other' } }),
    })
    expect(await namesOf()).toEqual([[['Own', counts]], [['Cash', [0, 0]]]])
    expect((await manage(world, 'DELETE', path)).status).toBe(204)
    expect(await namesOf()).toEqual([[['Own', counts]], []])
    expect((await manage(world, 'GET', path)).status).toBe(404)
    const log = await manage(world, 'GET', `${SHARED}activity/`)
    expect((log.body['results'] as { activity: string }[]).map(({ activity }) => activity)).toEqual(
      ['deleted', 'updated', 'created'],
    )
  })

  test('belongs to its project', async () => {
    const { body: there } = await manage(world, 'POST', '/api/projects/', { name: 'elsewhere' })
    const other = `/api/projects/${String(there['id'])}/`
    const made = await manage(world, 'POST', `${other}experiment_saved_metrics/`, {
      name: 'Theirs',
      query: mean(),
    })
    const id = Number(made.body['id'])
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const fields = method === 'PATCH' ? { name: 'ours' } : undefined
      expect((await manage(world, method, `${SHARED}${id}/`, fields)).status).toBe(404)
    }
    const refused = await manage(world, 'POST', EXPERIMENTS, {
      name: 'thief',
      feature_flag_key: 'thief',
      saved_metrics_ids: [{ id }],
    })
    expect(refused).toMatchObject({ status: 400, body: { attr: 'saved_metrics_ids' } })
    const listed = await manage(world, 'GET', SHARED)
    expect(JSON.stringify(listed.body)).not.toContain('Theirs')
    // What was refused left nothing behind.
    const flags = await manage(world, 'GET', `${ROOT}feature_flags/?search=thief`)
    expect(flags.body['count']).toBe(0)
  })
})

describe('a list of experiments', () => {
  let root = ''
  const names = async (query: string) => {
    const { status, body } = await manage(world, 'GET', `${root}experiments/?${query}`)
    expect([query, status]).toEqual([query, 200])
    return (body['results'] as { name: string }[]).map(({ name }) => name)
  }

  beforeAll(async () => {
    const { body } = await manage(world, 'POST', '/api/projects/', { name: 'lists' })
    root = `/api/projects/${String(body['id'])}/`
    const put = async (name: string, rest: object, turns: readonly string[] = []) => {
      const fields = { name, feature_flag_key: name.toLowerCase(), ...rest }
      const made = await manage(world, 'POST', `${root}experiments/`, fields)
      expect(made.status).toBe(201)
      for (const one of turns) {
        await manage(world, 'POST', `${root}experiments/${String(made.body['id'])}/${one}/`)
      }
    }
    await put('Draft', { metrics: [mean()] })
    await put('Running', begun)
    await put('Paused', { start_date: '2024-02-01T00:00:00Z' }, ['pause'])
    await put('Stopped', { ...begun, end_date: '2024-01-02T00:00:00Z' })
    await put('Away', begun, ['end', 'archive'])
  })

  test.each([
    ['', ['Stopped', 'Paused', 'Running', 'Draft']],
    ['status=draft', ['Draft']],
    ['status=running', ['Running']],
    ['status=paused', ['Paused']],
    ['status=complete', ['Stopped']],
    ['status=all&archived=true', ['Away']],
    ['search=AUS', ['Paused']],
    ['event=paid', ['Draft']],
    ['event=constructor', []],
    ['created_by_id=999', []],
    ['order=name', ['Draft', 'Paused', 'Running', 'Stopped']],
    ['order=-start_date', ['Draft', 'Paused', 'Stopped', 'Running']],
    ['order=status', ['Draft', 'Paused', 'Running', 'Stopped']],
    ['order=duration', ['Stopped', 'Paused', 'Running', 'Draft']],
    ['order=created_at&limit=2', ['Draft', 'Running']],
  ])('by %j shows %j', async (query, wanted) => {
    expect(await names(query)).toEqual(wanted)
  })

  test.each([
    ['order=password', 'order'],
    ['order=constructor', 'order'],
    ['feature_flag_id=x', 'feature_flag_id'],
  ])('by %j names what is wrong', async (query, attr) => {
    const refused = await world.send(`${root}experiments/?${query}`, {
      headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
    })
    expect([refused.status, JSON.parse(await refused.text()).attr]).toEqual([400, attr])
  })

  test('counts what is tried out', async () => {
    const { body } = await manage(world, 'GET', `${root}experiments/stats/`)
    expect(body).toMatchObject({ active_experiments: 2 })
  })

  test('knows whether events say which variant was shown', async () => {
    const event = (name: string, properties: object) => ({
      event: name,
      distinct_id: 'i',
      properties,
    })
    await capture(world, event('told', { '$feature/a': 'test' }), event('mute', { plan: 'pro' }))
    const requires = async (query: string) => {
      const path = `${EXPERIMENTS}requires_flag_implementation/?${query}`
      return (await manage(world, 'GET', path)).body['result']
    }
    const entities = (name: string, id: unknown) =>
      `${name}=${encodeURIComponent(JSON.stringify([{ id }]))}`
    expect(await requires(entities('events', 'told'))).toBe(false)
    expect(await requires(entities('events', 'mute'))).toBe(true)
    const steps = [{ event: 'told' }]
    const { body } = await manage(world, 'POST', `${ROOT}actions/`, { name: 'Told', steps })
    expect(await requires(entities('actions', body['id']))).toBe(false)
    expect(await requires('')).toBe(true)
    const bad = `${EXPERIMENTS}requires_flag_implementation/?events=%7B`
    expect(await manage(world, 'GET', bad)).toMatchObject({
      status: 400,
      body: { attr: 'events' },
    })
  })

  test('names the flags that one can stand on', async () => {
    const variants = (keys: readonly string[]) => ({
      groups: [],
      multivariate: { variants: keys.map((key) => ({ key, rollout_percentage: 50 })) },
    })
    putFlag(world, { key: 'fit-b', filters: variants(['control', 'b']), active: false })
    putFlag(world, { key: 'fit-a', filters: variants(['control', 'a']) })
    putFlag(world, { key: 'fit-none', filters: variants(['a', 'control']) })
    putFlag(world, { key: 'fit-plain' })
    const keys = async (query: string) => {
      const path = `${EXPERIMENTS}eligible_feature_flags/?search=fit-${query}`
      const { body } = await manage(world, 'GET', path)
      return (body['results'] as { key: string }[]).map(({ key }) => key)
    }
    expect(await keys('&order=key')).toEqual(['fit-a', 'fit-b'])
    expect(await keys('&order=-key&limit=1')).toEqual(['fit-b'])
    expect(await keys('&active=true')).toEqual(['fit-a'])
    expect(await keys('&has_evaluation_contexts=true')).toEqual([])
  })
})

test.todo(
  'POST experiments/:id/recalculate_timeseries/ (nothing is kept between reads: each is worked out anew)',
)

test('shared metrics are shown in the form in which they are sent', async () => {
  const metric = await manage(world, 'POST', `${ROOT}experiment_saved_metrics/`, {
    name: 'Sent back',
    query: mean(),
  })
  const id = Number(metric.body['id'])
  const none = await make('without-shared')
  expect(none['saved_metrics_ids']).toEqual([])
  const links = [{ id, metadata: { type: 'secondary' } }]
  const made = await make('with-shared', { saved_metrics_ids: links })
  expect(made['saved_metrics_ids']).toEqual(links)
  const changed = await manage(world, 'PATCH', pathOf(made), {
    saved_metrics_ids: made['saved_metrics_ids'],
  })
  expect(changed.body).toMatchObject({
    saved_metrics_ids: links,
    saved_metrics: [{ name: 'Sent back' }],
  })
})
