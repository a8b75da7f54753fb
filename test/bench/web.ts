/** How long a browser takes from an address to the first chart, with an empty cache: on a desktop, and on a phone. */
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { type Interface, openWholeInterface, type Visit } from '../web/interface.ts'
import { IS_SMALL, SIZES } from './sizes.ts'

export type ChartTime = {
  readonly name: string
  readonly median_ms: number
  readonly fastest_ms: number
  /** The longest that is promised. */
  readonly budget_ms: number
}

type Device = {
  readonly name: string
  readonly width: number
  readonly budget_ms: number
  /** Slows the browser down to the device. */
  readonly prepare: (visit: Visit) => Promise<void>
}

/** The phone: a quarter of the processor, 9 Mbit/s, 60 ms to the server and back. */
const DEVICES: readonly Device[] = [
  { name: 'desktop', width: 1440, budget_ms: 1000, prepare: async () => undefined },
  {
    name: 'phone',
    width: 390,
    budget_ms: 2000,
    prepare: async ({ context, page }) => {
      const debug = await context.newCDPSession(page)
      await debug.send('Emulation.setCPUThrottlingRate', { rate: 4 })
      await debug.send('Network.enable')
      await debug.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 60,
        downloadThroughput: 9_000_000 / 8,
        uploadThroughput: 9_000_000 / 8,
      })
    },
  },
]

const QUERY = {
  kind: 'TrendsQuery',
  series: [{ kind: 'EventsNode', event: '$pageview' }],
  interval: 'day',
  dateRange: { date_from: '-14d' },
}

/** The first chart of a page, or of SQL its editor, which has the most to load. */
const PAGES = [
  { name: 'Web', path: '/p/1/web', drawn: "document.querySelector('main canvas')?.width > 0" },
  {
    name: 'Explore',
    path: `/p/1/explore#q=${encodeURIComponent(JSON.stringify(QUERY))}`,
    drawn: "document.querySelector('main canvas')?.width > 0",
  },
  {
    name: 'SQL (its editor)',
    path: '/p/1/sql',
    drawn:
      "[...document.querySelectorAll('main div')].some((one) => one.shadowRoot?.querySelector('.cm-content'))",
  },
] as const

type MeasuredPage = (typeof PAGES)[number]

/** Opens each page on each device; nothing when there is no browser. */
export async function chartTimes(): Promise<readonly ChartTime[]> {
  if (!HAS_BROWSER) return []
  await using ui = await openWholeInterface({
    demo_persons: SIZES.chart_persons,
    is_whole_browser: !IS_SMALL,
  })
  const times: ChartTime[] = []
  for (const device of DEVICES) {
    for (const page of PAGES) {
      // The first one builds the interface and fills the server's cache.
      if (!IS_SMALL) await firstChart(ui, device, page)
      const rounds: number[] = []
      for (let round = 0; round < SIZES.chart_rounds; round += 1) {
        rounds.push(await firstChart(ui, device, page))
      }
      const sorted = rounds.toSorted((one, other) => one - other)
      times.push({
        name: `${page.name}, ${device.name}`,
        median_ms: sorted[Math.floor(sorted.length / 2)] ?? 0,
        fastest_ms: sorted[0] ?? 0,
        budget_ms: device.budget_ms,
      })
    }
  }
  return times
}

async function firstChart(
  ui: Interface,
  device: Device,
  { path, drawn }: MeasuredPage,
): Promise<number> {
  await using visit = await ui.visit({ width: device.width, is_alone: true })
  await device.prepare(visit)
  await visit.page.addInitScript(watchFor(drawn))
  await visit.page.goto(path, { waitUntil: 'commit' })
  // Awaited here: the page is closed at the end of this function.
  const time_ms = await readTime(visit.page)
  return time_ms
}

const TIMEOUT_MS = 60_000
const LOOK_MS = 50

async function readTime(page: Page): Promise<number> {
  const deadline = performance.now() + TIMEOUT_MS
  // Not by `waitForFunction`, which needs `eval` in the page.
  while (performance.now() < deadline) {
    const time_ms = await page.evaluate<number | null>('globalThis.first_chart_ms ?? null')
    if (time_ms !== null) return time_ms
    await Bun.sleep(LOOK_MS)
  }
  throw new Error('no chart was drawn')
}

/** Notes the frame after the one in which a condition holds. */
const watchFor = (drawn: string): string => `{
  const look = () => {
    if (${drawn}) requestAnimationFrame(() => { globalThis.first_chart_ms = performance.now() })
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}`
