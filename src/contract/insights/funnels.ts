/** FunnelsQuery as it is sent, and queries about the people behind it. */
import { type Static, t } from 'elysia'
import { BreakdownFilter } from './breakdown.ts'
import { rowMembers } from './events.ts'
import { ActionsNode, commonMembers, EventsNode, Interval, optionally, Series } from './parts.ts'

const Step = t.Number({ multipleOf: 1, minimum: 0, maximum: 100 })

/** Events that nobody may have between two steps. */
const exclusionMembers = { funnelFromStep: Step, funnelToStep: Step }
export const FunnelExclusion = t.Union([
  t.Object({ ...EventsNode.properties, ...exclusionMembers }, { additionalProperties: true }),
  t.Object({ ...ActionsNode.properties, ...exclusionMembers }, { additionalProperties: true }),
])
export type FunnelExclusion = Static<typeof FunnelExclusion>

export const FunnelsFilter = t.Object(
  {
    funnelVizType: t.Optional(t.Nullable(t.UnionEnum(['steps', 'time_to_convert', 'trends']))),
    funnelOrderType: t.Optional(t.Nullable(t.UnionEnum(['ordered', 'strict', 'unordered']))),
    funnelWindowInterval: optionally(t.Number({ multipleOf: 1, minimum: 1, maximum: 100_000_000 })),
    funnelWindowIntervalUnit: t.Optional(
      t.Nullable(t.UnionEnum(['second', 'minute', 'hour', 'day', 'week', 'month'])),
    ),
    /** 0 is the first step. */
    funnelFromStep: optionally(Step),
    funnelToStep: optionally(Step),
    /** Who acts: an expression over events instead of persons. */
    funnelAggregateByHogQL: optionally(t.String()),
    binCount: optionally(t.Union([t.Number({ multipleOf: 1 }), t.Literal('auto')])),
    breakdownAttributionType: t.Optional(
      t.Nullable(t.UnionEnum(['first_touch', 'last_touch', 'all_events', 'step'])),
    ),
    /** The step, 0 the first. */
    breakdownAttributionValue: optionally(Step),
    exclusions: optionally(t.Array(FunnelExclusion, { maxItems: 50 })),
    /** How editors show it. */
    funnelStepReference: optionally(t.String()),
    layout: optionally(t.String()),
    hiddenLegendBreakdowns: t.Optional(t.Unknown()),
    hidden_legend_keys: t.Optional(t.Unknown()),
    resultCustomizations: t.Optional(t.Unknown()),
    breakdownSorting: t.Optional(t.Unknown()),
    goalLines: t.Optional(t.Unknown()),
    showLegend: t.Optional(t.Unknown()),
    showTrendLines: t.Optional(t.Unknown()),
    showValuesOnSeries: t.Optional(t.Unknown()),
    useUdf: t.Optional(t.Unknown()),
  },
  { additionalProperties: false },
)
export type FunnelsFilter = Static<typeof FunnelsFilter>

export const FunnelsQuery = t.Object(
  {
    kind: t.Literal('FunnelsQuery'),
    series: t.Array(Series),
    interval: t.Optional(t.Nullable(Interval)),
    funnelsFilter: optionally(FunnelsFilter),
    breakdownFilter: optionally(BreakdownFilter),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type FunnelsQuery = Static<typeof FunnelsQuery>

/** The people behind a number of a funnel. */
export const FunnelsActorsQuery = t.Object(
  {
    kind: t.Literal('FunnelsActorsQuery'),
    source: FunnelsQuery,
    /** Who took step n (1 the first), or below zero, who took the one before and not it. */
    funnelStep: optionally(t.Number({ multipleOf: 1 })),
    /** Who came just so far. */
    funnelCustomSteps: optionally(t.Array(t.Number({ multipleOf: 1 }))),
    funnelStepBreakdown: optionally(
      t.Union([t.String(), t.Number(), t.Array(t.Union([t.String(), t.Number()]))]),
    ),
    /** Of a funnel by time: those who came through, or those who did not. */
    funnelTrendsDropOff: optionally(t.Boolean()),
    funnelTrendsEntrancePeriodStart: optionally(t.String()),
    includeRecordings: optionally(t.Boolean()),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type FunnelsActorsQuery = Static<typeof FunnelsActorsQuery>
