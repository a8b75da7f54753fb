/** Boards: tiles by pointer and keys, filters for all of them, answers asked again, and the public link. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/browser.ts'
import { findBarriers, type Interface, openInterface, sidewaysScroll } from './interface.ts'

setDefaultTimeout(60_000)

const BOARDS = '/api/projects/1/dashboards/'

let ui: Interface
beforeAll(async () => {
  if (HAS_BROWSER) ui = await openInterface()
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

const read = async (id: number) => (await ui.api(`${BOARDS}${id}/`)) as BoardAnswer

async function makeBoard(): Promise<number> {
  const body = JSON.stringify({ name: 'Everything', use_template: 'Product analytics' })
  return ((await ui.api(BOARDS, { method: 'POST', body })) as BoardAnswer).id
}

async function open(page: Page, id: number, search = ''): Promise<void> {
  await page.goto(`/p/1/boards/${id}${search}`)
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

describe.skipIf(!HAS_BROWSER)('tiles', () => {
  test('move and grow by arrow keys, with the focus on them', async () => {
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

  test('of text are written, and written again', async () => {
    const id = await makeBoard()
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

describe.skipIf(!HAS_BROWSER)('a range for all tiles', () => {
  test('is in the address, and is stored for everybody when that is asked for', async () => {
    const id = await makeBoard()
    await using visit = await ui.visit()
    const { page } = visit
    const asked: unknown[] = []
    page.on('request', (request) => {
      if (!request.url().endsWith('/query/')) return
      asked.push((request.postDataJSON() as { query: { dateRange?: unknown } }).query.dateRange)
    })
    await open(page, id, '?from=-3d')
    await page.getByText('Only you see it so').waitFor()
    expect(asked).toContainEqual({ date_from: '-3d', date_to: null })
    await page.getByRole('button', { name: 'Save for all' }).click()
    await page.getByText('Only you see it so').waitFor({ state: 'detached' })
    expect((await read(id)).filters).toMatchObject({ date_from: '-3d' })
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('button', { name: 'Give each insight its own range' }).click()
    await page.getByRole('button', { name: 'Revert' }).click()
    await page.getByText('Only you see it so').waitFor({ state: 'detached' })
  })

  test('goes with conditions, which narrow every insight', async () => {
    const id = await makeBoard()
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
  test('show their age, and are computed again when that is asked for', async () => {
    const id = await makeBoard()
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

describe.skipIf(!HAS_BROWSER)('a subscription', () => {
  test('is made, refused for private addresses, and ended', async () => {
    const id = await makeBoard()
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
    const list = (await ui.api(`/api/projects/1/subscriptions/?dashboard=${id}`)) as {
      readonly results: readonly object[]
    }
    expect(list.results).toEqual([
      expect.objectContaining({ frequency: 'weekly', target_value: 'https://hooks.example.com/x' }),
    ])
    await page.getByRole('button', { name: 'End the posts to hooks.example.com' }).click()
    await page.getByText(/^Every week, next/).waitFor({ state: 'detached' })
  })
})

describe.skipIf(!HAS_BROWSER)('the public link', () => {
  test('is opened, shows the board to anybody, and is ended', async () => {
    const id = await makeBoard()
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, id)
    await page.getByRole('button', { name: 'Actions of the board' }).click()
    await page.getByRole('menuitem', { name: 'Share by a link' }).click()
    await page.getByText('Anybody with the link').click()
    const link = await page.getByLabel('Link', { exact: true }).inputValue()
    await using stranger = await ui.visit({ is_out: true })
    await stranger.page.goto(link)
    await stranger.page.locator('article figure').first().waitFor()
    expect(await stranger.page.locator('article header h2').allInnerTexts()).toEqual(
      await titles(page),
    )
    expect(await stranger.page.locator('article header button').count()).toBe(0)
    expect(stranger.complaints).toEqual([])
    await page.getByText('Anybody with the link').click()
    await page.getByLabel('Link', { exact: true }).waitFor({ state: 'detached' })
    await stranger.page.reload()
    await stranger.page.getByText('This link has ended').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test.each([320, 390, 768, 1440])('is as wide as a window of %d px', async (width) => {
    await using visit = await ui.visit({ width, is_out: true })
    await visit.page.goto(await openLink())
    await visit.page.locator('article figure').first().waitFor()
    expect(await sidewaysScroll(visit.page)).toBe(0)
  })

  test.each(['light', 'dark'] as const)('has no barrier: %s', async (scheme) => {
    await using visit = await ui.visit({ scheme, is_out: true })
    await visit.page.goto(await openLink())
    await visit.page.locator('article figure').first().waitFor()
    expect(await findBarriers(visit.page)).toEqual([])
    expect(visit.complaints).toEqual([])
  })
})

let link: Promise<string> | null = null

/** The address of one board's public link. */
function openLink(): Promise<string> {
  link ??= (async () => {
    const body = JSON.stringify({ enabled: true })
    const path = `${BOARDS}${await makeBoard()}/sharing/`
    const opened = (await ui.api(path, { method: 'PATCH', body })) as {
      readonly access_token: string
    }
    return `/shared/${opened.access_token}`
  })()
  return link
}
