/** Schema of StickinessQuery: in how many intervals actors were active. */
import { type Static, t } from 'elysia'
import { CompareFilter } from './breakdown.ts'
import { commonMembers, Interval, Series } from './parts.ts'

/** The number of events that makes an interval count. */
const Criteria = t.Object(
  {
    operator: t.UnionEnum(['exact', 'gte', 'lte']),
    value: t.Number({ multipleOf: 1, minimum: 1 }),
  },
  { additionalProperties: false },
)

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
