/** Schema of LifecycleQuery: new, returning, resurrecting and dormant actors. */
import { type Static, t } from 'elysia'
import { commonMembers, Interval, Series } from './parts.ts'

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
