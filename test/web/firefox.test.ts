/** The main road in Firefox: logging in, Start, Web, a chart in Explore, a SQL query. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { limitTests, longTest } from '../long-tests.ts'
import { ENTER, ESCAPE, type Firefox, HAS_FIREFOX, openFirefox } from './firefox.ts'
import { type Interface, openInterface } from './interface.ts'
import { EMAIL, PASSWORD } from './shared.ts'

limitTests(120_000)

const DAILY = {
  kind: 'TrendsQuery',
  series: [{ kind: 'EventsNode', event: '$pageview' }],
  interval: 'day',
  dateRange: { date_from: '-7d' },
}

type Trend = { readonly results: readonly { readonly data: readonly number[] }[] }

describe.skipIf(!HAS_FIREFOX)('Firefox', () => {
  let ui: Interface
  let firefox: Firefox
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 20 })
    firefox = await openFirefox()
  })
  afterAll(async () => {
    await firefox?.[Symbol.asyncDispose]()
    await ui?.[Symbol.asyncDispose]()
  })

  const heading = (text: string): Promise<void> =>
    firefox.waitFor(`document.querySelector('h1')?.textContent === ${JSON.stringify(text)}`)
  const ask = (query: object): Promise<unknown> =>
    ui.api(`/api/projects/${ui.project}/query/`, {
      method: 'POST',
      body: JSON.stringify({ query }),
    })

  test('logs in by keyboard', async () => {
    await firefox.goto(`${ui.server.url}/p/${ui.project}/start`)
    await heading('Log in')
    await firefox.click({ css: 'input[name=email]' })
    await firefox.type(EMAIL)
    await firefox.click({ css: 'input[type=password]' })
    await firefox.type(`${PASSWORD}${ENTER}`)
    await heading('Start')
    await firefox.waitFor("document.body.textContent.includes('Events are arriving')")
  })

  test('shows the figures of Web, and opens the menu of dates over the page', async () => {
    await firefox.click({ role: 'link', name: 'Web' })
    await heading('Web')
    await firefox.waitFor("document.querySelector('figure canvas') !== null")
    await firefox.waitFor("document.querySelector('table th[scope=row]') !== null")
    const query = {
      kind: 'WebOverviewQuery',
      dateRange: { date_from: '-7d' },
      properties: [],
      filterTestAccounts: true,
    }
    const { results } = (await ask(query)) as {
      readonly results: readonly { readonly key: string; readonly value: number }[]
    }
    const visitors = results.find(({ key }) => key === 'visitors')?.value ?? 0
    const text = await firefox.evaluate<string>(
      "[...document.querySelectorAll('button')].find((one) => one.textContent.startsWith('Visitors')).textContent",
    )
    expect(text).toStartWith(`Visitors${visitors.toLocaleString('en-GB')}`)
    // Popovers stand beside their button, with anchors or without.
    await firefox.click({ role: 'button', name: 'Last 7 days' })
    await firefox.waitFor("document.querySelector('[popover]:popover-open') !== null")
    const box = await firefox.evaluate<{ left: number; right: number; bottom: number }>(
      "document.querySelector('[popover]:popover-open').getBoundingClientRect()",
    )
    expect(box.left).toBeGreaterThanOrEqual(0)
    expect(box.right).toBeLessThanOrEqual(1280)
    await firefox.type(ESCAPE)
    await firefox.waitFor("document.querySelector('[popover]:popover-open') === null")
  })

  test('draws a chart in Explore, whose values are the API’s, by keyboard', async () => {
    const { results } = (await ask(DAILY)) as Trend
    const hash = encodeURIComponent(JSON.stringify(DAILY))
    await firefox.goto(`${ui.server.url}/p/${ui.project}/explore#q=${hash}`)
    await firefox.waitFor("document.querySelector('[role=slider] canvas, figure canvas') !== null")
    await firefox.evaluate("document.querySelector('[role=slider]').focus()")
    // The key Home, and then the first value.
    await firefox.type('\uE011')
    const spoken = await firefox.evaluate<string>(
      "document.querySelector('[role=slider]').getAttribute('aria-valuetext')",
    )
    expect(spoken).toEndWith(`Page view ${results[0]?.data[0]}`)
  })

  longTest('runs what is typed into the SQL editor', async () => {
    await firefox.click({ role: 'link', name: 'SQL' })
    await heading('SQL')
    await firefox.waitFor(`${EDITOR} !== undefined`)
    await firefox.click({ css: 'main div[class*=editor]' })
    await firefox.type(`select 41 + 1 as answer${ESCAPE}`)
    await firefox.pressControl(ENTER)
    await firefox.waitFor("document.querySelector('td')?.textContent === '42'")
  })

  test('complains about nothing', () => {
    expect(firefox.complaints).toEqual([])
  })
})

/** CodeMirror lives in a shadow root. */
const EDITOR =
  "[...document.querySelectorAll('main div')].find((one) => one.shadowRoot)?.shadowRoot.querySelector('.cm-content')"
