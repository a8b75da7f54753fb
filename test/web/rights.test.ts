/** The pages of a member with the right to read everything and to change nothing: they offer no change. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContext } from 'playwright-core'
import { HAS_BROWSER, openBrowser } from '../flows/clients/browser.ts'
import { limitTests } from '../long-tests.ts'
import { fillPages, type PageIds } from './every-page.ts'
import { findBarriers, goInside, type Interface, openInterface, settle } from './interface.ts'

limitTests(120_000)

const KINDS = [
  'action',
  'alert',
  'annotation',
  'cohort',
  'dashboard',
  'event_definition',
  'experiment',
  'feature_flag',
  'group',
  'insight',
  'person',
  'property_definition',
  'sharing_configuration',
  'subscription',
  'survey',
] as const

/** Buttons that begin a change, and menus that have nothing else. */
const CHANGES =
  /^(Add|New board|New alert|Save|Save for all|Undo this merge|Move .*|Size of .*|Save .* as a variable .*|Add a (primary|secondary) metric|Remove .* per person|Create (action|alert|cohort|experiment|flag|survey)|Launch|End|Actions of the (cohort|experiment|person|group|property))$/

describe.skipIf(!HAS_BROWSER)('a member who may change nothing', () => {
  let ui: Interface
  let ids: PageIds
  let member: string
  let context: BrowserContext
  let browser: Browser

  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 10 })
    browser = await openBrowser()
    ids = await fillPages(ui)
    for (const resource of KINDS) {
      await ui.api(`/api/projects/${ui.project}/global_access_controls/`, {
        method: 'PUT',
        body: JSON.stringify({ resource, access_level: 'viewer' }),
      })
    }
    const { link } = (await ui.api('/api/organizations/@current/invites/', {
      method: 'POST',
      body: JSON.stringify({ first_name: 'Vera' }),
    })) as { readonly link: string }
    context = await browser.newContext({ baseURL: ui.server.url })
    const data = { first_name: 'Vera', email: 'vera@example.com', password: 'looks at everything' }
    const path = `/api/signup/${link.split('#').at(-1)}/`
    const joined = await context.request.post(path, { headers: { 'X-Tidemark': '1' }, data })
    expect(joined.status()).toBe(201)
    member = ((await joined.json()) as { readonly user: { readonly uuid: string } }).user.uuid
  })
  afterAll(async () => {
    await ui.api(`/api/organizations/@current/members/${member}/`, { method: 'DELETE' })
    await browser?.close()
    await ui[Symbol.asyncDispose]()
  })

  test('is offered no change', async () => {
    const page = await context.newPage()
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(response.url())
    })
    const root = `/p/${ui.project}`
    const changed = encodeURIComponent(JSON.stringify({ kind: 'LifecycleQuery', series: [] }))
    const draft = encodeURIComponent(JSON.stringify({ key: 'other', conditions: [] }))
    const survey = encodeURIComponent(JSON.stringify({ name: 'other', questions: [] }))
    const hogql = { kind: 'HogQLQuery', query: 'select {variables.shop}' }
    const offered: Record<string, readonly string[]> = {}
    await page.goto(`${root}/start`)
    await page.locator('h1').waitFor()
    for (const path of [
      '/boards',
      '/boards?show=insights',
      `/boards/${ids.board_id}?from=-7d`,
      `/insights/${ids.insight_id}#q=${changed}`,
      '/alerts',
      '/alerts?insight=1',
      '/cohorts/new',
      `/cohorts/${ids.cohort_id}#q=${encodeURIComponent(JSON.stringify({ name: 'other' }))}`,
      '/data/actions',
      '/data/actions/new',
      `/data/actions/${ids.action_id}#q=${encodeURIComponent(JSON.stringify({ name: 'other', steps: [] }))}`,
      `/data/events/${ids.event_id}#q=${encodeURIComponent(JSON.stringify({ description: 'other', tags: [] }))}`,
      `/data/properties/${ids.property_id}`,
      '/experiments/new',
      `/experiments/${ids.experiment_id}#q=${encodeURIComponent(JSON.stringify({ name: 'other', metrics: [] }))}`,
      `/experiments/${ids.experiment_id}`,
      '/flags/new',
      `/flags/${ids.flag_id}#q=${draft}`,
      '/surveys/new',
      `/surveys/new#q=${survey}`,
      `/surveys/${ids.survey_id}#q=${survey}`,
      `/surveys/${ids.survey_id}`,
      `/persons/${ids.person_id}?view=merges`,
      `/persons/group/0/${encodeURIComponent(ids.group_key)}`,
      `/sql#q=${encodeURIComponent(JSON.stringify(hogql))}`,
    ]) {
      await goInside(page, root + path)
      // What the page before has drawn may look the same.
      await settle(page)
      await page.locator('h1').waitFor()
      await settle(page)
      const names = await page
        .getByRole('button')
        .evaluateAll((all) => all.map((one) => one.ariaLabel ?? one.textContent ?? ''))
      offered[path] = names.filter((name) => CHANGES.test(name.trim()))
    }
    await page.goto(`${root}/boards/${ids.board_id}`)
    await page.getByRole('article').first().waitFor()
    await settle(page)
    for (const menu of await page.getByRole('button', { name: /^Actions of / }).all()) {
      await menu.click()
      await page.getByRole('menuitem').first().waitFor()
      expect(await page.getByRole('menuitem', { name: 'Alert' }).count()).toBe(0)
      await page.keyboard.press('Escape')
    }
    expect(Object.entries(offered).filter(([, names]) => names.length > 0)).toEqual([])
    expect(refused).toEqual([])
  })

  test('without a project can log out', async () => {
    const { results } = (await ui.api('/api/organizations/@current/projects/?limit=200')) as {
      readonly results: readonly { readonly id: number }[]
    }
    for (const { id } of results) {
      await ui.api(`/api/projects/${id}/access_controls/`, {
        method: 'PUT',
        body: JSON.stringify({ access_level: 'none', organization_member: member }),
      })
    }
    const page = await context.newPage()
    await page.goto('/')
    await page.getByRole('heading', { level: 1, name: 'No project' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  })
})
