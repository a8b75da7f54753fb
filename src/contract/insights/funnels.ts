/** Schemas of FunnelsQuery and of its actors. */
import { type Static, t } from 'elysia'
import { BreakdownFilter } from './breakdown.ts'
import {
  ActionsNode,
  commonMembers,
  EventsNode,
  Interval,
  optionally,
  rowMembers,
  Series,
} from './parts.ts'

const Step = t.Number({ multipleOf: 1, minimum: 0, maximum: 100 })

/** Events that exclude an actor when they occur between two steps. */
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
    funnelWindowInterval: optionally(
      t.Number({ multipleOf: 1, minimum: 1, maximum: 10_000_000_000 }),
    ),
    funnelWindowIntervalUnit: t.Optional(
      t.Nullable(t.UnionEnum(['second', 'minute', 'hour', 'day', 'week', 'month'])),
    ),
    /** 0 is the first step. */
    funnelFromStep: optionally(Step),
    funnelToStep: optionally(Step),
    /** The actor: a HogQL expression over events in place of the person. */
    funnelAggregateByHogQL: optionally(t.String()),
    binCount: optionally(t.Union([t.Number({ multipleOf: 1 }), t.Literal('auto')])),
    breakdownAttributionType: t.Optional(
      t.Nullable(t.UnionEnum(['first_touch', 'last_touch', 'all_events', 'step'])),
    ),
    /** The step, 0 the first. */
    breakdownAttributionValue: optionally(Step),
    exclusions: optionally(t.Array(FunnelExclusion, { maxItems: 50 })),
    /** Display settings of editors. */
    funnelStepReference: optionally(t.String()),
    layout: optionally(t.String()),
    hiddenLegendBreakdowns: t.Optional(t.Unknown()),
    hidden_legend_keys: t.Optional(t.Unknown()),
    resultCustomizations: t.Optional(t.Unknown()),
    breakdownSorting: t.Optional(t.Unknown()),
    goalLines: t.Optional(t.Unknown()),
    showLegend: t.Optional(t.Unknown()),
    showTrendLines: t.Optional(t.Unknown()),
    legendPosition: t.Optional(t.Unknown()),
    showAnnotations: t.Optional(t.Unknown()),
    hideIncompleteConversionWindowPeriods: t.Optional(t.Unknown()),
    /** For actors of other tables than events, which do not exist here. */
    customAggregationTarget: t.Optional(t.Nullable(t.Literal(false))),
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
    /** Funnels are not compared here; editors send that they are not. */
    compareFilter: optionally(
      t.Object(
        {
          compare: t.Optional(t.Nullable(t.Literal(false))),
          compare_to: optionally(t.String()),
        },
        { additionalProperties: false },
      ),
    ),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type FunnelsQuery = Static<typeof FunnelsQuery>

/** The actors behind a number of a funnel. */
export const FunnelsActorsQuery = t.Object(
  {
    kind: t.Literal('FunnelsActorsQuery'),
    source: FunnelsQuery,
    /**
     * Actors who completed step n (1 the first); if negative, those who completed the step before but not step
     * n.
     */
    funnelStep: optionally(t.Number({ multipleOf: 1 })),
    /** Actors who completed exactly these steps. */
    funnelCustomSteps: optionally(t.Array(t.Number({ multipleOf: 1 }))),
    funnelStepBreakdown: optionally(
      t.Union([t.String(), t.Number(), t.Array(t.Union([t.String(), t.Number()]))]),
    ),
    /** For funnels over time: actors who dropped off, or those who converted. */
    funnelTrendsDropOff: optionally(t.Boolean()),
    funnelTrendsEntrancePeriodStart: optionally(t.String()),
    includeRecordings: optionally(t.Boolean()),
    ...rowMembers,
  },
  { additionalProperties: false },
)
export type FunnelsActorsQuery = Static<typeof FunnelsActorsQuery>
