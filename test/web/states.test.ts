/** What every page holds in every state: slow, failing, empty; by keyboard alone; after a reload and the way back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests } from '../long-tests.ts'
import { EVERY_PAGE, fillPages, type PageIds, type TestedPage } from './every-page.ts'
import {
  expectFits,
  expectOpen,
  type Interface,
  openInterface,
  schemesOf,
  settle,
  widthsOf,
} from './interface.ts'

limitTests(120_000)

const NAMES = EVERY_PAGE.map(({ name }) => name)
const DELAY_MS = 300

/** Pages take turns at the states by their number; with `EVERY_CASE=1` each is seen in all of them. */
const inTurn = (names: readonly string[], turn: number): readonly string[] =>
  EVERY_CASE ? names : names.filter((_, number) => number % 3 === turn)
/** Every call of a page but that for the session. */
const ANSWERS = /\/api\/(?!session\/)/
/** Those, and the one that asks whether the server is there. */
const SERVER = /\/api\/(?!session\/)|\/_readiness/

const pageOf = (name: string) => {
  const found = EVERY_PAGE.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no page ${name}`)
  return found
}

describe.skipIf(!HAS_BROWSER)('every page', () => {
  let ui: Interface
  let ids: PageIds
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 20 })
    ids = await fillPages(ui)
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  /** While the answers are on their way there is something to read and use; once they come, they are drawn. */
  const expectDrawnSlowly = async (page: Page, { name, path, drawn }: TestedPage) => {
    const held = Promise.withResolvers<void>()
    await page.route(ANSWERS, async (route) => {
      // The server has the query at once, and tells its progress.
      const is_query = new URL(route.request().url()).pathname.endsWith('/query/')
      const response = is_query ? await route.fetch() : null
      await held.promise
      // The page may have left the request meanwhile.
      const answered = response === null ? route.continue() : route.fulfill({ response })
      await answered.catch(() => undefined)
    })
    await page.goto(path(ids))
    await page.locator('h1, [aria-busy=true]').first().waitFor()
    await page.waitForTimeout(DELAY_MS)
    expect(await page.getByRole('alert').count()).toBe(0)
    const number = NAMES.indexOf(name)
    if (number % 2 === 0 || EVERY_CASE) await expectOpen(page, schemesOf(number / 2))
    await expectFits(page, widthsOf(number))
    held.resolve()
    await page.locator(drawn).first().waitFor()
    // Those still under way go on to the server: to wait for them may never end.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }

  /** A reload shows the same page, and so does Back from another one. */
  const expectSameAgain = async (page: Page, { name, drawn }: TestedPage) => {
    const address = page.url()
    const title = await page.locator('h1').innerText()
    await page.reload()
    await page.locator(drawn).first().waitFor()
    expect([page.url(), await page.locator('h1').innerText()]).toEqual([address, title])
    await page
      .getByRole('link', { name: name === 'Persons' ? 'Events' : 'Persons' })
      .first()
      .click()
    await page.locator('tbody tr').first().waitFor()
    await page.goBack()
    await page.locator(drawn).first().waitFor()
    expect([page.url(), await page.locator('h1').innerText()]).toEqual([address, title])
  }

  // One visit for all of it: opening a page is most of its processor time.
  test.each(inTurn(NAMES, 0))(
    'is drawn before its answers, which may be slow; by keyboard; after a reload and on the way back: %s',
    async (name) => {
      await using visit = await ui.visit()
      await expectDrawnSlowly(visit.page, pageOf(name))
      await expectFocusInSight(visit.page)
      await expectSameAgain(visit.page, pageOf(name))
      expect(visit.complaints).toEqual([])
    },
  )

  test.each(inTurn(NAMES, 1))(
    'says that no answer comes, and draws itself when one does: %s',
    async (name) => {
      const { path, drawn } = pageOf(name)
      await using visit = await ui.visit()
      const { page } = visit
      await page.route(SERVER, (route) => route.abort())
      await page.goto(path(ids))
      await page.getByText('The server does not answer.').first().waitFor()
      const number = NAMES.indexOf(name)
      if (number % 2 === 1 || EVERY_CASE) await expectOpen(page, schemesOf((number - 1) / 2))
      await expectFits(page, widthsOf(number + 1))
      await page.unrouteAll()
      await page.locator(drawn).first().waitFor()
      await page.getByText('The server does not answer.').first().waitFor({ state: 'detached' })
    },
  )
})

describe.skipIf(!HAS_BROWSER)('in a project without anything', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 0 })
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  const EMPTY = EVERY_PAGE.filter(({ empty }) => empty !== undefined)
  test.each(
    inTurn(
      EMPTY.map(({ name }) => name),
      1,
    ),
  )('%s says what to do next', async (name) => {
    const { path, empty = '' } = pageOf(name)
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(
      path({
        project: ui.project,
        board_id: 0,
        flag_id: 0,
        cohort_id: 0,
        event_id: '',
        property_id: '',
        action_id: 0,
        survey_id: '',
        experiment_id: 0,
        person_id: '',
        insight_id: '',
        group_key: '',
      }),
    )
    await page.getByText(empty).first().waitFor()
    await settle(page)
    expect(await page.getByRole('alert').count()).toBe(0)
    const number = EMPTY.findIndex((one) => one.name === name)
    await expectOpen(page, schemesOf(number))
    await expectFits(page, widthsOf(number))
    expect(visit.complaints).toEqual([])
  })
})

/** Tab comes to every control, and each is in sight while it has the focus. */
async function expectFocusInSight(page: Page): Promise<void> {
  await settle(page)
  const controls = await page.evaluate<readonly string[]>(MARK_CONTROLS)
  expect(controls.length).toBeGreaterThan(8)
  const seen = new Map<number, boolean>()
  for (let presses = 0; presses < controls.length + 10; presses += 1) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate<readonly [number, boolean] | null>(READ_FOCUS)
    if (at !== null) seen.set(...at)
  }
  expect(controls.filter((_, at) => !seen.has(at))).toEqual([])
  expect(controls.filter((_, at) => seen.get(at) === false)).toEqual([])
}

/** Numbers everything that Tab should reach; of a group of radio buttons one. Returns their names. */
const MARK_CONTROLS = `(() => {
  const groups = new Set()
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((one) => {
    if (one.disabled || one.tabIndex < 0 || one.closest('[inert], dialog:not([open])')) return false
    if (!one.checkVisibility({ visibilityProperty: true }) || one.getClientRects().length === 0) return false
    if (one.type !== 'radio') return true
    const is_first = !groups.has(one.name)
    groups.add(one.name)
    return is_first
  })
  return controls.map((one, at) => {
    const members = one.type === 'radio' ? document.getElementsByName(one.name) : [one]
    for (const member of members) member.dataset.tab = at
    return one.outerHTML.slice(0, 160)
  })
})()`

/** The number of what has the focus, and whether it, its label or what holds it shows that. */
const READ_FOCUS = `(() => {
  let one = document.activeElement
  const at = Number(one?.closest('[data-tab]')?.dataset.tab ?? NaN)
  if (Number.isNaN(at)) return null
  if (one.shadowRoot) one = one.shadowRoot.activeElement ?? one
  const places = [one, one.parentElement, one.closest('label'), one.nextElementSibling, document.activeElement].filter(Boolean)
  const isSeen = (place) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(place)
    return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
  }
  return [at, places.some(isSeen)]
})()`
