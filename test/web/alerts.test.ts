/** Alerts: made on a trend, seen firing there and on a board, silenced, deleted. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import {
  devicesOf,
  expectFits,
  expectOpen,
  expectSoon,
  findBarriers,
  type Interface,
  openInterface,
  SCREENS,
  schemesOf,
} from './interface.ts'

setDefaultTimeout(90_000)

let ui: Interface
let board_id = 0
beforeAll(async () => {
  if (!HAS_BROWSER) return
  ui = await openInterface({ demo_persons: 20 })
  const body = JSON.stringify({ name: 'Everything', use_template: 'Product analytics' })
  const made = await ui.api(`/api/projects/${ui.project}/dashboards/`, { method: 'POST', body })
  board_id = (made as { readonly id: number }).id
})
afterAll(() => ui?.[Symbol.asyncDispose]())

type AlertList = { readonly results: readonly { readonly id: string; readonly state: string }[] }

const list = async () => (await ui.api(`/api/projects/${ui.project}/alerts/`)) as AlertList

describe.skipIf(!HAS_BROWSER)('an alert', () => {
  test('is made from a tile, fires, is seen on the board, is silenced and deleted', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/boards/${board_id}`)
    await page.getByRole('button', { name: 'Actions of Daily active users' }).click()
    await page.getByRole('menuitem', { name: 'Alert' }).click()
    const trend = page.getByRole('button', { name: 'Trend: Daily active users' })
    await trend.and(page.locator(':focus')).waitFor()
    await expectSoon(
      () => page.getByLabel('Line').locator('option').allInnerTexts(),
      ['Page view (unique persons)'],
    )
    await page.getByLabel('Alert when it').selectOption('is above')
    await page.getByLabel('Value').fill('0')
    await page.getByLabel('Name').fill('Somebody is here')
    await page.getByLabel('Webhook').fill('http://10.0.0.1/')
    await page.getByRole('button', { name: 'Create alert' }).click()
    await page.getByText('The URL leads to a private address.').waitFor()
    await page.getByLabel('Webhook').fill('')
    await page.getByRole('button', { name: 'Create alert' }).click()
    await page.getByText('Somebody is here').waitFor()
    // The server looks at alerts every 15 s, and so does the page at the server.
    await page.getByText('Firing', { exact: true }).waitFor({ timeout: 60_000 })
    await page.getByRole('button', { name: 'Actions of Somebody is here' }).click()
    await page.getByRole('menuitem', { name: 'History' }).click()
    await page.getByRole('cell', { name: 'Firing' }).first().waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.goto(`/p/${ui.project}/boards/${board_id}`)
    const tile = page.getByRole('article', { name: 'Daily active users' })
    await tile.getByRole('link', { name: 'Alert' }).click()
    await page.getByRole('button', { name: 'Actions of Somebody is here' }).click()
    await page.getByRole('menuitem', { name: 'Silence for a day' }).click()
    await page.getByText('Snoozed', { exact: true }).waitFor()
    expect((await list()).results.map(({ state }) => state)).toEqual(['Snoozed'])
    await page.getByRole('button', { name: 'Actions of Somebody is here' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await page.getByLabel('Alert when it').selectOption('rises by more than')
    await page.getByText('As a percentage of the previous interval').click()
    await page.getByLabel('Percent', { exact: true }).fill('50')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText(/rises by more than 50/).waitFor()
    await page.getByRole('button', { name: 'Actions of Somebody is here' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('No alerts yet').waitFor()
    // The one complaint is about the refused address.
    expect(visit.complaints.filter((text) => !text.includes('400'))).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('the page', () => {
  beforeAll(async () => {
    if (!HAS_BROWSER) return
    const insights = (await ui.api(`/api/projects/${ui.project}/insights/?search=Daily`)) as {
      readonly results: readonly { readonly id: number }[]
    }
    const body = JSON.stringify({
      name: 'Far too many visitors for one little server',
      insight: insights.results[0]?.id,
      condition: { type: 'absolute_value' },
      threshold: { configuration: { type: 'absolute', bounds: { upper: 1e9 } } },
      config: { type: 'TrendsAlertConfig', series_index: 0 },
    })
    await ui.api(`/api/projects/${ui.project}/alerts/`, { method: 'POST', body })
  })

  test.each(devicesOf(0))(
    'is as wide as the window, and has no barrier, nor has its dialog: %s',
    async (device) => {
      await using visit = await ui.visit({ width: SCREENS[device][0], scheme: 'dark' })
      await visit.page.goto(`/p/${ui.project}/alerts`)
      await visit.page.getByText('Far too many').waitFor()
      await expectFits(visit.page)
      await expectOpen(visit.page, schemesOf(1))
      await visit.page.getByRole('button', { name: 'New alert' }).click()
      await visit.page.getByRole('button', { name: /^Trend: / }).waitFor()
      await expectOpen(visit.page, schemesOf(1))
      expect(visit.complaints).toEqual([])
    },
  )
})
