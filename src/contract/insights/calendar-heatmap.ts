/** CalendarHeatmapQuery as it is sent: at which hours of which weekdays something happens. */
import { type Static, t } from 'elysia'
import { commonMembers, Interval, Series } from './parts.ts'

export const CalendarHeatmapQuery = t.Object(
  {
    kind: t.Literal('CalendarHeatmapQuery'),
    series: t.Array(Series, { minItems: 1, maxItems: 1 }),
    interval: t.Optional(t.Nullable(Interval)),
    /** How editors show it. */
    calendarHeatmapFilter: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    trendsFilter: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type CalendarHeatmapQuery = Static<typeof CalendarHeatmapQuery>
