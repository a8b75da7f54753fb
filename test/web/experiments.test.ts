/** Experiments: made with their flag, measured, launched, ended and shipped in the browser. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ComparedVariant, MetricAnswer } from '../../src/web/api/types/metric-answer.ts'
import type { ShownExperiment } from '../../src/web/api/types/shown-experiment.ts'
import {
  changesOf,
  draftOf,
  flagKeyOf,
  NEW_EXPERIMENT,
  newBodyOf,
  readDraft,
} from '../../src/web/pages/experiments/experiment-draft.ts'
import { callsHref, exploreHref } from '../../src/web/pages/experiments/explore-links.ts'
import {
  isWhole,
  type MetricMembers,
  metricTitle,
  readMetric,
  withKind,
} from '../../src/web/pages/experiments/metric.ts'
import { listMetrics } from '../../src/web/pages/experiments/metric-order.ts'
import {
  chanceText,
  changeText,
  levelText,
  pValueText,
  resultWord,
  statusText,
  valueText,
  verdictOf,
} from '../../src/web/pages/experiments/result-text.ts'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { limitTests } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  expectOpen,
  expectSoon,
  type Interface,
  openInterface,
  SCREENS,
  schemesOf,
} from './interface.ts'

limitTests(120_000)

const DAY_MS = 86_400_000

const node = (event: string, more: object = {}) => ({ kind: 'EventsNode', event, ...more })
const metricOf = (members: object): MetricMembers => ({ kind: 'ExperimentMetric', ...members })
const CREATED = metricOf({ metric_type: 'mean', source: node('created'), uuid: 'a' })
const PAID = metricOf({ metric_type: 'funnel', series: [node('created'), node('paid')], uuid: 'b' })

const stored = (more: Partial<ShownExperiment> = {}): ShownExperiment => ({
  id: 7,
  name: 'Editor',
  description: null,
  status: 'running',
  start_date: '2026-11-01T00:00:00Z',
  end_date: null,
  feature_flag_key: 'editor',
  feature_flag: null,
  metrics: [
    { ...CREATED, fingerprint: 'f' },
    { ...PAID, odd: null },
  ],
  metrics_secondary: [],
  filters: {},
  saved_metrics: [],
  saved_metrics_ids: [],
  primary_metrics_ordered_uuids: ['b', 'a'],
  secondary_metrics_ordered_uuids: null,
  stats_config: null,
  exposure_criteria: null,
  conclusion: null,
  conclusion_comment: null,
  archived: false,
  created_at: '2026-11-01T00:00:00Z',
  updated_at: '2026-11-01T00:00:00Z',
  ...more,
})

describe('the draft of an experiment', () => {
  test('stores only what it changes, with the members that the page does not know', () => {
    const odd = stored({
      metrics: [null, 'text', { kind: 'ExperimentTrendsQuery', count_query: {} }, PAID],
      stats_config: { version: 2, cuped: { enabled: true } },
      saved_metrics_ids: [{ id: 3, metadata: null }],
    })
    expect(changesOf(draftOf(odd), odd)).toEqual({})
    expect(changesOf({ ...draftOf(odd), method: 'frequentist' }, odd)).toEqual({
      stats_config: { version: 2, cuped: { enabled: true }, method: 'frequentist' },
    })
    const experiment = stored()
    const draft = draftOf(experiment)
    expect(
      changesOf({ ...draft, name: ' Other ', metrics: draft.metrics.slice(1) }, experiment),
    ).toEqual({ name: 'Other', metrics: [{ ...PAID, odd: null }] })
  })
  test('makes an experiment with a flag of its own, or on one that exists', () => {
    const draft = { ...NEW_EXPERIMENT, name: 'Új gomb: 2.', metrics: [PAID] }
    expect(flagKeyOf(draft)).toBe('uj-gomb-2')
    expect(flagKeyOf({ ...draft, name: 'Ｎew 🚀 日本' })).toBe('new')
    const variant = (key: string) => ({ key, rollout_percentage: 50 })
    expect(newBodyOf(draft)).toEqual({
      name: 'Új gomb: 2.',
      description: '',
      feature_flag_key: 'uj-gomb-2',
      feature_flag: {
        filters: {
          multivariate: { variants: [variant('control'), variant('test')] },
          payloads: {},
        },
      },
      metrics: [PAID],
      metrics_secondary: [],
    })
    const on_existing = { ...draft, is_new_flag: false, flag_key: 'old' }
    expect(newBodyOf(on_existing)).toMatchObject({ feature_flag_key: 'old' })
    expect(newBodyOf(on_existing)).not.toHaveProperty('feature_flag')
  })
  test('comes back from an address, and from nothing else', () => {
    const draft = draftOf(stored())
    expect(readDraft(JSON.parse(JSON.stringify(draft)))).toEqual(draft)
    for (const odd of [null, 1, [], {}, { name: 1, metrics: [] }, { name: '', metrics: {} }])
      expect(readDraft(odd)).toBeNull()
  })
  test('has its metrics in the stored order, shared ones among them', () => {
    const query = { ...CREATED, uuid: 'c' }
    const experiment = stored({
      saved_metrics: [{ saved_metric: 3, name: 'Shared', query, metadata: null }],
      saved_metrics_ids: [{ id: 3, metadata: null }],
      primary_metrics_ordered_uuids: ['b', 'c', 'a'],
    })
    const listed = listMetrics(experiment, draftOf(experiment), 'metrics')
    expect(listed.map(({ at, link }) => [at, link])).toEqual([
      [1, null],
      [null, 3],
      [0, null],
    ])
    expect(listMetrics(experiment, { ...draftOf(experiment), shared: [] }, 'metrics')).toHaveLength(
      2,
    )
    const filters = { insight: 'FUNNELS', events: [{ id: 'paid' }] }
    const old = stored({ metrics: [], filters })
    expect(listMetrics(old, draftOf(old), 'metrics')).toMatchObject([{ at: null, link: null }])
  })
})

describe('a metric', () => {
  test('is put into words', () => {
    for (const [metric, title] of [
      [CREATED, 'created per person'],
      [PAID, 'created → paid'],
      [{ ...PAID, name: 'Paid' }, 'Paid'],
      [
        metricOf({
          metric_type: 'ratio',
          numerator: node('paid', { math: 'sum', math_property: 'price' }),
          denominator: { kind: 'ActionsNode', id: 3 },
        }),
        'Sum of price of paid per Action 3',
      ],
      [{ kind: 'ExperimentTrendsQuery' }, 'A metric of an older form'],
      [null, 'A metric of an older form'],
    ] as const) {
      expect(metricTitle(metric)).toBe(title)
    }
  })
  test('of another form is not edited', () => {
    for (const odd of [
      null,
      { kind: 'ExperimentTrendsQuery' },
      metricOf({ metric_type: 'retention' }),
      metricOf({ metric_type: 'funnel', series: {} }),
      metricOf({ metric_type: 'funnel', series: [{ kind: 'DataWarehouseNode' }] }),
      metricOf({ metric_type: 'mean', source: node('a', { math: 'p90' }) }),
      metricOf({ metric_type: 'mean', source: node('a', { properties: { type: 'AND' } }) }),
    ]) {
      expect(readMetric(odd)).toBeNull()
    }
  })
  test('keeps its events in another kind, and what the page does not know', () => {
    const edited = readMetric(PAID)
    if (edited === null) throw new Error('not editable')
    expect(withKind({ ...PAID, odd: 1 }, edited, 'ratio')).toEqual(
      metricOf({
        metric_type: 'ratio',
        numerator: node('created'),
        denominator: node('paid'),
        uuid: 'b',
        odd: 1,
      }),
    )
    expect(isWhole(metricOf({ metric_type: 'funnel', series: [] }))).toBe(false)
    expect(isWhole(metricOf({ metric_type: 'mean', source: node('a', { math: 'sum' }) }))).toBe(
      false,
    )
    expect(isWhole(PAID)).toBe(true)
  })
})

describe('a link to Explore', () => {
  test('has the days of the experiment in the time zone of the project', () => {
    const experiment = stored({
      start_date: '2026-11-01T02:00:00Z',
      end_date: '2026-11-03T23:30:00Z',
    })
    const rangeOf = (href: string): unknown =>
      JSON.parse(decodeURIComponent(href.slice('/explore#q='.length))).dateRange
    const american = { date_from: '2026-10-31', date_to: '2026-11-03' }
    expect(rangeOf(callsHref(experiment, 'America/New_York'))).toEqual(american)
    expect(rangeOf(exploreHref(experiment, PAID, 'America/New_York'))).toEqual(american)
    expect(rangeOf(callsHref(experiment, 'Europe/Budapest'))).toEqual({
      date_from: '2026-11-01',
      date_to: '2026-11-04',
    })
  })
})

describe('a result', () => {
  const method = {
    name: 'bayesian',
    test: null,
    difference: 'relative',
    variant_exposures_min: 50,
  } as const
  const baseline = { key: 'control', validation_failures: [] as readonly string[] }
  const compared = (more: Partial<ComparedVariant>): ComparedVariant => ({
    key: 'test',
    validation_failures: [],
    significant: null,
    ...more,
  })
  const answer = (variant: ComparedVariant): MetricAnswer => ({
    results: [],
    baseline,
    variant_results: [variant],
    method,
  })
  test('is put into words', () => {
    const higher = compared({ significant: true, credible_interval: [0.1, 0.3] })
    const lower = compared({ significant: true, confidence_interval: [-0.3, -0.1] })
    const likely = compared({ significant: true, credible_interval: [-0.06, 0.71] })
    const open = compared({ significant: false, credible_interval: [-0.1, 0.3] })
    const early = compared({ validation_failures: ['not-enough-exposures'] })
    const wordsOf = (variant: ComparedVariant, goal?: string) => {
      const { text, look } = verdictOf(variant, answer(variant), goal)
      return [text, look, resultWord(answer(variant), goal)]
    }
    expect(wordsOf(higher)).toEqual(['Significantly higher', 'good', 'Significantly higher'])
    expect(wordsOf(higher, 'decrease')).toEqual([
      'Significantly higher',
      'bad',
      'Significantly higher',
    ])
    expect(wordsOf(lower)).toEqual(['Significantly lower', 'bad', 'Significantly lower'])
    // A chance of 95.04% with 92 persons each: an interval of 95% that has no change in it is not significant.
    expect(wordsOf(likely)).toEqual(['Probably higher', 'open', 'Probably higher'])
    expect(wordsOf(open)).toEqual(['Not significant', 'open', 'Not significant'])
    expect(wordsOf(early)).toEqual(['Too early: fewer than 50 persons', 'open', 'Too early'])
    const of_baseline = {
      ...answer(compared({})),
      baseline: { key: 'control', validation_failures: ['baseline-mean-is-zero'] },
    }
    expect(verdictOf(compared({}), of_baseline, null).text).toBe('The baseline has no such events')
  })
  test('has numbers that are not rounded to a certainty', () => {
    expect([chanceText(0.99999), chanceText(0), chanceText(0.838), chanceText(null)]).toEqual([
      '> 99.9%',
      '< 0.1%',
      '83.8%',
      '–',
    ])
    expect(
      [0.95, 1 - 0.002, 1 - 0.1, 0.9999].map((credible_level) =>
        levelText({ ...method, credible_level }),
      ),
    ).toEqual(['95%', '99.8%', '90%', '99.99%'])
    expect([pValueText(0.0001), pValueText(0.15434)]).toEqual(['< 0.001', '0.154'])
    expect([
      changeText(0.123, 'relative'),
      changeText(-4.5, 'absolute'),
      changeText(0, 'relative'),
    ]).toEqual(['+12.3%', '−4.5', '0%'])
    const figures = { exposures: 92, count: 6, denominator_count: null, success_count: 6 }
    expect(valueText(figures as MetricAnswer['results'][number])).toBe('6.5%')
  })
  test('says how long the experiment has run', () => {
    const now = new Date('2026-11-13T12:00:00Z')
    expect(statusText(stored(), now)).toBe('Running, 12 days')
    expect(statusText(stored({ status: 'draft', start_date: null }), now)).toBe('Draft')
    const ended = stored({ status: 'stopped', end_date: '2026-11-02T00:00:00Z' })
    expect(statusText(ended, now)).toBe('Ended after 1 day')
  })
})

describe.skipIf(!HAS_BROWSER)('an experiment', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 0 })
    await sendEvents()
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  /** Sixty persons of each variant; those with the new checkout pay more often. */
  const sendEvents = async (): Promise<void> => {
    const timestamp = new Date(Date.now() - DAY_MS).toISOString()
    const batch = Array.from({ length: 120 }, (_, at) => {
      const $feature_flag_response = at % 2 === 0 ? 'control' : 'test'
      const called = { $feature_flag: 'checkout', $feature_flag_response }
      const paid = at % 2 === 0 ? at % 3 : at % 5
      return [
        { event: '$feature_flag_called', properties: called },
        ...Array.from({ length: paid }, () => ({ event: 'paid', properties: {} })),
      ].map((event) => ({ ...event, timestamp, distinct_id: `person ${at}` }))
    }).flat()
    const answer = await fetch(`${ui.server.url}/batch/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: ui.token, batch }),
    })
    expect(answer.status).toBe(200)
  }

  const find = async (name: string): Promise<ShownExperiment | undefined> => {
    const path = `/api/projects/${ui.project}/experiments/?search=${encodeURIComponent(name)}`
    return ((await ui.api(path)) as { readonly results: readonly ShownExperiment[] }).results[0]
  }
  const make = async (body: object): Promise<ShownExperiment> =>
    (await ui.api(`/api/projects/${ui.project}/experiments/`, {
      method: 'POST',
      body: JSON.stringify(body),
    })) as ShownExperiment

  test('is made with a flag and a metric, launched, paused, ended, opened again, archived and deleted', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/web`)
    await page.locator('h1').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.getByText('No experiments yet').waitFor()
    await page.getByRole('link', { name: 'New experiment' }).click()
    await page.getByLabel('Name').fill('Shorter form')
    await page.getByLabel('Hypothesis').fill('More persons sign up')
    await page.getByRole('button', { name: 'Add a primary metric' }).click()
    await page.getByRole('button', { name: 'Step 1: Choose an event' }).click()
    await page.getByRole('option', { name: 'paid' }).click()
    await page.reload()
    await page.getByRole('heading', { level: 3, name: 'paid' }).waitFor()
    await page.getByRole('button', { name: 'Create experiment' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'Shorter form' }).waitFor()
    await page.getByText('Draft', { exact: true }).waitFor()
    expect(await ui.api(`/api/projects/${ui.project}/experiments/?search=Shorter`)).toMatchObject({
      results: [{ feature_flag_key: 'shorter-form', status: 'draft', metrics: { length: 1 } }],
    })
    await page.getByRole('button', { name: 'Launch' }).click()
    await page.getByText('Running, less than a day').waitFor()
    await page.getByText('Nobody yet.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Draft', { exact: true }).waitFor()
    expect((await find('Shorter'))?.feature_flag?.active).toBe(false)
    await page.getByRole('button', { name: 'Launch' }).click()
    const act = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: 'Actions of the experiment' }).click()
      await page.getByRole('menuitem', { name, exact: true }).click()
    }
    await act('Pause')
    await page.getByText('Paused, less than a day').waitFor()
    await act('Resume')
    await page.getByText('Running, less than a day').waitFor()
    await page.getByRole('button', { name: 'End', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Conclusion').selectOption('inconclusive')
    await dialog.getByLabel('Comment').fill('Nobody saw it')
    await dialog.getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('Ended after less than a day').waitFor()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByText('Running, less than a day').waitFor()
    await page.getByRole('button', { name: 'End', exact: true }).click()
    await dialog.getByLabel('From now on').selectOption('test')
    await dialog.getByLabel('Conclusion').selectOption('won')
    await dialog.getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('test is shipped').waitFor()
    await page.getByText('control 0%, test 100%').waitFor()
    await page.getByLabel('Comment').fill('They liked it')
    await page.keyboard.press('Tab')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expectSoon(async () => (await find('Shorter'))?.conclusion_comment, 'They liked it')
    await act('Archive')
    await page.getByText(', archived').waitFor()
    await act('Delete')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Experiment deleted').waitFor()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByText('Archived', { exact: true }).click()
    await page.getByRole('link', { name: 'Shorter form' }).waitFor()
    await page.getByText('Won').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('shows who was exposed, and the figures and verdicts of the server; a change is shown before it is saved', async () => {
    const metric = metricOf({ metric_type: 'mean', source: node('paid') })
    const { id } = await make({
      name: 'The new checkout',
      feature_flag_key: 'checkout',
      start_date: new Date(Date.now() - 2 * DAY_MS).toISOString(),
      metrics: [metric],
    })
    const query = { kind: 'ExperimentQuery', experiment_id: id, metric }
    const body = JSON.stringify({ query })
    const answer = (await ui.api(`/api/projects/${ui.project}/query/`, {
      method: 'POST',
      body,
    })) as MetricAnswer
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/experiments/${id}`)
    const row = page.getByRole('region', { name: /^Result of/ }).getByRole('row', { name: /^test/ })
    await row.waitFor()
    const [compared] = answer.variant_results
    if (compared === undefined) throw new Error('nothing compared')
    const text = await row.innerText()
    expect(text).toContain(verdictOf(compared, answer, null).text)
    expect(text).toContain(chanceText(compared.chance_to_win))
    for (const figures of answer.results)
      expect(await page.getByText(`${figures.exposures} persons`).count()).toBeGreaterThan(0)
    const exposed = page
      .getByRole('region', { name: 'Exposed persons' })
      .getByRole('row', { name: /^control/ })
    expect(await exposed.innerText()).toMatch(
      new RegExp(`^control\\s+${answer.results[0]?.exposures}\\s.*50%$`),
    )
    await page.getByText('Edit the metric').click()
    await page.getByLabel('Goal').selectOption('decrease')
    await page.getByRole('columnheader', { name: 'Chance to be higher' }).waitFor()
    await page.getByText('Changed', { exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('columnheader', { name: 'Chance to win' }).waitFor()
    await page.getByText('Statistics', { exact: true }).click()
    await page.getByLabel('Method').selectOption('frequentist')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('columnheader', { name: 'p-value' }).waitFor()
    expect(await find('The new checkout')).toMatchObject({
      stats_config: { method: 'frequentist' },
      metrics: [metric],
    })
    expect(visit.complaints).toEqual([])
  })

  test('is not undone over what others have changed; says which event counts, and that a flag which is off ships nothing', async () => {
    const exposure_config = { kind: 'ExperimentEventExposureConfig', event: 'paid', properties: [] }
    const { id } = await make({
      name: 'Changed by others',
      feature_flag_key: 'changed-by-others',
      exposure_criteria: { exposure_config },
    })
    const at = `/api/projects/${ui.project}/experiments/${id}/`
    const read = async () => (await ui.api(at)) as ShownExperiment
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/experiments/${id}`)
    await page.getByRole('button', { name: 'Launch' }).click()
    await page.getByText('the first event “paid”').waitFor()
    await ui.api(at, { method: 'PATCH', body: JSON.stringify({ description: 'Of another' }) })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('changed in the meantime').waitFor()
    expect(await read()).toMatchObject({ status: 'running', description: 'Of another' })
    await page.getByRole('button', { name: 'End', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Conclusion').selectOption('lost')
    await dialog.getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('Ended after').waitFor()
    const conclusion = JSON.stringify({ conclusion: 'invalid' })
    await ui.api(at, { method: 'PATCH', body: conclusion })
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByText('changed in the meantime').last().waitFor()
    await page
      .getByLabel('Conclusion')
      .locator('option:checked', { hasText: 'Invalid' })
      .waitFor({ state: 'attached' })
    expect(await read()).toMatchObject({ status: 'stopped', conclusion: 'invalid' })
    await ui.api(`/api/projects/${ui.project}/feature_flags/${(await read()).feature_flag?.id}/`, {
      method: 'PATCH',
      body: JSON.stringify({ active: false }),
    })
    await page.reload()
    await page.getByRole('button', { name: 'Actions of the experiment' }).click()
    await page.getByRole('menuitem', { name: 'Ship a variant…' }).click()
    await dialog.getByText('The flag is off').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('of a member who may not make flags is on one that exists', async () => {
    await make({ name: 'Of others', feature_flag_key: 'of-others' })
    const access = { resource: 'feature_flag', access_level: 'viewer' }
    await ui.api(`/api/projects/${ui.project}/global_access_controls/`, {
      method: 'PUT',
      body: JSON.stringify(access),
    })
    const email = 'eva@example.com'
    const { link } = (await ui.api('/api/organizations/@current/invites/', {
      method: 'POST',
      body: JSON.stringify({ first_name: 'Eva' }),
    })) as { readonly link: string }
    await using visit = await ui.visit({ is_out: true })
    const { page, context } = visit
    const joined = await context.request.post(
      `${ui.server.url}/api/signup/${link.split('#').at(-1)}/`,
      {
        headers: { 'X-Tidemark': '1' },
        data: { first_name: 'Eva', email, password: 'makes no flags at all' },
      },
    )
    expect(joined.status()).toBe(201)
    const { user } = (await joined.json()) as { readonly user: { readonly uuid: string } }
    await page.goto(`/p/${ui.project}/experiments/new`)
    await page.getByLabel('Name').fill('Without a flag')
    await page.getByRole('button', { name: 'Create experiment' }).click()
    await page.getByText('may not be blank').waitFor()
    await page.getByRole('button', { name: 'Choose a flag' }).click()
    await page.getByRole('option', { name: 'of-others' }).click()
    await page.getByRole('button', { name: 'Create experiment' }).click()
    await page.getByRole('heading', { level: 1, name: 'Without a flag' }).waitFor()
    expect(await page.getByRole('button', { name: 'Launch' }).count()).toBe(0)
    await ui.api(`/api/organizations/@current/members/${user.uuid}/`, { method: 'DELETE' })
  })

  test.each(devicesOf(1))('is as wide as the window, and has no barrier: %s', async (device) => {
    const { id } = await make({
      name: `Wide on a ${device}`,
      feature_flag_key: 'checkout',
      start_date: new Date(Date.now() - 2 * DAY_MS).toISOString(),
      metrics: [
        metricOf({
          metric_type: 'funnel',
          series: [node('paid')],
        }),
      ],
    })
    await using visit = await ui.visit({ width: SCREENS[device][0] })
    const { page } = visit
    await page.goto(`/p/${ui.project}/experiments/${id}`)
    await page.getByText('Edit the metric').click()
    await page.getByText('Statistics', { exact: true }).click()
    await page.getByRole('row', { name: /^test/ }).first().waitFor()
    await expectFits(page)
    await expectOpen(page, schemesOf(2))
    await page.getByRole('button', { name: 'End', exact: true }).click()
    await page.getByRole('dialog').waitFor()
    await expectOpen(page, schemesOf(2))
    expect(visit.complaints).toEqual([])
  })
})
