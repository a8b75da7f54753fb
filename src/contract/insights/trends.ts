/** Schema of TrendsQuery: counts over time or as one number. */
import { type Static, type TSchema, t } from 'elysia'
import { BreakdownFilter, CompareFilter } from './breakdown.ts'
import { commonMembers, Interval, Series } from './parts.ts'

const optionally = <Schema extends TSchema>(schema: Schema) => t.Optional(t.Nullable(schema))

/** Longer formulas are refused. */
const FORMULA_LENGTH_MAX = 500
const Formula = t.String({ maxLength: FORMULA_LENGTH_MAX })

/** One result computed from the series, which it names A, B, C… */
const FormulaNode = t.Object(
  { formula: Formula, custom_name: optionally(t.String()) },
  { additionalProperties: true },
)

const TrendsFilter = t.Object(
  {
    /** `ActionsLineGraph`, or a display of single numbers: see `TOTAL_DISPLAYS`. */
    display: optionally(t.String()),
    formula: optionally(Formula),
    formulas: optionally(t.Array(Formula, { maxItems: 20 })),
    formulaNodes: optionally(t.Array(FormulaNode, { maxItems: 20 })),
    /** Every number becomes the mean of this many numbers, of which it is the last. */
    smoothingIntervals: optionally(t.Number({ multipleOf: 1, minimum: 1, maximum: 1000 })),
  },
  // The rest is how editors show it.
  { additionalProperties: true },
)

export const TrendsQuery = t.Object(
  {
    kind: t.Literal('TrendsQuery'),
    series: t.Array(Series, { maxItems: 26 }),
    interval: optionally(Interval),
    trendsFilter: optionally(TrendsFilter),
    breakdownFilter: optionally(BreakdownFilter),
    compareFilter: optionally(CompareFilter),
    /** Trends of web analytics have one, which is not computed here. */
    conversionGoal: t.Optional(t.Null()),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type TrendsQuery = Static<typeof TrendsQuery>
