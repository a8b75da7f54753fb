/** What is around every page: menu, palette, keys, help, themes, errors that pass, on all widths. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  expectSoon,
  findBarriers,
  focusedName,
  type Interface,
  lowTargets,
  openInterface,
  SCREENS,
  schemesOf,
  settle,
} from './interface.ts'
import { PASSWORD } from './shared.ts'

limitTests(60_000)

/** Of all who see pages two persons reach its second step, and one of them the third. */
const THIN_FUNNEL = {
  kind: 'InsightVizNode',
  source: {
    kind: 'FunnelsQuery',
    dateRange: { date_from: '-30d' },
    series: ['$pageview', 'rare', 'rarer'].map((event) => ({ kind: 'EventsNode', event })),
  },
}
const THIN_EVENTS = ['$pageview', 'rare', 'rarer'].flatMap((event, step) =>
  ['one', 'two'].slice(0, step === 2 ? 1 : 2).map((distinct_id) => ({
    event,
    properties: { distinct_id },
    timestamp: new Date(Date.now() - 60_000 * (3 - step)).toISOString(),
  })),
)

/** The colour of the most pixels of a chart, which are those of its grid; null before it is drawn. */
const GRID_COLOUR = `(() => {
  const canvas = document.querySelector('canvas')
  if (!canvas) return null
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const counts = {}
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] === 255) {
      const colour = data.slice(at, at + 3).join()
      counts[colour] = (counts[colour] ?? 0) + 1
    }
  }
  return Object.keys(counts).sort((one, other) => counts[other] - counts[one])[0] ?? null
})()`

/** The name of each part of a funnel, and on how many px of its bar's middle a finger hits it. */
const TOUCHED_WIDTHS = `[...document.querySelectorAll('main ol button:enabled')].map((button) => {
  button.scrollIntoView({ block: 'center' })
  const { left, width, top, height } = button.parentElement.getBoundingClientRect()
  const hits = Array.from({ length: Math.ceil(width) }, (_, x) =>
    document.elementFromPoint(left + x + 0.5, top + height / 2) === button)
  return [button.ariaLabel, hits.filter(Boolean).length]
})`

describe.skipIf(!HAS_BROWSER)('the shell', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 30 })
  })
  afterAll(() => ui[Symbol.asyncDispose]())

  test('`/` leads to the first page of the project that was seen last', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/nothing`)
    await page.getByText('There is no such page').waitFor()
    await page.goto('/')
    await page.getByRole('heading', { level: 1, name: 'Web' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/p/${ui.project}/web`)
    expect(visit.complaints).toEqual([])
  })

  longTest('a link of the old interface arrives with its fragment', async () => {
    await using visit = await ui.visit()
    await visit.page.goto(`/project/${ui.project}/events#q=1`)
    await visit.page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
    expect(visit.page.url()).toBe(`${ui.server.url}/p/${ui.project}/events#q=1`)
  })

  test('without a session every page leads to the login, which knows the way back', async () => {
    await using visit = await ui.visit({ is_out: true })
    await visit.page.goto(`/p/${ui.project}/events?event=%24pageview`)
    await visit.page.waitForURL('**/login?next=*')
    expect(new URL(visit.page.url()).searchParams.get('next')).toBe(
      `/p/${ui.project}/events?event=%24pageview`,
    )
  })

  test('a page that does not exist, and a project that is not seen, say so', async () => {
    await using visit = await ui.visit()
    for (const path of ['/p/999999/events', '/p/x/events']) {
      await visit.page.goto(path)
      await visit.page.getByText('There is no such page').waitFor()
    }
    expect(visit.complaints).toEqual([])
  })

  test.each(devicesOf(1))('nothing is wider than the window: %s', async (device) => {
    await using visit = await ui.visit({ width: SCREENS[device][0] })
    const { page } = visit
    await page.goto(`/p/${ui.project}/events`)
    await page.locator('tbody tr').first().waitFor()
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('option').first().waitFor()
    await expectFits(page)
    await page.setViewportSize({ width: SCREENS[device][1], height: 900 })
    await page.keyboard.press('Escape')
    await page.locator('tbody tr').first().click()
    // Beside the list where there is room for both.
    const beside = page.getByRole('region', { name: /^Event / })
    await page.getByRole('dialog').or(beside).waitFor()
    await expectFits(page)
    expect(visit.complaints).toEqual([])
  })

  test('the bar of a phone marks the open page, or the menu that has it', async () => {
    await using visit = await ui.visit({ width: 390 })
    const { page } = visit
    const marked = page
      .getByRole('navigation', { name: 'Pages' })
      .locator('[aria-current=page]:visible')
    for (const [folder, name] of [
      ['events', 'Events'],
      ['flags', 'More'],
      ['alerts', 'More'],
      // An insight is a part of Explore.
      ['insights/unknown', 'Explore'],
    ] as const) {
      await page.goto(`/p/${ui.project}/${folder}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(
        await marked.evaluateAll((all) => all.map((one) => one.ariaLabel ?? one.textContent)),
      ).toEqual([name])
    }
    expect(visit.complaints).toEqual([])
  })

  test('under a finger everything is 44 px high, and so is what it hits of thin bars', async () => {
    await fetch(`${ui.server.url}/batch/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ api_key: ui.token, batch: THIN_EVENTS }),
    })
    const insight = await ui.api(`/api/projects/${ui.project}/insights/`, {
      method: 'POST',
      body: JSON.stringify({ name: 'Funnel', query: THIN_FUNNEL }),
    })
    const { short_id, id } = insight as { readonly short_id: string; readonly id: number }
    const board = await ui.api(`/api/projects/${ui.project}/dashboards/`, {
      method: 'POST',
      body: JSON.stringify({ name: 'Board' }),
    })
    const { id: board_id } = board as { readonly id: number }
    await ui.api(`/api/projects/${ui.project}/insights/${id}/`, {
      method: 'PATCH',
      body: JSON.stringify({ dashboards: [board_id] }),
    })
    await using visit = await ui.visit({ width: 390 })
    const { page } = visit
    for (const [path, shown] of [
      ['web', page.locator('tbody th button')],
      ['events', page.locator('tbody button')],
      ['persons', page.locator('tbody a')],
      [`boards/${board_id}`, page.getByRole('button', { name: / reached / })],
      [`insights/${short_id}`, page.getByRole('button', { name: / reached / })],
    ] as const) {
      await page.goto(`/p/${ui.project}/${path}`)
      await shown.first().waitFor()
      await settle(page)
      expect([path, await lowTargets(page)]).toEqual([path, []])
    }
    const widths = await page.evaluate<readonly [string, number][]>(TOUCHED_WIDTHS)
    expect(widths.map(([name]) => name.replace(/^[\d,]+ /, ''))).toEqual([
      'reached Page view: who',
      'dropped off before rare: who',
      'reached rare: who',
      'dropped off before rarer: who',
      'reached rarer: who',
    ])
    expect(widths.filter(([, width]) => width < 44)).toEqual([])
    await page.goto(`/p/${ui.project}/persons`)
    await page.locator('tbody a').first().click()
    await page.getByRole('region', { name: 'Properties' }).locator('dd').first().waitFor()
    expect(await lowTargets(page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  for (const [at, width] of [390, 1440].entries()) {
    for (const scheme of at === 0 || EVERY_CASE ? schemesOf(at + 1) : []) {
      longTest(
        `there is no barrier: ${scheme}, ${width} px, with everything open once`,
        async () => {
          await using visit = await ui.visit({ scheme, width })
          const { page } = visit
          await page.goto(`/p/${ui.project}/events`)
          await page.locator('tbody tr').first().waitFor()
          expect(await findBarriers(page)).toEqual([])
          await page.getByRole('button', { name: 'Filter' }).click()
          await page.getByRole('option').first().waitFor()
          expect(await findBarriers(page)).toEqual([])
          await page.getByRole('combobox').fill('browser')
          await page
            .getByRole('option', { name: 'Browser $browser', exact: true })
            .first()
            .waitFor()
          await page.keyboard.press('Enter')
          await page.getByRole('option', { name: /Chrome/ }).waitFor()
          expect(await findBarriers(page)).toEqual([])
          await page.keyboard.press('Escape')
          await page.keyboard.press('Control+k')
          await page.getByRole('dialog').waitFor()
          expect(await findBarriers(page)).toEqual([])
          await page.keyboard.press('Escape')
          await page.keyboard.press('?')
          await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
          expect(await findBarriers(page)).toEqual([])
          await page.keyboard.press('Escape')
          await page.getByRole('button', { name: 'Owner' }).filter({ visible: true }).click()
          await page.getByRole('menuitem', { name: 'Log out' }).waitFor()
          expect(await findBarriers(page)).toEqual([])
          expect(visit.complaints).toEqual([])
        },
      )
    }
  }

  test('the palette opens, finds and goes by keyboard alone', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/web`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox')
    await field.waitFor()
    await page.keyboard.type('even')
    await page.getByRole('option', { name: /Events/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await field.waitFor()
    await page.keyboard.type('document_cr')
    await page.getByRole('option', { name: 'document_created' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/events?event=document_created')
    expect(visit.complaints).toEqual([])
  })

  test('the palette shows what was found beside what could not be searched', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.route('**/insights/?search=**', (route) =>
      route.fulfill({ status: 500, json: { type: 'server_error', code: 'error', detail: 'No.' } }),
    )
    await page.goto(`/p/${ui.project}/web`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').waitFor()
    await page.keyboard.type('document_cr')
    await page.getByRole('option', { name: 'document_created' }).waitFor()
    await page.getByText('Could not be searched: insights.').waitFor()
  })

  test('letters go to pages, unless they are turned off or typed into a field', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    await page.goto(`/p/${ui.project}/web`)
    await heading('Web')
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await heading('Events')
    await page.keyboard.press('?')
    await page.getByRole('switch', { name: 'Shortcuts of a single letter' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(new URL(page.url()).pathname).toBe(`/p/${ui.project}/events`)
    // ⌘K and Ctrl K are no single letters.
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').waitFor()
    await page.keyboard.type('g w')
    await expectSoon(() => page.getByRole('combobox').inputValue(), 'g w')
  })

  longTest('the menu of the user follows arrows, and Escape gives the focus back', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/events`)
    const opener = page.getByRole('button', { name: 'Owner' }).filter({ visible: true })
    await opener.focus()
    const name = await focusedName(page)
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Your account' }).waitFor()
    await expectSoon(() => focusedName(page), 'Your account')
    await page.keyboard.press('ArrowUp')
    await expectSoon(() => focusedName(page), 'Log out')
    await page.keyboard.press('d')
    await expectSoon(() => focusedName(page), 'Dark')
    await page.keyboard.press('Escape')
    await expectSoon(() => focusedName(page), name)
  })

  test('a chosen theme holds after a reload, against that of the system', async () => {
    await using visit = await ui.visit({ scheme: 'light' })
    const { page } = visit
    const background = () =>
      page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
    await page.goto(`/p/${ui.project}/events`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await background()).toBe('rgb(255, 255, 255)')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('dark')
    await page.keyboard.press('Enter')
    await expectSoon(background, 'rgb(14, 19, 24)')
    await page.reload()
    await expectSoon(background, 'rgb(14, 19, 24)')
    // For those who want little motion nothing moves, not even briefly: each element would have transitions.
    await page.emulateMedia({ reducedMotion: 'reduce' })
    const moving = `document.documentElement.style.fontSize = '17px'
      document.getAnimations().filter((one) => one instanceof CSSTransition).length`
    expect(await page.evaluate<number>(moving)).toBe(0)
  })

  test('a print has the page alone, in light colours, and its lists whole', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/events`)
    await page.locator('tbody tr').first().waitFor()
    await page.evaluate("document.documentElement.dataset.theme = 'dark'")
    await page.emulateMedia({ media: 'print' })
    expect(await page.getByRole('link').count()).toBe(0)
    expect(
      await page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor'),
    ).toBe('rgb(255, 255, 255)')
    const list = page.getByRole('region', { name: 'Events' })
    expect(await list.evaluate((one) => one.scrollHeight - one.clientHeight)).toBe(0)
    await page.emulateMedia({ media: null })
    await page.getByRole('link', { name: 'Persons' }).first().waitFor()
  })

  test('a chart in the dark theme is printed in light colours, and then dark again', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/web`)
    await page.evaluate("document.documentElement.dataset.theme = 'dark'")
    const gridNow = () => page.evaluate<string | null>(GRID_COLOUR)
    await expectSoon(gridNow, '34,42,50')
    await page.evaluate(
      `addEventListener('beforeprint', () => queueMicrotask(() => { window.printed = ${GRID_COLOUR} }))`,
    )
    await page.pdf()
    expect(await page.evaluate<string>('window.printed')).toBe('228,233,238')
    await expectSoon(gridNow, '34,42,50')
  })

  longTest('a session that ends in mid-work is begun again over the page', async () => {
    await using visit = await ui.visit()
    const { page, context } = visit
    await page.goto(`/p/${ui.project}/web`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await context.clearCookies()
    // Not a click: a request that was under way may have opened the dialog over the link.
    await page.getByRole('link', { name: 'Events' }).dispatchEvent('click')
    const dialog = page.getByRole('dialog', { name: 'Log in to continue' })
    await dialog.waitFor()
    await dialog.locator('input[type=password]').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('tbody tr').first().waitFor()
    expect(new URL(page.url()).pathname).toBe(`/p/${ui.project}/events`)
  })
})
