/** LifecycleQuery as it is sent: who is new, came back or stayed away. */
import { type Static, t } from 'elysia'
import { commonMembers, Interval, Series } from './parts.ts'

export const LifecycleQuery = t.Object(
  {
    kind: t.Literal('LifecycleQuery'),
    /** The first one counts. */
    series: t.Array(Series, { minItems: 1, maxItems: 1 }),
    interval: t.Optional(t.Nullable(Interval)),
    /** How editors show it. */
    lifecycleFilter: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
    customAggregationTarget: t.Optional(t.Unknown()),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type LifecycleQuery = Static<typeof LifecycleQuery>
