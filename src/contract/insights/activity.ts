/** Schemas of the queries for activity by interval: LifecycleQuery, StickinessQuery, CalendarHeatmapQuery. */
import { type Static, t } from 'elysia'
import { CompareFilter } from './breakdown.ts'
import { commonMembers, Interval, Series } from './parts.ts'

/** New, returning, resurrecting and dormant actors per interval. */
export const LifecycleQuery = t.Object(
  {
    kind: t.Literal('LifecycleQuery'),
    /** Exactly one series. */
    series: t.Array(Series, { minItems: 1, maxItems: 1 }),
    interval: t.Optional(t.Nullable(Interval)),
    /** Display settings of editors. */
    lifecycleFilter: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    customAggregationTarget: t.Optional(t.Unknown()),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type LifecycleQuery = Static<typeof LifecycleQuery>

/** Counts by weekday and hour. */
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

/** The number of events that makes an interval count. */
const Criteria = t.Object(
  {
    operator: t.UnionEnum(['exact', 'gte', 'lte']),
    value: t.Number({ multipleOf: 1, minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  },
  { additionalProperties: false },
)

/** Numbers of intervals in which actors were active. */
export const StickinessQuery = t.Object(
  {
    kind: t.Literal('StickinessQuery'),
    series: t.Array(Series, { maxItems: 26 }),
    interval: t.Optional(t.Nullable(Interval)),
    /** The length of an interval, in units of `interval`. */
    intervalCount: t.Optional(t.Nullable(t.Number({ multipleOf: 1, minimum: 1, maximum: 1000 }))),
    stickinessFilter: t.Optional(
      t.Nullable(
        t.Object(
          {
            computedAs: t.Optional(t.Nullable(t.UnionEnum(['non_cumulative', 'cumulative']))),
            stickinessCriteria: t.Optional(t.Nullable(Criteria)),
          },
          // The rest is how editors show it.
          { additionalProperties: true },
        ),
      ),
    ),
    compareFilter: t.Optional(t.Nullable(CompareFilter)),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type StickinessQuery = Static<typeof StickinessQuery>
