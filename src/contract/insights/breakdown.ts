/** Schemas of breakdowns and comparisons. */
import { type Static, type TSchema, t } from 'elysia'

const optionally = <Schema extends TSchema>(schema: Schema) => t.Optional(t.Nullable(schema))
const GroupTypeIndex = t.Number({ multipleOf: 1, minimum: 0, maximum: 4 })
const BinCount = t.Number({ multipleOf: 1, minimum: 1, maximum: 100 })

/** One of several breakdowns. */
const Breakdown = t.Object(
  {
    property: t.Union([t.String(), t.Number()]),
    type: optionally(t.String()),
    group_type_index: optionally(GroupTypeIndex),
    histogram_bin_count: optionally(BinCount),
    normalize_url: optionally(t.Boolean()),
  },
  { additionalProperties: false },
)

/** The breakdown of a query: one (`breakdown`) or up to three (`breakdowns`). */
export const BreakdownFilter = t.Object(
  {
    breakdown: optionally(
      t.Union([t.String(), t.Number(), t.Array(t.Union([t.String(), t.Number()]))]),
    ),
    breakdown_type: optionally(t.String()),
    breakdowns: optionally(t.Array(Breakdown, { maxItems: 3 })),
    breakdown_limit: optionally(t.Number({ multipleOf: 1, minimum: 1, maximum: 1000 })),
    breakdown_hide_other_aggregation: optionally(t.Boolean()),
    breakdown_histogram_bin_count: optionally(BinCount),
    breakdown_normalize_url: optionally(t.Boolean()),
    breakdown_group_type_index: optionally(GroupTypeIndex),
    breakdown_path_cleaning: optionally(t.Boolean()),
  },
  { additionalProperties: false },
)
export type BreakdownFilter = Static<typeof BreakdownFilter>

/** Whether a query is compared with an earlier range: the one before, or `compare_to` (`-1w`) ago. */
export const CompareFilter = t.Object(
  { compare: optionally(t.Boolean()), compare_to: optionally(t.String()) },
  { additionalProperties: false },
)
export type CompareFilter = Static<typeof CompareFilter>
