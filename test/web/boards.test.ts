/** Boards: tiles by pointer and keys, filters for all of them, answers asked again, and the public link. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  expectOpen,
  findBarriers,
  focusedName,
  type Interface,
  openInterface,
  SCREENS,
  schemesOf,
  settle,
  sidewaysScroll,
} from './interface.ts'

limitTests(60_000)

const boardsPath = () => `/api/projects/${ui.project}/dashboards/`

let ui: Interface
beforeAll(async () => {
  if (HAS_BROWSER) ui = await openInterface({ demo_persons: 30 })
})
afterAll(() => ui?.[Symbol.asyncDispose]())

type BoardAnswer = {
  readonly id: number
  readonly filters: Readonly<Record<string, unknown>>
  readonly tiles: readonly {
    readonly id: number
    readonly layouts: { readonly sm?: { readonly w: number; readonly h: number } }
    readonly text: { readonly body: string } | null
    readonly insight: { readonly name: string } | null
  }[]
}

/** A board with one saved query. */
async function makeSqlBoard(
  name: string,
  query: object,
): Promise<{ readonly id: number; readonly short_id: string }> {
  const board = JSON.stringify({ name: 'SQL' })
  const { id } = (await ui.api(boardsPath(), { method: 'POST', body: board })) as BoardAnswer
  const { short_id } = (await ui.api(`/api/projects/${ui.project}/insights/`, {
    method: 'POST',
    body: JSON.stringify({ name, query, dashboards: [id] }),
  })) as { readonly short_id: string }
  return { id, short_id }
}

const read = async (id: number) => (await ui.api(`${boardsPath()}${id}/`)) as BoardAnswer

async function makeBoard(): Promise<number> {
  const body = JSON.stringify({ name: 'Everything', use_template: 'Product analytics' })
  return ((await ui.api(boardsPath(), { method: 'POST', body })) as BoardAnswer).id
}

/** A board of two charts, for what does not depend on its tiles: a board from the template asks for seven answers. */
async function makeSmallBoard(): Promise<number> {
  const body = JSON.stringify({ name: 'Small' })
  const { id } = (await ui.api(boardsPath(), { method: 'POST', body })) as BoardAnswer
  for (const name of ['First views', 'Second views']) {
    const series = [{ kind: 'EventsNode', event: '$pageview', custom_name: name }]
    const source = { kind: 'TrendsQuery', series, dateRange: { date_from: '-7d' } }
    const insight = { name, query: { kind: 'InsightVizNode', source }, dashboards: [id] }
    await ui.api(`/api/projects/${ui.project}/insights/`, {
      method: 'POST',
      body: JSON.stringify(insight),
    })
  }
  return id
}

async function open(page: Page, id: number, search = ''): Promise<void> {
  await page.goto(`/p/${ui.project}/boards/${id}${search}`)
  await page.locator('article figure').first().waitFor()
}

const titles = (page: Page): Promise<string[]> =>
  page.locator('main article header a').allInnerTexts()

/** Waits until a value is as expected; the last one is compared. */
async function expectSoon(look: () => Promise<unknown>, expected: unknown): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (JSON.stringify(await look()) === JSON.stringify(expected)) return
    await Bun.sleep(100)
  }
  expect(await look()).toEqual(expected)
}

describe.skipIf(!HAS_BROWSER)('saved insights', () => {
  test('are listed, searched, renamed, and deleted with a way back', async () => {
    await makeSqlBoard('Sevens', { kind: 'HogQLQuery', query: 'select 7' })
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/boards`)
    await page.getByText('Insights', { exact: true }).click()
    const found = page.getByRole('link', { name: /^Sevens/ })
    await found.waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('searchbox', { name: 'Search insights' }).fill('nothing of this name')
    await page.getByText('No insights found').waitFor()
    await page.getByRole('searchbox', { name: 'Search insights' }).fill('seven')
    expect(await found.innerText()).toMatch(/^Sevens\s+SQL · on a board\s/)
    await page.getByRole('button', { name: 'Actions of Sevens' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    const dialog = page.getByRole('dialog', { name: 'Rename the insight' })
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Sevens and more')
    await dialog.getByRole('button', { name: 'Rename' }).click()
    const renamed = page.getByRole('link', { name: /^Sevens and more/ })
    await renamed.waitFor()
    await page.getByRole('button', { name: 'Actions of Sevens and more' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('Insight deleted').waitFor()
    await renamed.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.reload()
    await renamed.click()
    await page.getByRole('heading', { level: 1, name: 'Sevens and more' }).waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('are renamed, put on a board and deleted from their own page, which lists then know', async () => {
    const path = `/api/projects/${ui.project}/insights/`
    const query = {
      kind: 'InsightVizNode',
      source: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: '$pageview' }] },
    }
    const init = { method: 'POST', body: JSON.stringify({ name: 'Eights', saved: true, query }) }
    type Made = { readonly id: number; readonly short_id: string }
    const { id, short_id } = (await ui.api(path, init)) as Made
    const makeNamed = async (name: string): Promise<number> => {
      const board = { method: 'POST', body: JSON.stringify({ name }) }
      return ((await ui.api(`/api/projects/${ui.project}/dashboards/`, board)) as Made).id
    }
    const board_id = await makeNamed('Of eights')
    await using visit = await ui.visit()
    const { page } = visit
    const choose = async (item: string): Promise<void> => {
      await page.getByRole('button', { name: 'Actions of the insight' }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await page.goto(`/p/${ui.project}/insights/${short_id}`)
    await page.getByRole('heading', { level: 1, name: 'Eights' }).waitFor()
    await choose('Rename')
    const dialog = page.getByRole('dialog', { name: 'Rename the insight' })
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Nines')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Nines' }).waitFor()
    // Another user puts it on another board meanwhile.
    const other = await makeNamed('Other')
    await ui.api(`${path}${id}/`, {
      method: 'PATCH',
      body: JSON.stringify({ dashboards: [other] }),
    })
    await choose('Add to a board')
    await page.getByRole('combobox', { name: 'Board' }).fill('eights')
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByText('Added to Of eights').waitFor()
    const { dashboards } = (await ui.api(`${path}${id}/`)) as { readonly dashboards: number[] }
    expect(new Set(dashboards)).toEqual(new Set([board_id, other]))
    await page.getByRole('button', { name: 'Open the board' }).click()
    await page.getByRole('article', { name: 'Nines' }).waitFor()
    await page.goBack()
    await choose('Delete')
    await page.getByText('Insight deleted').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Boards' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: /^Nines/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Nines' }).waitFor()
    expect(visit.complaints).toEqual([])
  })
})

test.skipIf(!HAS_BROWSER)('of long lists the old things are found too', async () => {
  await using many = await openInterface({ demo_persons: 0 })
  const path = `/api/projects/${many.project}`
  const post = (family: string, body: object) =>
    many.api(`${path}/${family}/`, { method: 'POST', body: JSON.stringify(body) })
  const source = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'first' }] }
  const query = { kind: 'InsightVizNode', source }
  const oldest = await post('insights', { name: 'The oldest trend', saved: true, query })
  await post('alerts', {
    insight: (oldest as { readonly id: number }).id,
    name: 'Old',
    config: { type: 'TrendsAlertConfig', series_index: 0 },
    condition: { type: 'absolute_value' },
    threshold: { configuration: { type: 'absolute', bounds: { upper: 1 } } },
  })
  await post('dashboards', { name: 'The oldest board' })
  const numbers = Array.from({ length: 200 }, (_, number) => number)
  await Promise.all(
    numbers.map((at) => post('insights', { name: `New ${at}`, saved: true, query })),
  )
  await Promise.all(numbers.slice(0, 50).map((at) => post('dashboards', { name: `New ${at}` })))
  await using visit = await many.visit()
  const { page } = visit
  await page.goto(`/p/${many.project}/alerts`)
  await page.getByRole('button', { name: 'Actions of Old' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Trend: The oldest trend' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'New alert' }).click()
  await page.getByRole('button', { name: /^Trend: New / }).click()
  await page.getByRole('combobox', { name: 'Trend' }).fill('oldest')
  await page.getByRole('option', { name: 'The oldest trend' }).click()
  await page.getByLabel('Value').fill('12')
  await page.getByRole('button', { name: 'Create alert' }).click()
  await expectSoon(() => page.getByRole('link', { name: 'The oldest trend' }).count(), 2)
  await page.goto(`/p/${many.project}/boards`)
  const names = page.locator('main li strong')
  await expectSoon(() => names.count(), 50)
  const first_names = await names.allInnerTexts()
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByRole('link', { name: 'The oldest board' }).waitFor()
  // A further page is below what was there.
  expect((await names.allInnerTexts()).slice(0, 50)).toEqual(first_names)
  await page.getByRole('link', { name: 'The oldest board' }).click()
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('100 more: type to find them').waitFor()
  await page.getByRole('combobox', { name: 'Insight' }).fill('oldest')
  await page.getByRole('option', { name: 'The oldest trend' }).click()
  await page.getByRole('article', { name: 'The oldest trend' }).waitFor()
  expect(visit.complaints).toEqual([])
})

test.skipIf(!HAS_BROWSER)(
  'a board is made once by a double click, and the focus is never lost on the way to its end',
  async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const posts: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') posts.push(new URL(request.url()).pathname)
    })
    await page.goto(`/p/${ui.project}/boards`)
    await page.getByRole('button', { name: 'New board' }).click()
    await page.getByRole('button', { name: /^Empty board/ }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'New board' }).waitFor()
    await page.locator('main:focus').waitFor()
    expect(posts.filter((path) => path === boardsPath())).toHaveLength(1)
    const menu = page.getByRole('button', { name: 'Actions of the board' })
    for (const item of ['Rename', 'Share with a link']) {
      await menu.click()
      await page.getByRole('menuitem', { name: item }).click()
      await page.getByRole('dialog', { name: /Rename|Share/ }).waitFor()
      await page.keyboard.press('Escape')
      await expectSoon(() => focusedName(page), 'Actions of the board')
    }
    await menu.click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('Board deleted').waitFor()
    await page.locator('main:focus').waitFor()
    expect(visit.complaints).toEqual([])
  },
)

describe.skipIf(!HAS_BROWSER)('tiles', () => {
  longTest('move and grow by arrow keys, with the focus on them', async () => {
    const id = await makeBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    const [first = '', second = '', ...others] = await titles(page)
    await page.getByRole('button', { name: `Move ${first}` }).focus()
    await page.keyboard.press('ArrowRight')
    await expectSoon(() => titles(page), [second, first, ...others])
    await page.keyboard.press('ArrowLeft')
    await expectSoon(() => titles(page), [first, second, ...others])
    await page.getByRole('button', { name: `Size of ${first}: 6 columns, 5 rows` }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('button', { name: `Size of ${first}: 7 columns, 5 rows` }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('button', { name: `Size of ${first}: 7 columns, 6 rows` }).waitFor()
    await expectSoon(
      async () => (await read(id)).tiles.find((tile) => tile.insight?.name === first)?.layouts.sm,
      { x: 0, y: 0, w: 7, h: 6, minW: 3, minH: 5 },
    )
    expect(visit.complaints).toEqual([])
  })

  test('move and grow by the pointer', async () => {
    const id = await makeBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    const [first = '', second = '', ...others] = await titles(page)
    const drag = async (name: RegExp, to: readonly [number, number]): Promise<void> => {
      const box = await page.getByRole('button', { name }).boundingBox()
      if (box === null) throw new Error('no handle')
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
      await page.mouse.move(x, y)
      await page.mouse.down()
      await page.mouse.move(x + to[0], y + to[1], { steps: 5 })
      await page.mouse.up()
    }
    const grid = await page.locator('[data-grid]').boundingBox()
    const column = (grid?.width ?? 0) / 12
    await drag(new RegExp(`^Move ${first}`), [column * 6, 60])
    await expectSoon(() => titles(page), [second, first, ...others])
    await drag(new RegExp(`^Size of ${second}`), [-column * 2, 80])
    await page.getByRole('button', { name: `Size of ${second}: 4 columns, 6 rows` }).waitFor()
    expect(visit.complaints).toEqual([])
  })

  longTest('of text are written, and written again', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    await page.getByRole('button', { name: 'Actions of the board' }).click()
    await page.getByRole('menuitem', { name: 'Add a text' }).click()
    await page.getByRole('textbox', { name: 'Text' }).fill('<b>For the wall</b>')
    await page.getByRole('button', { name: 'Add', exact: true }).last().click()
    await page.getByText('<b>For the wall</b>').waitFor()
    await page.getByRole('button', { name: 'Actions of Text' }).click()
    await page.getByRole('menuitem', { name: 'Edit the text' }).click()
    await page.getByRole('textbox', { name: 'Text' }).fill('Numbers of the week')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Numbers of the week').waitFor()
    expect((await read(id)).tiles.flatMap(({ text }) => text?.body ?? [])).toEqual([
      'Numbers of the week',
    ])
  })
})

describe.skipIf(!HAS_BROWSER)('the menu of a tile', () => {
  test('has the HogQL, a link, a command, a table and a picture of the chart, in which hostile names stay texts', async () => {
    const name = '=1+1 <img src=x onerror=alert(1)>'
    const source = {
      kind: 'HogQLQuery',
      query: 'select \'=evil()\' as "<b>word</b>", 2000 as n',
    }
    const board = await makeSqlBoard(name, { kind: 'DataVisualizationNode', source })
    await using visit = await ui.visit()
    const { page, context } = visit
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`/p/${ui.project}/boards/${board.id}`)
    await page.getByRole('cell', { name: '=evil()' }).waitFor()
    await page.getByRole('cell', { name: '2,000' }).waitFor()
    const choose = async (item: string): Promise<void> => {
      await page.getByRole('button', { name: `Actions of ${name}` }).click()
      await page.getByRole('menuitem', { name: item, exact: true }).click()
    }
    const save = async (item: string) => {
      const [file] = await Promise.all([page.waitForEvent('download'), choose(item)])
      return Buffer.from(await Bun.file(await file.path()).bytes())
    }
    expect((await save('Download CSV')).toString()).toBe("<b>word</b>,n\r\n'=evil(),2000")
    expect((await save('Download PNG')).subarray(1, 4).toString()).toBe('PNG')
    await choose('Copy link')
    await page.getByText('Link copied').waitFor()
    const link = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(link).toEndWith(`/p/${ui.project}/insights/${board.short_id}`)
    await choose('Copy as curl')
    await page.getByText('Command copied').waitFor()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(command).toContain('Bearer $TIDEMARK_API_KEY')
    await choose('HogQL')
    await page.getByRole('link', { name: 'Open in SQL' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  longTest('stays inside of the window where it fits neither below nor above', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    const [name = ''] = await titles(page)
    const opener = page.getByRole('button', { name: `Actions of ${name}` })
    for (const height of [900, 560]) {
      await page.setViewportSize({ width: 1440, height })
      await opener.click()
      const isInside = async (): Promise<boolean> => {
        const box = await page.locator('[popover]:popover-open').boundingBox()
        return box !== null && box.y >= 0 && box.y + box.height <= height
      }
      // The browser chooses another side a frame after the panel is filled.
      await expectSoon(isInside, true)
      await page.keyboard.press('Escape')
    }
    expect(visit.complaints).toEqual([])
  })

  longTest('of SQL shows it as it was saved, also by the public link', async () => {
    const source = {
      kind: 'HogQLQuery',
      query: "select toDate('2026-01-01') + number as day, number as n from numbers(9)",
    }
    await using visit = await ui.visit({ width: 390, scheme: 'dark' })
    const { page } = visit
    for (const [display, drawn] of [
      ['ActionsLineGraph', 'canvas'],
      ['ActionsBar', 'canvas'],
      ['BoldNumber', 'article p:has-text("n")'],
      ['ActionsTable', 'article td'],
      ['<none>', 'article td'],
    ] as const) {
      const { id } = await makeSqlBoard(display, { kind: 'DataVisualizationNode', source, display })
      await page.goto(`/p/${ui.project}/boards/${id}`)
      await page.locator(drawn).first().waitFor()
      expect([display, await sidewaysScroll(page)]).toEqual([display, 0])
      if (display !== '<none>' || EVERY_CASE) {
        expect([display, await findBarriers(page)]).toEqual([display, []])
      }
      await page.goto(await linkOf(id))
      await page.locator(drawn).first().waitFor()
      expect([display, visit.complaints]).toEqual([display, []])
    }
  })
})

describe.skipIf(!HAS_BROWSER)('a range for all tiles', () => {
  test('is in the address, and is stored for everybody when that is asked for', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit()
    const { page } = visit
    const asked: unknown[] = []
    page.on('request', (request) => {
      if (!request.url().endsWith('/query/')) return
      asked.push((request.postDataJSON() as { query: { dateRange?: unknown } }).query.dateRange)
    })
    await open(page, id, '?from=-3d')
    await page.getByText('Only you see this').waitFor()
    await page.getByRole('button', { name: 'Last 3 days' }).waitFor()
    expect(asked).toContainEqual({ date_from: '-3d', date_to: null })
    await page.getByRole('button', { name: 'Save for all' }).click()
    await page.getByText('Only you see this').waitFor({ state: 'detached' })
    expect((await read(id)).filters).toMatchObject({ date_from: '-3d' })
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('button', { name: "Use the insights' own ranges" }).click()
    await page.getByRole('button', { name: 'Revert' }).click()
    await page.getByText('Only you see this').waitFor({ state: 'detached' })
  })

  longTest('goes with conditions, which narrow every insight', async () => {
    const id = await makeSmallBoard()
    const filter = [{ type: 'event', key: '$browser', value: ['Firefox'], operator: 'exact' }]
    const filters = encodeURIComponent(JSON.stringify(filter))
    await using visit = await ui.visit()
    const { page } = visit
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/query/')) asked.push(request.postData() ?? '')
    })
    await open(page, id, `?filters=${filters}`)
    await page.getByRole('button', { name: /^Remove the filter/ }).waitFor()
    expect(asked.filter((body) => !body.includes('"Firefox"'))).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('answers', () => {
  test('are all asked again although the first ones fail, and say that once', async () => {
    const id = await makeBoard()
    for (const event of ['a', 'b']) {
      const series = [{ kind: 'EventsNode', event }]
      const query = { kind: 'InsightVizNode', source: { kind: 'TrendsQuery', series } }
      const body = JSON.stringify({ name: event, query, dashboards: [id] })
      await ui.api(`/api/projects/${ui.project}/insights/`, { method: 'POST', body })
    }
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    const { tiles } = await read(id)
    const count = tiles.filter(({ insight }) => insight !== null).length
    expect(count).toBeGreaterThan(4)
    await settle(page)
    let asked = 0
    await page.route(/\/query\/$/, async (route) => {
      asked += 1
      if (asked > 4) return route.continue()
      const body = { type: 'server_error', code: 'error', detail: 'No luck.', attr: null }
      return route.fulfill({ status: 500, json: body })
    })
    await page.getByRole('button', { name: 'Refresh', exact: true }).click()
    await page.getByText('No luck.').waitFor()
    await expectSoon(async () => asked, count)
  })

  longTest('show their age, and are computed again when that is asked for', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    await page.getByText(/^computed /).waitFor()
    const forced = page.waitForRequest(
      (request) =>
        request.url().endsWith('/query/') &&
        (request.postData() ?? '').includes('"force_blocking"'),
    )
    await page.getByRole('button', { name: 'Refresh', exact: true }).click()
    await forced
    await page.getByRole('button', { name: 'Refresh', exact: true, disabled: false }).waitFor()
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('a screen on the wall', () => {
  test('fills the window, asks by itself, and is left again', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit({ is_alone: true })
    const { page } = visit
    // The browser's clock is moved by hand: five minutes are not waited for.
    await page.clock.install()
    await open(page, id)
    const choose = async (item: string): Promise<void> => {
      await page.getByRole('button', { name: 'Actions of the board' }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    const isFull = () => page.evaluate<boolean>('document.fullscreenElement !== null')
    await choose('Full screen')
    await expectSoon(isFull, true)
    const forced = page.waitForRequest((request) =>
      (request.postData() ?? '').includes('"force_blocking"'),
    )
    await page.clock.runFor(5 * 60_000)
    await forced
    await choose('Exit full screen')
    await expectSoon(isFull, false)
    expect(visit.complaints).toEqual([])
  })

  longTest('asks as often as the address says', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit({ is_alone: true })
    const { page } = visit
    await page.clock.install()
    await open(page, id, '?every=1')
    const forced = page.waitForRequest((request) =>
      (request.postData() ?? '').includes('"force_blocking"'),
    )
    await page.clock.runFor(60_000)
    await forced
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('a subscription', () => {
  longTest('is made, refused for private addresses, and ended', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    await page.getByRole('button', { name: 'Actions of the board' }).click()
    await page.getByRole('menuitem', { name: 'Post to a webhook' }).click()
    await page.getByRole('textbox', { name: 'Webhook' }).fill('http://127.0.0.1/')
    await page.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByText('The URL leads to a private address.').waitFor()
    await page.getByRole('textbox', { name: 'Webhook' }).fill('https://hooks.example.com/x')
    await page.getByLabel('How often').selectOption('Every week')
    await page.getByLabel('First time').fill('2030-01-01T08:00')
    await page.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByText(/^Every week, next 1 Jan/).waitFor()
    expect(await findBarriers(page)).toEqual([])
    const list = (await ui.api(`/api/projects/${ui.project}/subscriptions/?dashboard=${id}`)) as {
      readonly results: readonly object[]
    }
    expect(list.results).toEqual([
      expect.objectContaining({ frequency: 'weekly', target_value: 'https://hooks.example.com/x' }),
    ])
    await page.getByRole('button', { name: 'Stop posting to hooks.example.com' }).click()
    await page.getByText(/^Every week, next/).waitFor({ state: 'detached' })
  })
})

describe.skipIf(!HAS_BROWSER)('the public link', () => {
  test('is opened, shows the board to anybody, and is ended', async () => {
    const id = await makeSmallBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    await page.getByRole('button', { name: 'Actions of the board' }).click()
    await page.getByRole('menuitem', { name: 'Share with a link' }).click()
    await page.getByText('Anyone with the link').click()
    const link = await page.getByLabel('Link', { exact: true }).inputValue()
    await using stranger = await ui.visit({ is_out: true })
    await stranger.page.goto(link)
    await stranger.page.locator('article figure').first().waitFor()
    expect(await stranger.page.locator('article header h2').allInnerTexts()).toEqual(
      await titles(page),
    )
    expect(await stranger.page.locator('article header button').count()).toBe(0)
    expect(stranger.complaints).toEqual([])
    await page.getByText('Anyone with the link').click()
    await page.getByLabel('Link', { exact: true }).waitFor({ state: 'detached' })
    await stranger.page.reload()
    await stranger.page.getByRole('heading', { name: 'This link is no longer valid' }).waitFor()
    expect(visit.complaints).toEqual([])
  })

  longTest.each(devicesOf(0))('is as wide as the window, without a barrier: %s', async (device) => {
    await using visit = await ui.visit({ width: SCREENS[device][0], is_out: true })
    await visit.page.goto(await openLink())
    await visit.page.locator('article figure').first().waitFor()
    await expectFits(visit.page)
    await expectOpen(visit.page, schemesOf(0))
    expect(visit.complaints).toEqual([])
  })
})

let link: Promise<string> | null = null

/** The address of one board's public link. */
function openLink(): Promise<string> {
  link ??= makeBoard().then(linkOf)
  return link
}

async function linkOf(board_id: number): Promise<string> {
  const body = JSON.stringify({ enabled: true })
  const path = `${boardsPath()}${board_id}/sharing/`
  const opened = (await ui.api(path, { method: 'PATCH', body })) as {
    readonly access_token: string
  }
  return `/shared/${opened.access_token}`
}
