/** How smooth the pages of much data are: a hundred thousand rows scrolled, and events that come in live. */
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { API_TOKEN, PERSONAL_API_KEY } from '../flows/processes/server.ts'
import { type Interface, openWholeInterface } from '../web/interface.ts'
import { seeded, someEvent } from './events.ts'
import { type LoadResult, spawnLoad } from './load.ts'
import { browserTime, processorTime } from './processor-time.ts'
import { IS_SMALL, SIZES } from './sizes.ts'

/** A frame that takes longer is seen as a jerk. */
export const SLOW_FRAME_MS = 50

export type Frames = {
  readonly count: number
  readonly slow: number
  readonly longest_ms: number
}

/** A load with the processor time that the server took for an event; it says more than times on a busy machine. */
export type LiveLoad = LoadResult & { readonly event_us: number }

export type LiveTimes = {
  /** Capture alone, with a reader of the live stream, and with the page in a browser of this machine. */
  readonly alone: readonly LiveLoad[]
  readonly with_reader: readonly LiveLoad[]
  readonly with_page: readonly LiveLoad[]
  /** The processor time of the browser meanwhile, in milliseconds a second. */
  readonly browser_ms: readonly number[]
  /** Of the page under another load: watching each frame takes twice the processor time of the page itself. */
  readonly frames: Frames
}

/** Scrolls the SQL page through a hundred thousand rows; null without a browser. */
export async function scrollRows(): Promise<Frames | null> {
  if (!HAS_BROWSER) return null
  await using ui = await openWholeInterface({ demo_persons: 0, is_whole_browser: !IS_SMALL })
  await using visit = await ui.visit({ is_alone: true })
  const { page } = visit
  const query =
    "select number as n, concat('row ', toString(number)) as text, number % 7 as r from numbers(100000)"
  const node = encodeURIComponent(JSON.stringify({ kind: 'HogQLQuery', query }))
  await page.goto(`/p/1/sql#q=${node}`)
  await page.getByRole('button', { name: 'Load up to 100,000' }).click()
  await page.getByText('100,000 rows').waitFor()
  // Awaited here: the page is closed at the end of this function.
  const frames = await framesOf(page, SIZES.scrolled_frames, SCROLL)
  return frames
}

/** Each frame goes on by more than half a window; every fortieth jumps to another place. */
const SCROLL = `{
  const box = document.querySelector('[role=region][aria-label=Rows]')
  if (step % 40 === 39) box.scrollTo(0, (step * 7919 * 31) % box.scrollHeight)
  else box.scrollBy(0, 400)
}`

/** Watches a number of frames of a page; `work` is what the page does in each, by its number `step`. */
async function framesOf(page: Page, count: number, work = ''): Promise<Frames> {
  const gaps = await page.evaluate<number[]>(`new Promise((resolve) => {
    const gaps = []
    let last = performance.now()
    const frame = (now) => {
      const step = gaps.push(now - last)
      last = now
      ${work}
      if (step < ${count}) requestAnimationFrame(frame)
      else resolve(gaps)
    }
    requestAnimationFrame(frame)
  })`)
  return {
    count: gaps.length,
    slow: gaps.filter((gap_ms) => gap_ms > SLOW_FRAME_MS).length,
    longest_ms: Math.max(...gaps),
  }
}

/** Events per second, in batches of a hundred that come evenly. */
export const LIVE_EVENTS_PER_S = 10_000
const BATCH = 100
const CONNECTIONS = 32
const PERSONS = 10_000
const FRAMES_PER_S = 60
const SETTLE_MS = IS_SMALL ? 0 : 5000

/** Sends events alone and while they are followed, in turns; null without a browser. `makeBodies` stores bodies in a file. */
export async function liveTimes(
  makeBodies: (name: string, count: number, body: () => unknown) => string,
): Promise<LiveTimes | null> {
  if (!HAS_BROWSER) return null
  await using ui = await openWholeInterface({ demo_persons: 0, is_whole_browser: !IS_SMALL })
  const random = seeded(11)
  const file = makeBodies('live.json', 200, () => ({
    api_key: API_TOKEN,
    batch: Array.from({ length: BATCH }, () => someEvent(random, PERSONS)),
  }))
  const send = async (): Promise<LiveLoad> => {
    const args = [new URL(ui.server.url).port, CONNECTIONS, SIZES.seconds, '/batch/', file]
    const before_ms = processorTime(ui.server.pid)
    const result = await spawnLoad([...args, PERSONAL_API_KEY, LIVE_EVENTS_PER_S / BATCH])
    const used_ms = processorTime(ui.server.pid) - before_ms
    return { ...result, event_us: (1000 * used_ms) / (result.requests * BATCH) }
  }
  const alone: LiveLoad[] = []
  const with_reader: LiveLoad[] = []
  const with_page: LiveLoad[] = []
  const browser_ms: number[] = []
  const frames: Frames[] = []
  // The first events find an empty server.
  await send()
  const measure = [
    async () => void alone.push(await send()),
    async () => void with_reader.push(await readMeanwhile(ui, send)),
    async () => {
      await using visit = await ui.visit({ is_alone: true })
      await visit.page.goto('/p/1/events')
      await visit.page.getByText(/waiting|came in/).waitFor()
      // A page that was just opened compiles and tidies up for a moment.
      await Bun.sleep(SETTLE_MS)
      const [before_ms, began] = [browserTime(), performance.now()]
      with_page.push(await send())
      browser_ms.push((browserTime() - before_ms) / ((performance.now() - began) / 1000))
      const [watched] = await Promise.all([
        framesOf(visit.page, Math.ceil(SIZES.seconds * FRAMES_PER_S)),
        send(),
      ])
      frames.push(watched)
    },
  ]
  // Each comes first, second and third: snapshots are made in between, after a number of events.
  for (let round = 0; round < SIZES.rounds; round += 1) {
    for (const at of measure.keys()) {
      // The page of the one before is gone, and its snapshots are made.
      await Bun.sleep(SETTLE_MS)
      await measure[(at + round) % measure.length]?.()
    }
  }
  return {
    alone,
    with_reader,
    with_page,
    browser_ms,
    frames: {
      count: frames.reduce((sum, { count }) => sum + count, 0),
      slow: frames.reduce((sum, { slow }) => sum + slow, 0),
      longest_ms: Math.max(...frames.map(({ longest_ms }) => longest_ms)),
    },
  }
}

/** Follows the live stream without a browser while something is done. */
async function readMeanwhile<Result>(ui: Interface, work: () => Promise<Result>): Promise<Result> {
  const leave = new AbortController()
  const stream = await fetch(`${ui.server.url}/api/projects/1/events/live/`, {
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}`, Accept: 'text/event-stream' },
    signal: leave.signal,
  })
  const read = (async () => {
    for await (const part of stream.body ?? []) void part
  })().catch(() => undefined)
  const result = await work()
  leave.abort()
  await read
  return result
}
