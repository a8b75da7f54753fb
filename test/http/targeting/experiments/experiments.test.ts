/** Experiments through the management API: their flag, their variants, who is held out, who has been shown what. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Json } from '../../../../src/projects/tables.ts'
import { experiments } from '../../../../src/targeting/tables.ts'
import { openWorld, type World } from '../../world.ts'
import { ask, capture, manage, putFlag } from '../flag-world.ts'

const EXPERIMENTS = '/api/projects/1/experiments/'
const HOLDOUTS = '/api/projects/1/experiment_holdouts/'

let world: World

beforeAll(async () => {
  world = await openWorld()
})

afterAll(() => world.close())

const create = (body: object) => manage(world, 'POST', EXPERIMENTS, body)
const valueOf = async (key: string, distinct_id: string) =>
  (
    (await ask(world, '/decide?v=3', { distinct_id })).body['featureFlags'] as Record<
      string,
      unknown
    >
  )[key]
const variants = [
  { key: 'control', rollout_percentage: 0 },
  { key: 'test', rollout_percentage: 100 },
]

describe('an experiment', () => {
  test('makes its flag as a draft, and begins with it', async () => {
    const made = await create({
      name: 'Checkout',
      feature_flag_key: 'checkout',
      parameters: { feature_flag_variants: variants },
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      feature_flag_key: 'checkout',
      feature_flag: { active: false, filters: { multivariate: { variants } } },
      start_date: null,
      archived: false,
      holdout: null,
    })
    expect(await valueOf('checkout', 'a')).toBeUndefined()
    const path = `${EXPERIMENTS}${String(made.body['id'])}/`
    const begun = await manage(world, 'PATCH', path, { start_date: '2026-01-01T00:00:00Z' })
    expect(begun.body).toMatchObject({ feature_flag: { active: true } })
    expect(await valueOf('checkout', 'a')).toBe('test')
    const flag_id = (made.body['feature_flag'] as { id: number }).id
    const flag = await manage(world, 'GET', `/api/projects/1/feature_flags/${flag_id}/`)
    expect(flag.body['experiment_set']).toEqual([made.body['id']])
    const changed = await manage(world, 'PATCH', path, {
      parameters: { feature_flag_variants: [{ key: 'control', rollout_percentage: 100 }] },
    })
    expect(changed).toMatchObject({ status: 400, body: { attr: 'parameters' } })
    const deleted = await manage(world, 'PATCH', `/api/projects/1/feature_flags/${flag_id}/`, {
      deleted: true,
    })
    expect(deleted.status).toBe(400)
    expect((await manage(world, 'DELETE', path)).status).toBe(405)
    expect((await manage(world, 'PATCH', path, { deleted: true })).body['deleted']).toBe(true)
  })

  test('takes the settings of its flag in the shape of the flag, as newer clients send them', async () => {
    const three = ['control', 'a', 'b'].map((key, index) => ({
      key,
      rollout_percentage: index === 0 ? 50 : 25,
    }))
    const groups = [{ properties: [], rollout_percentage: 40 }]
    const payloads = { a: '1' }
    const made = await create({
      name: 'Three',
      feature_flag_key: 'three',
      parameters: { minimum_detectable_effect: 5 },
      feature_flag: { filters: { multivariate: { variants: three }, groups, payloads } },
    })
    expect(made.body).toMatchObject({
      parameters: { minimum_detectable_effect: 5, feature_flag_variants: three },
      feature_flag: { filters: { multivariate: { variants: three }, groups, payloads } },
    })
    const path = `${EXPERIMENTS}${String(made.body['id'])}/`
    // Another hand changes the flag meanwhile; the settings that a change does not name stay.
    const { id } = made.body['feature_flag'] as { readonly id: number }
    const shifted = three.map((variant) => ({
      ...variant,
      rollout_percentage: variant.key === 'b' ? 100 : 0,
    }))
    await manage(world, 'PATCH', `/api/projects/1/feature_flags/${id}/`, {
      filters: { multivariate: { variants: shifted }, groups, payloads },
    })
    const wider = await manage(world, 'PATCH', path, {
      feature_flag: { filters: { groups: [{ rollout_percentage: 80 }] } },
    })
    expect(wider.body).toMatchObject({
      parameters: {
        minimum_detectable_effect: 5,
        rollout_percentage: 80,
        // As the flag has them now, so that a client which sends all back changes nothing.
        feature_flag_variants: shifted,
      },
      feature_flag: {
        filters: {
          multivariate: { variants: shifted },
          groups: [{ properties: [], rollout_percentage: 80 }],
          payloads,
        },
      },
    })
    // The flag of an answer, sent back, sets nothing.
    const echoed = { ...(wider.body['feature_flag'] as object), filters: { groups: [] } }
    const same = await manage(world, 'PATCH', path, { feature_flag: echoed })
    expect(same.body['feature_flag']).toEqual(wider.body['feature_flag'])
    const named = await manage(world, 'PATCH', path, { feature_flag: { key: 'three' } })
    expect(named.body['feature_flag']).toEqual(wider.body['feature_flag'])
    const steady = { feature_flag: { ensure_experience_continuity: true } }
    expect((await manage(world, 'PATCH', path, steady)).body).toMatchObject({
      parameters: { ensure_experience_continuity: true, feature_flag_variants: shifted },
      feature_flag: { ensure_experience_continuity: true },
    })
    const running_time_calculation = { minimum_detectable_effect: 7 }
    const newer = { excluded_variants: ['b'], running_time_calculation }
    expect((await manage(world, 'PATCH', path, newer)).body).toMatchObject({
      ...newer,
      parameters: { ...running_time_calculation, excluded_variants: ['b'] },
      feature_flag: { filters: { multivariate: { variants: shifted } } },
    })
    const time = { running_time_calculation: { recommended_sample_size: 100 } }
    const { body: replaced } = await manage(world, 'PATCH', path, time)
    expect(replaced).toMatchObject({ parameters: { excluded_variants: ['b'] } })
    expect(replaced['running_time_calculation']).toEqual(time.running_time_calculation)
    const { body: cleared } = await manage(world, 'PATCH', path, { running_time_calculation: null })
    expect(cleared['running_time_calculation']).toEqual({})
    expect(cleared['parameters']).not.toHaveProperty('minimum_detectable_effect')
    const wrong = await manage(world, 'PATCH', path, { excluded_variants: ['odd'] })
    expect(wrong.status).toBe(400)
    const taken = { name: 'Again', feature_flag_key: 'three', feature_flag: { filters: {} } }
    expect(await create(taken)).toMatchObject({ status: 400, body: { attr: 'feature_flag' } })
    for (const feature_flag of [
      { filters: { groups: [{ properties: [{ key: 'a', value: 'b', type: 'person' }] }] } },
      { filters: { groups: [{ rollout_percentage: 40, variant: 'a' }] } },
      { filters: { early_exit: true } },
      { ensure_experience_continuity: 'yes' },
      { filters: {}, name: 'x' },
    ]) {
      expect(await manage(world, 'PATCH', path, { feature_flag })).toMatchObject({
        status: 400,
        body: { code: 'invalid_input', attr: 'feature_flag' },
      })
    }
    const words = { filters: { groups: [{ rollout_percentage: 'half' }] } }
    expect((await manage(world, 'PATCH', path, { feature_flag: words })).status).toBe(400)
    // Names that every object has are no settings.
    const inherited = JSON.parse('{"__proto__":null,"toString":null}')
    const odd = await manage(world, 'PATCH', path, { feature_flag: { filters: inherited } })
    expect(odd.status).toBe(200)
    expect(odd.body['parameters']).not.toHaveProperty('0')
    await manage(world, 'PATCH', path, { start_date: '2026-01-01T00:00:00Z' })
    const late = { feature_flag: { filters: { groups: [{ rollout_percentage: 90 }] } } }
    expect((await manage(world, 'PATCH', path, late)).status).toBe(400)
    const moved = { ...late, update_feature_flag_params: true }
    expect((await manage(world, 'PATCH', path, moved)).body).toMatchObject({
      feature_flag: { filters: { groups: [{ rollout_percentage: 90 }] } },
    })
  })

  test('takes a change of the older names in its own answer, which has the newer ones too', async () => {
    const made = await create({
      name: 'Sent back',
      feature_flag_key: 'sent-back',
      parameters: {
        minimum_detectable_effect: 20,
        feature_flag_variants: ['control', 'a', 'b'].map((key, index) => ({
          key,
          rollout_percentage: index === 0 ? 34 : 33,
        })),
      },
    })
    const path = `${EXPERIMENTS}${String(made.body['id'])}/`
    const { body: shown } = await manage(world, 'GET', path)
    expect((await manage(world, 'PUT', path, shown)).body).toEqual({
      ...shown,
      updated_at: expect.any(String),
    })
    const parameters = {
      ...(shown['parameters'] as object),
      minimum_detectable_effect: 30,
      excluded_variants: ['b'],
    }
    const metric = { kind: 'ExperimentMetric', metric_type: 'mean', uuid: crypto.randomUUID() }
    const secondary_metrics = [{ ...metric, source: { kind: 'EventsNode', event: 'paid' } }]
    const sent = { ...shown, parameters, secondary_metrics }
    expect((await manage(world, 'PUT', path, sent)).body).toMatchObject({
      parameters,
      running_time_calculation: { minimum_detectable_effect: 30 },
      excluded_variants: ['b'],
      secondary_metrics,
      metrics_secondary: secondary_metrics,
    })
  })

  test('stands on a flag that is there only when there is something to compare', async () => {
    putFlag(world, { key: 'plain' })
    expect(await create({ name: 'a', feature_flag_key: 'plain' })).toMatchObject({
      status: 400,
      body: { attr: 'feature_flag_key' },
    })
    const multivariate = { variants }
    putFlag(world, { key: 'fit', filters: { groups: [{}], multivariate } })
    expect((await create({ name: 'a', feature_flag_key: 'fit' })).status).toBe(201)
    // Two experiments may look at the same flag.
    expect((await create({ name: 'b', feature_flag_key: 'fit' })).status).toBe(201)
    expect(await create({ name: 'c', feature_flag_key: 'c', holdout_id: 99 })).toMatchObject({
      status: 400,
      body: { attr: 'holdout_id', code: 'does_not_exist' },
    })
    expect(
      await create({
        name: 'd',
        feature_flag_key: 'd',
        parameters: { feature_flag_variants: [{ key: 'x', rollout_percentage: 100 }] },
      }),
    ).toMatchObject({ status: 400, body: { attr: 'parameters' } })
  })

  test('leaves out who is held out, and follows its holdout', async () => {
    const filters = [{ properties: [], rollout_percentage: 100 }]
    const holdout = await manage(world, 'POST', HOLDOUTS, { name: 'Nobody', filters })
    expect(holdout.status).toBe(201)
    const id = Number(holdout.body['id'])
    expect(holdout.body['filters']).toEqual([{ ...filters[0], variant: `holdout-${id}` }])
    const { body } = await create({
      name: 'Held',
      feature_flag_key: 'held',
      parameters: { feature_flag_variants: variants },
      holdout_id: id,
      start_date: '2026-01-01T00:00:00Z',
    })
    expect(body['holdout']).toMatchObject({ name: 'Nobody' })
    expect(await valueOf('held', 'a')).toBe(`holdout-${id}`)
    await manage(world, 'PATCH', `${HOLDOUTS}${id}/`, {
      filters: [{ properties: [], rollout_percentage: 0 }],
    })
    expect(await valueOf('held', 'a')).toBe('test')
    await manage(world, 'PATCH', `${HOLDOUTS}${id}/`, { filters })
    expect(await valueOf('held', 'a')).toBe(`holdout-${id}`)
    expect((await manage(world, 'DELETE', `${HOLDOUTS}${id}/`)).status).toBe(204)
    expect(await valueOf('held', 'a')).toBe('test')
    const refused = await manage(world, 'POST', HOLDOUTS, { name: 'x', filters: [{}] })
    expect(refused).toMatchObject({ status: 400, body: { attr: 'filters' } })
  })

  test('leaves the holdout of its flag as it is while another runs on the flag', async () => {
    const filters = [{ properties: [], rollout_percentage: 100 }]
    const holdout = await manage(world, 'POST', HOLDOUTS, { name: 'All', filters })
    const id = Number(holdout.body['id'])
    const running = await create({
      name: 'Running',
      feature_flag_key: 'shared',
      parameters: { feature_flag_variants: variants },
      holdout_id: id,
      start_date: '2026-01-01T00:00:00Z',
    })
    const second = { name: 'Second', feature_flag_key: 'shared' }
    expect(await create({ ...second, holdout_id: null })).toMatchObject({
      status: 400,
      body: { attr: 'holdout_id' },
    })
    expect((await create({ ...second, holdout_id: id })).status).toBe(201)
    expect((await create(second)).status).toBe(201)
    expect(await valueOf('shared', 'a')).toBe(`holdout-${id}`)
    await manage(world, 'POST', `${EXPERIMENTS}${String(running.body['id'])}/end/`)
    expect((await create({ ...second, holdout_id: null })).status).toBe(201)
    expect(await valueOf('shared', 'a')).toBe('test')
  })

  test('counts the people who have been shown each variant', async () => {
    const { body } = await create({
      name: 'Shown',
      feature_flag_key: 'shown',
      start_date: new Date(Date.now() - 3_600_000).toISOString(),
    })
    const called = (distinct_id: string, variant: string) => ({
      event: '$feature_flag_called',
      distinct_id,
      properties: { $feature_flag: 'shown', $feature_flag_response: variant },
    })
    await capture(
      world,
      called('a', 'control'),
      called('b', 'test'),
      called('b', 'test'),
      called('c', 'test'),
      called('d', 'test'),
      called('d', 'control'),
    )
    const path = `${EXPERIMENTS}${String(body['id'])}/exposures/`
    const exposures = await manage(world, 'GET', path)
    expect(exposures.body['total_exposures']).toEqual({ $multiple: 1, control: 1, test: 2 })
    const draft = await create({ name: 'Draft', feature_flag_key: 'draft' })
    const none = await manage(world, 'GET', `${EXPERIMENTS}${String(draft.body['id'])}/exposures/`)
    expect(none.status).toBe(400)
  })

  test('on the page itself is told to pages', async () => {
    const page = { control: { transforms: [] }, test: { transforms: [{ selector: 'h1' }] } }
    await create({ name: 'Headline', feature_flag_key: 'headline', type: 'web', variants: page })
    const answer = await world.send(`/api/web_experiments/?token=${world.first.api_token}`)
    expect(await answer.json()).toMatchObject({
      experiments: [{ name: 'Headline', feature_flag_key: 'headline', variants: page }],
    })
  })

  test('on the page itself is made of what it changes, with a flag of its own', async () => {
    const WEB = '/api/projects/1/web_experiments/'
    const change = (text: string) => ({ transforms: [{ selector: 'h1', text }] })
    const pages = { test: change('b'), control: change('a'), other: change('c') }
    const made = await manage(world, 'POST', WEB, { name: 'Big Head', variants: pages })
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'Big Head', feature_flag_key: 'big-head-web-experiment', variants: pages },
    })
    const path = `${WEB}${String(made.body['id'])}/`
    expect((await manage(world, 'GET', path)).body).toEqual(made.body)
    const sharesOf = async () => {
      const { body } = await manage(world, 'GET', `${EXPERIMENTS}${String(made.body['id'])}/`)
      const { filters } = body['feature_flag'] as { filters: { multivariate: unknown } }
      return [body['type'], filters.multivariate]
    }
    const shares = (...all: readonly (readonly [string, number])[]) => ({
      variants: all.map(([key, rollout_percentage]) => ({ key, rollout_percentage })),
    })
    expect(await sharesOf()).toEqual(['web', shares(['control', 34], ['test', 33], ['other', 33])])
    const uneven = {
      control: { ...change('a'), rollout_percentage: 10 },
      test: { ...change('b'), rollout_percentage: 90 },
    }
    const changed = await manage(world, 'PATCH', path, { name: 'Small Head', variants: uneven })
    expect(changed.body).toMatchObject({ name: 'Small Head', variants: uneven })
    expect(await sharesOf()).toEqual(['web', shares(['control', 10], ['test', 90])])
    const listed = await manage(world, 'GET', WEB)
    expect(listed.body['results']).toContainEqual(changed.body)
    const told = await world.send(`/api/web_experiments/?token=${world.first.api_token}`)
    expect(JSON.parse(await told.text()).experiments).toContainEqual({
      id: made.body['id'],
      name: 'Small Head',
      feature_flag_key: 'big-head-web-experiment',
      variants: uneven,
    })
    const without = await manage(world, 'POST', WEB, { name: 'x', variants: { test: {} } })
    expect([without.status, without.body['attr']]).toEqual([400, 'variants'])
    const product = await create({ name: 'No page', feature_flag_key: 'no-page' })
    const none = await manage(world, 'GET', `${WEB}${String(product.body['id'])}/`)
    expect(none.status).toBe(404)
  })

  test('has results by metric, with credible intervals and a verdict', async () => {
    const hour = 3_600_000
    const begun = Date.now() - 48 * hour
    const at = (hours: number) => new Date(begun + hours * hour).toISOString()
    const action = await manage(world, 'POST', '/api/projects/1/actions/', {
      name: 'Paid',
      steps: [{ event: 'paid' }],
    })
    const metric = (metric_type: string, rest: object) => ({
      kind: 'ExperimentMetric',
      metric_type,
      ...rest,
    })
    const paid = { kind: 'EventsNode', event: 'paid' }
    const { body } = await create({
      name: 'Result',
      feature_flag_key: 'tried-out',
      start_date: new Date(begun).toISOString(),
      metrics: [
        metric('funnel', {
          name: 'Buys',
          uuid: 'm-1',
          series: [{ kind: 'EventsNode', event: 'cart' }, paid],
        }),
        metric('mean', { name: 'Orders', source: { kind: 'ActionsNode', id: action.body['id'] } }),
        metric('mean', {
          name: 'Revenue',
          source: { ...paid, math: 'sum', math_property: 'price' },
        }),
        metric('ratio', {
          name: 'Price of an order',
          numerator: { ...paid, math: 'sum', math_property: 'price' },
          denominator: paid,
        }),
        metric('mean', {
          name: 'Dearest',
          source: { ...paid, math: 'max', math_property: 'price' },
        }),
      ],
      secondary_metrics: [
        { kind: 'ExperimentTrendsQuery', count_query: { series: [{ ...paid, math: 'dau' }] } },
      ],
    })
    // What could not be worked out is refused; of what was stored before that was so, results say why.
    const odd = [
      metric('sequence', { name: 'Odd' }),
      metric('ratio', { name: 'Half', numerator: paid }),
    ]
    for (const one of odd) {
      const refused = await create({ name: 'Odd', feature_flag_key: 'odd', metrics: [one] })
      expect(refused).toMatchObject({ status: 400, body: { attr: 'metrics__0' } })
    }
    world.needs.control
      .update(experiments)
      .set({ metrics: [...(body['metrics'] as Json[]), ...(odd as Json[])] })
      .where(eq(experiments.id, Number(body['id'])))
      .run()
    const send = (event: string, distinct_id: string, hours: number, properties: object = {}) => ({
      event,
      distinct_id,
      timestamp: at(hours),
      properties,
    })
    const shown = (distinct_id: string, variant: string) =>
      send('$feature_flag_called', distinct_id, 2, {
        $feature_flag: 'tried-out',
        $feature_flag_response: variant,
      })
    const buys = (distinct_id: string, price: number) => [
      send('cart', distinct_id, 3),
      send('paid', distinct_id, 4, { price }),
    ]
    const people = ['control', 'test'].flatMap((variant) =>
      Array.from({ length: 150 }, (_, number) => {
        const id = `${variant}-${number}`
        const is_buyer = number < (variant === 'control' ? 15 : 60)
        return [shown(id, variant), ...(is_buyer ? buys(id, variant === 'control' ? 10 : 20) : [])]
      }),
    )
    await capture(
      world,
      ...people.flat(),
      // Before the variant was shown: counts for nothing.
      send('cart', 'control-100', 0),
      send('paid', 'control-100', 1, { price: 1000 }),
      // In the wrong order: no step of a funnel, but an order.
      send('paid', 'control-101', 3, { price: 10 }),
      send('cart', 'control-101', 4),
      // Shown both, and nobody who was shown none.
      shown('both', 'control'),
      shown('both', 'test'),
      ...buys('both', 10),
      ...buys('nobody', 10),
    )
    const path = `${EXPERIMENTS}${String(body['id'])}/results/`
    const { status, body: results } = await manage(world, 'GET', path)
    expect(status).toBe(200)
    expect(results['exposures']).toEqual({ $multiple: 1, control: 150, test: 150 })
    expect(results['metrics']).toMatchObject([
      {
        name: 'Buys',
        uuid: 'm-1',
        model: 'funnel',
        baseline: 'control',
        leader: 'test',
        significant: true,
        significance_code: 'significant',
        variants: [
          {
            key: 'control',
            exposures: 150,
            success_count: 15,
            failure_count: 135,
            mean: 16 / 152,
            chance_to_beat_baseline: null,
            difference: null,
          },
          { key: 'test', exposures: 150, success_count: 60, failure_count: 90, mean: 61 / 152 },
        ],
      },
      {
        name: 'Orders',
        model: 'count',
        variants: [
          { key: 'control', count: 16, success_count: null, mean: 17 / 150 },
          { key: 'test', count: 60, mean: 61 / 150 },
        ],
      },
      {
        name: 'Revenue',
        model: 'sum',
        variants: [
          { key: 'control', count: 160 },
          { key: 'test', count: 1200, mean: 8 },
        ],
      },
      {
        name: 'Price of an order',
        model: 'ratio',
        leader: 'test',
        significance_code: 'significant',
        variants: [
          // Everybody who bought paid 10 an order: nothing is spread but who bought.
          { key: 'control', count: 160, denominator_count: 16, mean: 10 },
          { key: 'test', count: 1200, denominator_count: 60, mean: 20 },
        ],
      },
      { name: 'Dearest', model: 'mean', variants: [{ mean: 160 / 150 }, { mean: 8 }] },
      { name: 'Odd', error: 'Metrics of type "sequence" are not supported.' },
      { name: 'Half', error: 'A metric needs the events that it counts.' },
    ])
    expect(results['secondary_metrics']).toMatchObject([
      { model: 'funnel', variants: [{ count: 16 }, { count: 60 }] },
    ])
    expect(results['method']).toMatchObject({ name: 'bayesian', library: 'jstat' })
    const draft = await create({ name: 'No results', feature_flag_key: 'no-results' })
    const none = await manage(world, 'GET', `${EXPERIMENTS}${String(draft.body['id'])}/results/`)
    expect(none).toMatchObject({ status: 400, body: { attr: 'start_date' } })
  })

  test('has results in the oldest shape too, and says when they are too few', async () => {
    const { body } = await create({
      name: 'Oldest',
      feature_flag_key: 'oldest',
      start_date: new Date(Date.now() - 3_600_000).toISOString(),
      filters: { insight: 'FUNNELS', events: [{ id: 'paid', order: 0, properties: [] }] },
    })
    const path = `${EXPERIMENTS}${String(body['id'])}/results/`
    expect((await manage(world, 'GET', path)).body['metrics']).toMatchObject([
      { model: 'funnel', significance_code: 'not_enough_exposure', variants: [{}, {}] },
    ])
  })
})
