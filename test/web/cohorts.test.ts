/** Cohorts: made by conditions on properties and events, or as a fixed list, changed and deleted in the browser. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ShownCohort } from '../../src/web/api/types/shown-cohort.ts'
import { doneCondition, doneText } from '../../src/web/pages/cohorts/behavior.ts'
import { bodyOf, draftOf, draftText, readDraft } from '../../src/web/pages/cohorts/cohort-draft.ts'
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

const PRO = { key: 'plan', type: 'person', operator: 'exact', value: ['pro'] }
const BUSY = doneCondition({ event: '$pageview', is_not: false, times: 3, days: 30 })
const IDLE = doneCondition({ event: 'signed up', is_not: true, times: 1, days: 7 })

const cohortOf = (properties: unknown): ShownCohort => ({
  id: 3,
  name: 'Payers',
  description: '',
  filters: properties === null ? null : { properties },
  is_static: properties === null,
  is_calculating: false,
  count: 1,
  errors_calculating: 0,
  last_calculation: null,
  created_at: '2026-11-01T00:00:00Z',
})

const all = (...values: readonly unknown[]) => ({ type: 'AND', values })
const any = (...values: readonly unknown[]) => ({ type: 'OR', values })

describe('the draft of a cohort', () => {
  test('is stored as the conditions were', () => {
    const properties = any(all(PRO, BUSY), all(IDLE))
    expect(bodyOf(draftOf(cohortOf(properties)))).toEqual({
      name: 'Payers',
      description: '',
      filters: { properties },
    })
  })
  test('has one set for each of what is joined by OR', () => {
    for (const [properties, sets] of [
      [all(PRO, BUSY), [[PRO, BUSY]]],
      [all(all(PRO, BUSY)), [[PRO, BUSY]]],
      [any(PRO, BUSY), [[PRO], [BUSY]]],
      [any(all(PRO), BUSY), [[PRO], [BUSY]]],
      [any(any(PRO)), [[PRO]]],
      [any(), []],
      [all(), [[]]],
      [{}, []],
    ] as const) {
      expect(draftOf(cohortOf(properties)).sets).toEqual(sets)
    }
  })
  test('leaves conditions of another form as they are', () => {
    for (const properties of [
      all(any(PRO, BUSY), any(IDLE)),
      any(any(PRO, BUSY), all(IDLE)),
      any(all(any(PRO))),
    ]) {
      expect(bodyOf(draftOf(cohortOf(properties)))).toEqual({ name: 'Payers', description: '' })
    }
  })
  test('comes back from an address, and from nothing else', () => {
    for (const properties of [any(all(PRO)), all(any(PRO, BUSY), any(IDLE)), null]) {
      const draft = draftOf(cohortOf(properties))
      expect(readDraft(JSON.parse(JSON.stringify(draft)))).toEqual(draft)
    }
    for (const odd of [null, 1, [], {}, { name: 1 }]) expect(readDraft(odd)).toBeNull()
  })
  test('is told in words', () => {
    expect(draftText(draftOf(cohortOf(any(all(PRO, BUSY), all(IDLE)))))).toBe(
      'plan is pro and Did Page view at least 3 times in the last 30 days, or Did not do signed up in the last 7 days',
    )
    expect(doneText({ type: 'behavioral', value: 'performed_event_first_time', key: 7 })).toBe(
      'Did action 7 (performed event first time)',
    )
    expect(doneText(PRO)).toBeNull()
    const done = { type: 'behavioral', value: 'performed_event', key: '$pageview' }
    expect(doneText({ ...done, explicit_datetime: '-30d', event_filters: [PRO] })).toBe(
      'Did Page view where plan is pro in the last 30 days',
    )
    expect(
      doneText({ ...done, explicit_datetime: '2026-11-01', explicit_datetime_to: '2026-11-14' }),
    ).toBe('Did Page view from 2026-11-01 to 2026-11-14')
  })
  test('says what is negated, and has a cohort by its operator alone', () => {
    const member = { key: 'id', type: 'cohort', value: 7 }
    const draft = draftOf(
      cohortOf(any(all({ ...PRO, negation: true }, { ...member, negation: true }), all(member))),
    )
    expect(draftText(draft)).toBe('Not: plan is pro and Not in cohort 7, or In cohort 7')
    expect(draft.sets?.flat().slice(1)).toEqual([
      { ...member, operator: 'not_in' },
      { ...member, operator: 'in' },
    ])
  })
})

describe.skipIf(!HAS_BROWSER)('a cohort', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 30 })
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  const find = async (name: string): Promise<ShownCohort | undefined> => {
    const path = `/api/projects/${ui.project}/cohorts/?search=${encodeURIComponent(name)}`
    return ((await ui.api(path)) as { readonly results: readonly ShownCohort[] }).results[0]
  }

  test('is made by properties and events, is counted, changed, and deleted', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/cohorts`)
    await page.getByRole('link', { name: 'New cohort' }).click()
    await page.getByLabel('Name').fill('Readers')
    await page.getByRole('button', { name: 'Events', exact: true }).click()
    await page.getByRole('button', { name: /Choose an event/ }).click()
    await page.getByRole('option', { name: /Page view/ }).click()
    await page.getByLabel('In the last, days').fill('365')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Did Page view in the last 365 days').waitFor()
    await page.getByRole('button', { name: 'Create cohort' }).click()
    await page.getByRole('heading', { level: 1, name: 'Readers' }).waitFor()
    await page.getByRole('link', { name: /^[1-9]\d* persons$/ }).waitFor()
    await page.getByRole('button', { name: 'Property', exact: true }).click()
    await page.getByRole('combobox', { name: 'Property' }).fill('plan')
    await page.getByRole('option', { name: 'plan' }).click()
    await page.getByRole('combobox', { name: 'Values' }).fill('platinum')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Changed', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('plan is platinum').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('link', { name: '0 persons', exact: true }).waitFor()
    expect((await find('Readers'))?.filters).toMatchObject({
      properties: { type: 'OR', values: [{ type: 'AND', values: { length: 2 } }] },
    })
    await page.getByRole('button', { name: 'Actions of the cohort' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Cohort deleted').waitFor()
    await expectSoon(() => page.getByRole('link', { name: 'Readers' }).count(), 0)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: 'Readers' }).waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('has no number in the list before its first calculation', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.route('**/cohorts/?*', async (route) => {
      const response = await route.fetch()
      const list = (await response.json()) as { readonly results: readonly object[] }
      const results = list.results.map((one) => ({ ...one, count: null, is_calculating: true }))
      await route.fulfill({ response, json: { ...list, results } })
    })
    await page.goto(`/p/${ui.project}/cohorts`)
    await page.getByRole('listitem').getByText('calculating…').first().waitFor()
    expect(await page.getByText('– persons').count()).toBe(0)
  })

  test('is made once by a double click', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/cohorts/new`)
    await page.getByText('Everyone').waitFor()
    await page.getByLabel('Name').fill('Twice')
    await page.getByRole('button', { name: 'Create cohort' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'Twice' }).waitFor()
    const path = `/api/projects/${ui.project}/cohorts/?search=Twice`
    expect(await ui.api(path)).toMatchObject({ results: { length: 1 } })
    expect(visit.complaints).toEqual([])
  })

  test('of a fixed list gets persons by their ids', async () => {
    const { results } = (await ui.api(`/api/projects/${ui.project}/persons/?limit=2`)) as {
      readonly results: readonly { readonly distinct_ids: readonly string[] }[]
    }
    const ids = results.map(({ distinct_ids }) => distinct_ids[0])
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/cohorts/new`)
    await page.getByLabel('Name').fill('Friends')
    await page.getByText('A fixed list').click()
    await page.getByRole('button', { name: 'Create cohort' }).click()
    await page.getByLabel('Distinct ids').fill('not-there')
    await page.getByRole('button', { name: 'Add 1' }).click()
    await page.getByText('0 persons added').waitFor()
    await page.getByLabel('Distinct ids').fill(ids.join('\n'))
    await page.getByRole('button', { name: 'Add 2' }).click()
    await page.getByRole('link', { name: '2 persons' }).click()
    await expectSoon(() => page.locator('tbody tr').count(), 2)
    expect(visit.complaints).toEqual([])
  })

  test.each(devicesOf(1))('is as wide as the window, and has no barrier: %s', async (device) => {
    await using visit = await ui.visit({ width: SCREENS[device][0] })
    const { page } = visit
    await page.goto(`/p/${ui.project}/cohorts/new`)
    await page.getByRole('button', { name: 'Events', exact: true }).click()
    await page.getByLabel('In the last, days').waitFor()
    await expectFits(page)
    await expectOpen(page, schemesOf(2))
    expect(visit.complaints).toEqual([])
  })
})
