/** Paths of a funnel's actors over random histories, over the server's own door, beside a plain reference. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'
import { type Histories, type History, openHistories } from '../history.ts'

limitTests(300_000)

const NOW = '2026-03-10T12:00:00Z'
const DAY = Date.UTC(2026, 2, 3)
const PEOPLE = ['ann', 'ben', 'cyd'] as const
/** Of the funnel, and what ends a visit; no two events are as far apart. */
const WINDOW_MIN = 60
const STEP_LIMIT = 5

let histories: Histories
beforeAll(async () => {
  histories = await openHistories(NOW)
})
afterAll(() => histories.close())

type Item = { readonly event: string; readonly minute: number }
type Timeline = readonly Item[]

/** Events of one person at different times, a multiple of seven minutes apart. */
const TIMELINE = fc
  .array(
    fc.record({
      event: fc.constantFrom('open', 'buy', 'read', 'look'),
      gap: fc.constantFrom(7, 14, 28, 49, 63, 140),
    }),
    { maxLength: 9 },
  )
  .map((drawn): Timeline => {
    let minute = 0
    return drawn.map(({ event, gap }) => {
      minute += gap
      return { event, minute }
    })
  })

/** When a person opened and bought: the open before the first purchase within the window, else the first open. */
function funnelOf(timeline: Timeline): {
  readonly open: number | null
  readonly buy: number | null
} {
  let latest: number | null = null
  let first: number | null = null
  for (const { event, minute } of timeline) {
    if (event === 'open') {
      latest = minute
      first ??= minute
    }
    if (event === 'buy' && latest !== null && minute - latest <= WINDOW_MIN)
      return { open: latest, buy: minute }
  }
  return { open: first, buy: null }
}

type Bounds = readonly [from: number, to: number]
const EVER = Number.POSITIVE_INFINITY

/** SCOPES: a part of the paths, and its bounds for a person; null for those who are not meant. */
const SCOPES: readonly (readonly [
  type: string,
  step: number,
  boundsOf: (open: number, buy: number | null) => Bounds | null,
])[] = [
  ['funnel_path_after_step', 1, (open) => [open, EVER]],
  ['funnel_path_before_step', 1, (open) => [-EVER, open]],
  ['funnel_path_after_step', 2, (_open, buy) => (buy === null ? null : [buy, EVER])],
  ['funnel_path_before_step', 2, (_open, buy) => (buy === null ? null : [-EVER, buy])],
  ['funnel_path_between_steps', 2, (open, buy) => (buy === null ? null : [open, buy])],
  ['funnel_path_after_step', -2, (open, buy) => (buy === null ? [open, EVER] : null)],
  [
    'funnel_path_before_step',
    -2,
    (open, buy) => (buy === null ? [-EVER, open + WINDOW_MIN] : null),
  ],
]

/** The visits of a timeline: of equal items that follow one another the last is kept. */
function visitsOf(timeline: Timeline): readonly (readonly Item[])[] {
  const visits: Item[][] = []
  let before: Item | null = null
  for (const item of timeline) {
    if (before === null || item.minute - before.minute >= WINDOW_MIN) visits.push([])
    const visit = visits.at(-1) ?? []
    if (visit.at(-1)?.event === item.event) visit.pop()
    visit.push(item)
    before = item
  }
  return visits.map((visit) => visit.slice(0, STEP_LIMIT))
}

/** The edges of a visit, and the minutes that each took. */
const stepsOf = (visit: readonly Item[]): readonly (readonly [name: string, minutes: number])[] =>
  visit.slice(1).map(({ event, minute }, index) => {
    const before = visit[index]
    const name = `${index + 1}_${before?.event} ${index + 2}_${event}`
    return [name, minute - (before?.minute ?? 0)]
  })

type EdgeCount = readonly [name: string, value: number, minutes: number]

const byName = ([left]: EdgeCount, [right]: EdgeCount): number => (left < right ? -1 : 1)

/** `1_open 2_buy` → how often, and the sum of minutes. */
function edgesOf(
  timelines: readonly Timeline[],
  scope: (typeof SCOPES)[number],
): readonly EdgeCount[] {
  const edges = new Map<string, { value: number; minutes: number }>()
  for (const timeline of timelines) {
    const { open, buy } = funnelOf(timeline)
    const bounds = open === null ? null : scope[2](open, buy)
    if (bounds === null) continue
    const within = timeline.filter(({ minute }) => minute >= bounds[0] && minute <= bounds[1])
    for (const [name, minutes] of visitsOf(within).flatMap(stepsOf)) {
      const before = edges.get(name) ?? { value: 0, minutes: 0 }
      edges.set(name, { value: before.value + 1, minutes: before.minutes + minutes })
    }
  }
  return [...edges]
    .map(([name, { value, minutes }]): EdgeCount => [name, value, minutes])
    .toSorted(byName)
}

type PathEdge = {
  readonly source: string
  readonly target: string
  readonly value: number
  readonly average_conversion_time: number
}

async function answeredEdges(
  history: History,
  [type, step]: (typeof SCOPES)[number],
): Promise<readonly EdgeCount[]> {
  const dateRange = { date_from: '2026-03-01', date_to: '2026-03-08' }
  const { status, body } = await history.ask({
    kind: 'PathsQuery',
    dateRange,
    pathsFilter: { includeEventTypes: ['custom_event'], stepLimit: STEP_LIMIT, edgeLimit: 1000 },
    funnelPathsFilter: {
      funnelPathType: type,
      funnelStep: step,
      funnelSource: {
        kind: 'FunnelsQuery',
        dateRange,
        series: ['open', 'buy'].map((event) => ({ kind: 'EventsNode', event })),
        funnelsFilter: { funnelWindowInterval: WINDOW_MIN, funnelWindowIntervalUnit: 'minute' },
      },
    },
  })
  expect([status, body['detail']]).toEqual([200, undefined])
  return (body['results'] as readonly PathEdge[])
    .map(
      ({ source, target, value, average_conversion_time: took_ms }): EdgeCount => [
        `${source} ${target}`,
        value,
        Math.round((took_ms * value) / 60_000),
      ],
    )
    .toSorted(byName)
}

test('paths around the steps of a funnel are those of the reference, whatever happened', async () => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(TIMELINE, TIMELINE, TIMELINE), async (timelines) => {
      const history = await histories.open()
      await history.send(
        timelines.flatMap((timeline, index) =>
          timeline.map(({ event, minute }) => ({
            event,
            distinct_id: PEOPLE[index] ?? 'ann',
            timestamp: new Date(DAY + minute * 60_000).toISOString(),
          })),
        ),
      )
      for (const scope of SCOPES) {
        const [type, step] = scope
        const expected = edgesOf(timelines, scope)
        expect([type, step, await answeredEdges(history, scope)]).toEqual([type, step, expected])
      }
    }),
    randomRuns(3),
  )
})
