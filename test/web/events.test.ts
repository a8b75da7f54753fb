/** The page of events: what comes in is listed as it comes, with columns, details, warnings and files. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { limitTests, longTest } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  findBarriers,
  type Interface,
  openInterface,
  openWholeInterface,
  SCREENS,
} from './interface.ts'

limitTests(60_000)

let ui: Interface
beforeAll(async () => {
  if (!HAS_BROWSER) return
  ui = await openInterface({ demo_persons: 20 })
})
afterAll(() => ui?.[Symbol.asyncDispose]())

const send = (...batch: readonly object[]): Promise<void> => sendTo(ui, batch)

async function sendTo({ server, token }: Interface, batch: readonly object[]): Promise<void> {
  const body = JSON.stringify({ api_key: token, batch })
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body })
  expect(answer.status).toBe(200)
}

async function open(page: Page, search = '', { project } = ui): Promise<void> {
  await page.goto(`/p/${project}/events${search}`)
  await page.locator('tbody tr').first().waitFor()
}

describe.skipIf(!HAS_BROWSER)('live events', () => {
  test('are listed as they come, with everything they say beside the list', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page)
    // What was there before the page is in its list, and has not come in.
    await page.getByText('waiting').waitFor()
    const properties = { price: 12, note: '<b>no markup</b>' }
    await send({ event: 'came live', distinct_id: 'liv', properties })
    await page.getByRole('button', { name: 'came live' }).click()
    const beside = page.getByRole('region', { name: 'Event came live' })
    await beside.getByText('<b>no markup</b>').waitFor()
    await beside.getByText('JSON', { exact: true }).click()
    const json = JSON.parse(await beside.getByRole('region', { name: 'JSON' }).innerText())
    expect(json).toMatchObject({ event: 'came live', properties })
    expect(await findBarriers(page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  longTest('go on after the server was away, with what came meanwhile', async () => {
    await using whole = await openWholeInterface({ demo_persons: 20 })
    await using visit = await whole.visit()
    const { page } = visit
    await open(page, '', whole)
    await sendTo(whole, [{ event: 'before the stop', distinct_id: 'liv' }])
    await page.getByText('before the stop').waitFor()
    await whole.stop()
    await page.getByText('connecting…').waitFor()
    await whole.start()
    await sendTo(whole, [{ event: 'after the start', distinct_id: 'liv' }])
    await page.getByText('after the start').waitFor()
    expect(await page.getByText('before the stop').count()).toBe(1)
  })

  longTest('of a flood are a sample, and the page says so and stays quick', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page)
    await page.getByText(/waiting|came in/).waitFor()
    for (let round = 0; round < 5; round += 1) {
      await send(
        ...Array.from({ length: 1000 }, (_, at) => ({ event: `flood ${at}`, distinct_id: 'liv' })),
      )
    }
    await page.getByText(/too fast to be listed/).waitFor()
    // Of more than 200 rows only those in sight are drawn.
    expect(await page.locator('tbody tr').count()).toBeLessThanOrEqual(200)
    await page.getByRole('switch', { name: 'Live' }).click()
    await page.getByText(/too fast to be listed/).waitFor({ state: 'detached' })
  })

  test('are not said to be connecting where the list of events is refused', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const json = { type: 'x', code: 'permission_denied', detail: 'No.', attr: null }
    await page.route('**/events/?limit=*', (route) => route.fulfill({ status: 403, json }))
    await page.goto(`/p/${ui.project}/events`)
    await page.getByText('You do not have access to this. No.').waitFor()
    expect(await page.getByText('connecting').count()).toBe(0)
  })

  test.each([
    ['blocked', 'new events cannot be received'],
    ['refused', 'new events are refused'],
  ])('are not said to be connecting where their stream is %s', async (how, text) => {
    await using visit = await ui.visit()
    const { page } = visit
    const json = { type: 'x', code: 'permission_denied', detail: 'No.', attr: null }
    await page.route('**/events/live/**', (route) =>
      how === 'blocked' ? route.abort() : route.fulfill({ status: 403, json }),
    )
    await open(page)
    await page.getByText(text).waitFor()
    expect(await page.getByText('connecting').count()).toBe(0)
  })

  test('are narrowed by their name, by the server', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await send({ event: 'wanted', distinct_id: 'liv' })
    await open(page, '?event=wanted')
    await send({ event: 'other', distinct_id: 'liv' }, { event: 'wanted', distinct_id: 'another' })
    await page.getByRole('cell', { name: 'another' }).waitFor()
    expect(await page.getByText('other', { exact: true }).count()).toBe(0)
  })

  longTest('are followed with conditions too', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const filter = [{ type: 'event', key: 'plan', value: ['pro'], operator: 'exact' }]
    await page.goto(`/p/${ui.project}/events?filters=${encodeURIComponent(JSON.stringify(filter))}`)
    await page.getByText('No event matches').waitFor()
    await send(
      { event: 'upgraded', distinct_id: 'liv', properties: { plan: 'pro' } },
      { event: 'stayed', distinct_id: 'liv', properties: { plan: 'free' } },
    )
    await page.getByText('upgraded').waitFor()
    expect(await page.getByText('stayed').count()).toBe(0)
    // New by its arrival, old by its own clock.
    await send({
      event: 'upgraded long ago',
      distinct_id: 'liv',
      timestamp: '2024-02-03T00:00:00Z',
      properties: { plan: 'pro' },
    })
    await page.getByText('upgraded long ago').waitFor()
    await page.getByText('2 received').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('are followed of one person, whose page leads there, and saved of that person', async () => {
    await send(
      { event: 'came first', distinct_id: 'una', properties: { $set: { email: 'una@x.example' } } },
      { event: 'came second', distinct_id: 'other' },
    )
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons?search=una@x.example`)
    await page.getByRole('link', { name: 'una@x.example' }).click()
    await page.getByRole('link', { name: 'Live events' }).click()
    await page.getByRole('button', { name: 'came first' }).waitFor()
    await page.getByRole('link', { name: 'una@x.example' }).waitFor()
    await send(
      { event: 'of another', distinct_id: 'other' },
      { event: 'came third', distinct_id: 'una' },
    )
    await page.getByRole('button', { name: 'came third' }).waitFor()
    expect(await page.getByText(/came second|of another/).count()).toBe(0)
    await page.getByRole('button', { name: 'Export' }).click()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Download CSV' }).click(),
    ])
    const lines = (await Bun.file(await file.path()).text()).trim().split(/\r?\n/)
    expect(lines.slice(1).map((line) => line.split(',')[1])).toEqual(['came third', 'came first'])
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: /Show events of others/ }).click()
    await page.getByRole('button', { name: 'of another' }).waitFor()
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('the list', () => {
  test('has columns of one’s choice, in the address and after a reload', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await send({ event: 'coloured', distinct_id: 'liv', properties: { colour: 'teal' } })
    await open(page, '?event=coloured')
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('button', { name: 'Remove the column Library' }).click()
    await page.getByPlaceholder('Search properties').fill('colour')
    await page
      .getByRole('option', { name: /colour/ })
      .first()
      .click()
    await page.keyboard.press('Escape')
    await page.getByRole('cell', { name: 'teal' }).waitFor()
    await page.goto(`/p/${ui.project}/events?event=coloured`)
    await page.getByRole('cell', { name: 'teal' }).waitFor()
    expect(await page.getByRole('columnheader', { name: 'Library' }).count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  test('has the time in sight beside the menu, however long names and addresses are', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const $current_url = 'https://shop.example/a/rather/long/address/of/one/of/the/pages'
    const distinct_id = '01a222ab-9580-7356-8550-35207c705f4c'
    const properties = { $current_url, $lib: 'web' }
    await send({ event: 'onboarding_step_completed', distinct_id, properties })
    await open(page, '?event=onboarding_step_completed')
    await page.getByRole('cell', { name: distinct_id }).waitFor()
    const box = page.getByRole('region', { name: 'Events' })
    for (const width of [900, 1024, 1120, 1200, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      const hidden = box.evaluate((one) => one.scrollWidth - one.clientWidth)
      expect([width, await hidden]).toEqual([width, 0])
    }
  })

  longTest('is saved as a file, with the filters', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const properties = { size: 'big' }
    await send(
      { event: 'saved', distinct_id: 'one', properties },
      { event: 'saved', distinct_id: 'two', properties },
      { event: 'saved', distinct_id: 'three', properties: { size: 'small' } },
    )
    const filter = [{ type: 'event', key: 'size', value: ['big'], operator: 'exact' }]
    await open(page, `?event=saved&filters=${encodeURIComponent(JSON.stringify(filter))}`)
    await page.getByRole('button', { name: 'Export' }).click()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Download CSV' }).click(),
    ])
    const lines = (await Bun.file(await file.path()).text()).trim().split(/\r?\n/)
    expect(lines[0]).toBe('uuid,event,distinct_id,person_id,timestamp,properties')
    expect(lines.length).toBe(3)
    expect(visit.complaints).toEqual([])
  })

  test('says beside it what went wrong with events', async () => {
    await send({ event: '$identify', distinct_id: 'undefined', properties: {} })
    await send({ event: '$create_alias', distinct_id: 'liv', properties: { alias: 'null' } })
    const warnings = (await ui.api(`/api/projects/${ui.project}/ingestion_warnings/`)) as {
      readonly count: number
      readonly results: readonly { readonly type: string }[]
    }
    expect(warnings.count).toBeGreaterThan(0)
    await using visit = await ui.visit()
    const { page } = visit
    await open(page)
    await page.getByText(/Missing an event/).click()
    const words = (warnings.results[0]?.type ?? '').replaceAll('_', ' ')
    await page
      .locator('details strong')
      .filter({ hasText: new RegExp(words, 'i') })
      .first()
      .waitFor()
    expect(await findBarriers(page)).toEqual([])
  })

  longTest.each(devicesOf(0))(
    'is as wide as the window, and has no barrier in the dark: %s',
    async (device) => {
      await using visit = await ui.visit({ width: SCREENS[device][0], scheme: 'dark' })
      const { page } = visit
      await open(page)
      await page.getByRole('button', { name: 'Columns' }).click()
      expect(await findBarriers(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.locator('tbody tr button').first().click()
      await page.getByText('Distinct id', { exact: true }).waitFor()
      await expectFits(page)
      expect(visit.complaints).toEqual([])
    },
  )
})
