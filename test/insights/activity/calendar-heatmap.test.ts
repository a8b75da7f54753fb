/** Heat maps of a week: examples worked by hand, in a zone whose clocks change. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { InsightWorld } from '../world.ts'

setDefaultTimeout(120_000)

const NOW = '2024-03-12T12:00:00Z'

test('CalendarHeatmapQuery counts people by weekday and hour of the project, each sum by itself', async () => {
  await using world = new InsightWorld()
  world.know({ timezone: 'America/New_York' })
  world.send(
    // Saturday the 9th at 21 o'clock, in winter time.
    { person: 1, at: '2024-03-10T02:00:00Z' },
    // Sunday the 10th at 8 o'clock, in summer time.
    { person: 1, at: '2024-03-10T12:00:00Z' },
    { person: 2, at: '2024-03-10T12:59:59Z' },
    { person: 2, at: '2024-03-10T13:00:00Z' },
    // Monday the 11th at 8 o'clock.
    { person: 2, at: '2024-03-11T12:00:00Z' },
    { person: 2, at: '2024-03-11T12:00:00Z', event: 'other' },
  )
  const dateRange = { date_from: '2024-03-09', date_to: '2024-03-11' }
  const answered = await world.ask(
    {
      kind: 'CalendarHeatmapQuery',
      series: [{ kind: 'EventsNode', event: 'seen', math: 'dau' }],
      dateRange,
    },
    NOW,
  )
  const events = await world.ask(
    { kind: 'CalendarHeatmapQuery', series: [{ kind: 'EventsNode' }], dateRange },
    NOW,
  )
  expect(events.results).toEqual({
    data: [
      { row: 0, column: 8, value: 2 },
      { row: 0, column: 9, value: 1 },
      { row: 1, column: 8, value: 2 },
      { row: 6, column: 21, value: 1 },
    ],
    rowAggregations: [
      { row: 0, value: 3 },
      { row: 1, value: 2 },
      { row: 6, value: 1 },
    ],
    columnAggregations: [
      { column: 8, value: 4 },
      { column: 9, value: 1 },
      { column: 21, value: 1 },
    ],
    allAggregations: 6,
  })
  expect(answered.results).toEqual({
    data: [
      { row: 0, column: 8, value: 2 },
      { row: 0, column: 9, value: 1 },
      { row: 1, column: 8, value: 1 },
      { row: 6, column: 21, value: 1 },
    ],
    rowAggregations: [
      { row: 0, value: 2 },
      { row: 1, value: 1 },
      { row: 6, value: 1 },
    ],
    columnAggregations: [
      { column: 8, value: 2 },
      { column: 9, value: 1 },
      { column: 21, value: 1 },
    ],
    allAggregations: 2,
  })
})

test('a heat map of nothing is empty, and one of windows is refused', async () => {
  await using world = new InsightWorld()
  const asked = (math: string) => ({
    kind: 'CalendarHeatmapQuery' as const,
    series: [{ kind: 'EventsNode' as const, event: 'seen', math }],
  })
  expect((await world.ask(asked('total'), NOW)).results).toEqual({
    data: [],
    rowAggregations: [],
    columnAggregations: [],
    allAggregations: 0,
  })
  expect(await world.ask(asked('weekly_active'), NOW).catch(String)).toContain('not supported')
})
