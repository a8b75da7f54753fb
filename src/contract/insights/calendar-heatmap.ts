/** Schema of CalendarHeatmapQuery: counts by weekday and hour. */
import { type Static, t } from 'elysia'
import { commonMembers, Interval, Series } from './parts.ts'

export const CalendarHeatmapQuery = t.Object(
  {
    kind: t.Literal('CalendarHeatmapQuery'),
    series: t.Array(Series, { minItems: 1, maxItems: 1 }),
    interval: t.Optional(t.Nullable(Interval)),
    /** Display settings of editors. */
    calendarHeatmapFilter: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    trendsFilter: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type CalendarHeatmapQuery = Static<typeof CalendarHeatmapQuery>
