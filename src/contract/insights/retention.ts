/** Schema of RetentionQuery: how many actors return after how many intervals. */
import { type Static, t } from 'elysia'
import { BreakdownFilter } from './breakdown.ts'
import { commonMembers, optionally, PropertyFilters } from './parts.ts'

/** The event: by name (null for any), or a saved action by its id. */
export const RetentionEntity = t.Object(
  {
    id: t.Optional(t.Nullable(t.Union([t.String(), t.Number()]))),
    name: optionally(t.String()),
    type: t.Optional(t.Nullable(t.UnionEnum(['events', 'actions']))),
    kind: optionally(t.String()),
    properties: optionally(PropertyFilters),
  },
  { additionalProperties: true },
)
export type RetentionEntity = Static<typeof RetentionEntity>

/** Lengths of the intervals. */
export const RetentionPeriod = t.UnionEnum(['Hour', 'Day', 'Week', 'Month'])
export type RetentionPeriod = Static<typeof RetentionPeriod>

/** The most intervals of an answer. */
export const RETENTION_INTERVALS_MAX = 300

/** Display settings of editors (`retentionReference`, `meanRetentionCalculation`, `display`) are ignored. */
const RetentionFilter = t.Object(
  {
    period: t.Optional(t.Nullable(RetentionPeriod)),
    totalIntervals: optionally(
      t.Number({ multipleOf: 1, minimum: 1, maximum: RETENTION_INTERVALS_MAX }),
    ),
    retentionType: t.Optional(
      t.Nullable(
        t.UnionEnum([
          'retention_recurring',
          'retention_first_time',
          'retention_first_ever_occurrence',
        ]),
      ),
    ),
    targetEntity: t.Optional(t.Nullable(RetentionEntity)),
    returningEntity: t.Optional(t.Nullable(RetentionEntity)),
    cumulative: optionally(t.Boolean()),
    minimumOccurrences: optionally(t.Number({ multipleOf: 1, minimum: 1, maximum: 1000 })),
    retentionCustomBrackets: optionally(
      t.Array(t.Number({ multipleOf: 1, minimum: 1, maximum: RETENTION_INTERVALS_MAX }), {
        maxItems: 100,
      }),
    ),
    retentionReference: t.Optional(t.Nullable(t.UnionEnum(['total', 'previous']))),
    meanRetentionCalculation: t.Optional(t.Nullable(t.UnionEnum(['simple', 'weighted', 'none']))),
    timeWindowMode: t.Optional(
      t.Nullable(t.UnionEnum(['strict_calendar_dates', '24_hour_windows'])),
    ),
  },
  { additionalProperties: true },
)
type RetentionFilter = Static<typeof RetentionFilter>

export const RetentionQuery = t.Object(
  {
    kind: t.Literal('RetentionQuery'),
    retentionFilter: t.Optional(t.Nullable(RetentionFilter)),
    breakdownFilter: t.Optional(t.Nullable(BreakdownFilter)),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type RetentionQuery = Static<typeof RetentionQuery>
