/** One person's page: sessions, cohorts, flags with reasons, merges in trouble, and deletion. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page, Route } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import { findBarriers, type Interface, openInterface, sidewaysScroll } from './interface.ts'

limitTests(60_000)

type Sent = {
  readonly event: string
  readonly distinct_id: string
  readonly timestamp?: string
  readonly properties?: object
}

let ui: Interface
async function send(...batch: readonly Sent[]): Promise<void> {
  const body = JSON.stringify({ api_key: ui.token, batch })
  const answer = await fetch(`${ui.server.url}/batch/`, { method: 'POST', body })
  expect(answer.status).toBe(200)
}

const post = (path: string, body: object, method = 'POST'): Promise<unknown> =>
  ui.api(`/api/projects/${ui.project}/${path}`, { method, body: JSON.stringify(body) })

type Listed = { readonly results: readonly { readonly uuid: string }[] }
async function uuidsOf(distinct_id: string): Promise<readonly string[]> {
  const { results } = (await ui.api(
    `/api/projects/${ui.project}/persons/?distinct_id=${distinct_id}`,
  )) as Listed
  return results.map(({ uuid }) => uuid)
}
async function addressOf(distinct_id: string): Promise<string> {
  const [uuid] = await uuidsOf(distinct_id)
  return `/p/${ui.project}/persons/${uuid ?? ''}`
}

const visited = (minute: string, $session_id: string | null, $pathname: string): Sent => ({
  event: '$pageview',
  distinct_id: 'vera',
  timestamp: `2026-01-02T10:${minute}Z`,
  properties: { $pathname, ...($session_id !== null && { $session_id }) },
})

beforeAll(async () => {
  if (!HAS_BROWSER) return
  ui = await openInterface({ demo_persons: 0 })
  await send(
    { event: '$set', distinct_id: 'vera', properties: { $set: { email: 'vera@x.example' } } },
    visited('00:00', '0199a3b4-0000-7000-8000-000000000001', '/'),
    visited('01:30', '0199a3b4-0000-7000-8000-000000000001', '/prices'),
    visited('40:05', '0199a3b4-0000-7000-8000-000000000002', '/login'),
    visited('50:00', null, '/from-a-server'),
    { event: 'seen', distinct_id: 'before-1' },
    { event: 'seen', distinct_id: 'mia' },
    {
      event: '$identify',
      distinct_id: 'mia',
      properties: { $anon_distinct_id: 'before-1', $set: { email: 'mia@x.example' } },
    },
  )
})
afterAll(() => ui?.[Symbol.asyncDispose]())

describe.skipIf(!HAS_BROWSER)('the page of a person', () => {
  test('has its events by session, each with its path and time', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(await addressOf('vera'))
    const history = page.getByRole('region', { name: 'History' })
    const sessions = history.getByRole('region', { name: /^Session of 2 Jan 2026/ })
    await sessions.first().waitFor()
    const texts = async (at: number): Promise<string> =>
      (await sessions.nth(at).innerText()).replace(/\s+/g, ' ')
    expect([await sessions.count(), await texts(0), await texts(1), await texts(2)]).toEqual([
      3,
      expect.stringMatching(/^2 Jan 2026, 10:50:00 Page view \/from-a-server 10:50:00$/),
      expect.stringMatching(/^2 Jan 2026, 10:40:05 Page view \/login 10:40:05$/),
      expect.stringMatching(
        /^2 Jan 2026, 10:00:00 2 events in 1m\s30s Page view \/prices 10:01:30 Page view \/ 10:00:00$/,
      ),
    ])
    await sessions.nth(1).getByRole('button').click()
    await page.getByRole('dialog').getByText('0199a3b4-0000-7000-8000-000000000002').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('tells what each flag answers, and why', async () => {
    const isHer = { key: 'email', value: ['vera@x.example'], operator: 'exact', type: 'person' }
    const flag = (key: string, filters: object) => post('feature_flags/', { key, filters })
    await flag('beta', { groups: [{ properties: [isHer], rollout_percentage: 100 }] })
    await flag('closed', { groups: [{ properties: [], rollout_percentage: 0 }] })
    await flag('others', {
      groups: [{ properties: [{ ...isHer, value: ['a@x.example'] }], rollout_percentage: 100 }],
    })
    await flag('colour', {
      groups: [{ properties: [], rollout_percentage: 100 }],
      multivariate: { variants: [{ key: 'red', rollout_percentage: 100 }] },
    })
    for (const width of EVERY_CASE ? [1280, 320] : [320]) {
      await using visit = await ui.visit({ width, scheme: width === 320 ? 'dark' : 'light' })
      const { page } = visit
      await page.goto(`${await addressOf('vera')}?view=flags`)
      const items = page.getByRole('region', { name: 'History' }).getByRole('listitem')
      await items.first().waitFor()
      const texts = (await items.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))
      expect(texts.toSorted()).toEqual([
        'beta on Matched condition set 1',
        'closed off Out of rollout bound',
        'colour red Matched condition set 1',
        'others off No matching condition set',
      ])
      expect(await sidewaysScroll(page)).toBe(0)
      expect(await findBarriers(page)).toEqual([])
      expect(visit.complaints).toEqual([])
    }
  })

  longTest('names the cohorts that the person is in, and only those', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`${await addressOf('vera')}?view=cohorts`)
    await page.getByText('Not in a cohort').waitFor()
    const made = (await post('cohorts/', { name: 'Guests', is_static: true })) as { id: number }
    await post('cohorts/', { name: 'Empty', is_static: true })
    const person_ids = await uuidsOf('vera')
    await post(`cohorts/${made.id}/add_persons_to_static_cohort/`, { person_ids }, 'PATCH')
    await page.reload()
    const items = page.getByRole('region', { name: 'History' }).getByRole('listitem')
    await items.first().waitFor()
    expect(await items.allInnerTexts()).toEqual(['Guests'])
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('what undoing a merge would change', () => {
  const PREVIEW = /\/persons\/[^/]+\/merges\/\d+\//
  async function openPreview(page: Page) {
    await page.goto(`${await addressOf('mia')}?view=merges`)
    await page.getByRole('button', { name: 'Undo this merge' }).click()
    return page.getByRole('dialog', { name: 'Undo this merge' })
  }

  longTest.each(EVERY_CASE ? [320, 1280] : [1280])(
    'may come late: the dialog is there before, at %d px',
    async (width) => {
      await using visit = await ui.visit({ width })
      const { page } = visit
      const held = Promise.withResolvers<void>()
      await page.route(PREVIEW, async (route: Route) => {
        await held.promise
        await route.continue()
      })
      const dialog = await openPreview(page)
      await dialog.getByText('The merge of').waitFor()
      await dialog.locator('[aria-busy=true]').first().waitFor()
      expect(await dialog.getByRole('table').count()).toBe(0)
      expect(await sidewaysScroll(page)).toBe(0)
      held.resolve()
      await dialog.getByRole('table').waitFor()
      expect(await sidewaysScroll(page)).toBe(0)
      expect(await findBarriers(page)).toEqual([])
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
      expect(visit.complaints).toEqual([])
    },
  )

  longTest('that is not told says so in its place, and is asked for again', async () => {
    await using visit = await ui.visit({ width: 320, scheme: 'dark' })
    const { page } = visit
    const error = { type: 'server_error', code: 'error', detail: 'Out of order.', attr: null }
    await page.route(PREVIEW, (route) => route.fulfill({ status: 500, json: error }))
    const dialog = await openPreview(page)
    await dialog.getByText('Out of order.').waitFor()
    expect(await sidewaysScroll(page)).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await page.unroute(PREVIEW)
    await dialog.getByRole('button', { name: 'Retry' }).click()
    await dialog.getByRole('table').waitFor()
  })

  test('stays on the page when undoing fails, and then is done', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const gone = { type: 'validation_error', code: 'invalid_input', detail: 'Not now.', attr: null }
    await page.route('**/undo_merge/', (route) => route.fulfill({ status: 400, json: gone }))
    const dialog = await openPreview(page)
    await dialog.getByRole('button', { name: 'Undo the merge' }).click()
    await dialog.getByText('Not now.').waitFor()
    expect(await uuidsOf('before-1')).toEqual(await uuidsOf('mia'))
    await page.unroute('**/undo_merge/')
    await dialog.getByRole('button', { name: 'Undo the merge' }).click()
    await page.getByText('Merge undone').waitFor()
    await page.getByText('No merge to undo').waitFor()
    expect(await uuidsOf('before-1')).not.toEqual(await uuidsOf('mia'))
  })
})

describe.skipIf(!HAS_BROWSER)('deleting a person', () => {
  const countOf = async (distinct_id: string): Promise<unknown> => {
    const query = `select count() from events where distinct_id = '${distinct_id}'`
    const asked = { query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }
    const { results } = (await post('query/', asked)) as { readonly results: readonly unknown[] }
    return results
  }

  const CHOICES = [
    ['takes the events too when that is chosen', 'gone-1', true, [[0]]],
    ['keeps the events', 'kept-1', false, [[2]]],
  ] as const
  test.each(EVERY_CASE ? CHOICES : CHOICES.slice(0, 1))('%s', async (_, id, takes_events, left) => {
    await send({ event: 'seen', distinct_id: id }, { event: 'seen', distinct_id: id })
    expect(await countOf(id)).toEqual([[2]])
    await using visit = await ui.visit({ width: takes_events ? 320 : 1280 })
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons`)
    await page.getByRole('link', { name: id }).click()
    const open = async () => {
      await page.getByRole('button', { name: 'Actions of the person' }).click()
      await page.getByRole('menuitem', { name: 'Delete' }).click()
    }
    await open()
    const dialog = page.getByRole('dialog', { name: 'Delete this person' })
    expect(await sidewaysScroll(page)).toBe(0)
    if (takes_events || EVERY_CASE) expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await uuidsOf(id)).toHaveLength(1)
    await open()
    if (takes_events) await dialog.getByRole('checkbox').check()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Person deleted').waitFor()
    expect(new URL(page.url()).pathname).toBe(`/p/${ui.project}/persons`)
    await page.getByRole('link', { name: id }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'vera@x.example' }).waitFor()
    expect(await uuidsOf(id)).toEqual([])
    // Events are deleted soon after the answer.
    for (let tries = 0; tries < 100 && String(await countOf(id)) !== String(left); tries += 1) {
      await Bun.sleep(100)
    }
    expect(await countOf(id)).toEqual(left)
    expect(visit.complaints).toEqual([])
  })
})
