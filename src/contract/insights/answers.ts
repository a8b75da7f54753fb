/**
 * Schemas of the `results` of answers, one line per kind of query. Browser code imports the types alone; the server sends
 * exactly these members, which `test/insights/answers.test.ts` checks over demo data.
 */
import { type Static, type TSchema, t } from 'elysia'
import { AnyJson, NullableText, Whole } from '../common.ts'

const exactly = { additionalProperties: false } as const
const NullableNumber = t.Nullable(t.Number())
const Texts = t.Array(t.String())
const Numbers = t.Array(t.Number())

/** A value of a breakdown: a text, a cohort's id, `all`, or with several breakdowns a text of each. */
const AnsweredBreakdown = t.Union([t.String(), t.Number(), Texts])
type AnsweredBreakdown = Static<typeof AnsweredBreakdown>

const CompareLabel = t.Union([t.Literal('current'), t.Literal('previous')])

/** The event or action that a series counts; `id` is null for all events. */
const actionMembers = {
  id: t.Union([t.String(), t.Number(), t.Null()]),
  name: NullableText,
  type: t.Union([t.Literal('actions'), t.Literal('events')]),
  order: Whole,
}

/** One line of trends. Displays with one number per line have it in `aggregated_value`, and no `data`. */
const TrendsSeriesAnswer = t.Object(
  {
    /** Null for a formula. */
    action: t.Nullable(
      t.Object(
        {
          ...actionMembers,
          days: Texts,
          custom_name: NullableText,
          math: NullableText,
          math_property: NullableText,
          math_hogql: NullableText,
          math_group_type_index: NullableNumber,
          properties: AnyJson,
        },
        exactly,
      ),
    ),
    order: t.Optional(Whole),
    label: t.String(),
    count: t.Number(),
    data: Numbers,
    labels: t.Optional(Texts),
    /** Local dates, with the time for hours and minutes. */
    days: Texts,
    filter: t.Record(t.String(), AnyJson),
    aggregated_value: t.Optional(t.Number()),
    breakdown_value: t.Optional(AnsweredBreakdown),
    compare: t.Optional(t.Literal(true)),
    compare_label: t.Optional(CompareLabel),
  },
  exactly,
)
export type TrendsSeriesAnswer = Static<typeof TrendsSeriesAnswer>

/** One step of a funnel. */
const FunnelStepAnswer = t.Object(
  {
    action_id: t.Union([t.String(), t.Number(), t.Null()]),
    name: NullableText,
    custom_name: NullableText,
    order: Whole,
    people: t.Array(AnyJson),
    count: t.Number(),
    type: t.Union([t.Literal('actions'), t.Literal('events')]),
    /** Seconds since the step before. */
    average_conversion_time: NullableNumber,
    median_conversion_time: NullableNumber,
    breakdown: t.Optional(AnsweredBreakdown),
    breakdown_value: t.Optional(AnsweredBreakdown),
  },
  exactly,
)
export type FunnelStepAnswer = Static<typeof FunnelStepAnswer>

/** Conversion by the bucket of entrance, in percent. `count` is the number of buckets. */
const FunnelTrendsAnswer = t.Object(
  {
    count: t.Number(),
    data: Numbers,
    days: Texts,
    labels: Texts,
    breakdown_value: t.Optional(AnsweredBreakdown),
  },
  exactly,
)
export type FunnelTrendsAnswer = Static<typeof FunnelTrendsAnswer>

/** Bins of `[from, count]`, in seconds. */
const FunnelTimesAnswer = t.Object(
  {
    bins: t.Array(t.Tuple([t.Number(), t.Number()])),
    average_conversion_time: NullableNumber,
  },
  exactly,
)
export type FunnelTimesAnswer = Static<typeof FunnelTimesAnswer>

/** By `funnelVizType`: the steps, with a breakdown a list of them per value; series; times. */
const FunnelsResults = t.Union([
  t.Array(FunnelStepAnswer),
  t.Array(t.Array(FunnelStepAnswer)),
  t.Array(FunnelTrendsAnswer),
  FunnelTimesAnswer,
])

/** The actors that start in one period, and how many return after each number of periods. */
const RetentionRowAnswer = t.Object(
  {
    values: t.Array(t.Object({ count: t.Number(), label: t.String() }, exactly)),
    label: t.String(),
    date: t.String(),
    breakdown_value: t.Optional(AnsweredBreakdown),
  },
  exactly,
)
export type RetentionRowAnswer = Static<typeof RetentionRowAnswer>

/** One edge of paths; `source` and `target` are `<step>_<item>`. */
const PathsEdgeAnswer = t.Object(
  {
    source: t.String(),
    target: t.String(),
    value: t.Number(),
    /** Milliseconds. */
    average_conversion_time: t.Number(),
  },
  exactly,
)
export type PathsEdgeAnswer = Static<typeof PathsEdgeAnswer>

/** The actors of one status per bucket; those of `dormant` are negative. */
const LifecycleSeriesAnswer = t.Object(
  {
    action: t.Object({ ...actionMembers, math: t.Literal('total') }, exactly),
    data: Numbers,
    count: t.Number(),
    labels: Texts,
    days: Texts,
    label: t.String(),
    status: t.Union([
      t.Literal('new'),
      t.Literal('returning'),
      t.Literal('resurrecting'),
      t.Literal('dormant'),
    ]),
  },
  exactly,
)
export type LifecycleSeriesAnswer = Static<typeof LifecycleSeriesAnswer>

/** Actors by the number of buckets in which they were active; `days` are these numbers. */
const StickinessSeriesAnswer = t.Object(
  {
    count: t.Number(),
    data: Numbers,
    days: Numbers,
    label: t.String(),
    labels: Texts,
    compare: t.Optional(t.Literal(true)),
    compare_label: t.Optional(CompareLabel),
    action: t.Object(actionMembers, exactly),
  },
  exactly,
)
export type StickinessSeriesAnswer = Static<typeof StickinessSeriesAnswer>

/** One figure of the web overview; null where there is nothing to compute it from. */
const WebFigureAnswer = t.Object(
  {
    key: t.String(),
    kind: t.Union([t.Literal('duration_s'), t.Literal('percentage'), t.Literal('unit')]),
    value: NullableNumber,
    previous: NullableNumber,
    /** Whole percent. */
    changeFromPreviousPct: NullableNumber,
    isIncreaseBad: t.Optional(t.Literal(true)),
  },
  exactly,
)
export type WebFigureAnswer = Static<typeof WebFigureAnswer>

/** A figure now and in the comparison period. */
const ComparedFigureAnswer = t.Tuple([NullableNumber, NullableNumber])
type ComparedFigureAnswer = Static<typeof ComparedFigureAnswer>

/** A value of a table's first column; regions and cities are lists, the country first. */
const WebBreakdownAnswer = t.Union([t.String(), t.Number(), t.Null(), t.Array(NullableText)])
export type WebBreakdownAnswer = Static<typeof WebBreakdownAnswer>

/** The breakdown's value, then a figure per further column. */
const WebStatsRowAnswer = t.Array(t.Union([WebBreakdownAnswer, ComparedFigureAnswer]))
export type WebStatsRowAnswer = Static<typeof WebStatsRowAnswer>

/** A person in a row of actors. One without a profile has an id alone. */
export const PersonInRowAnswer = t.Object(
  {
    id: t.String(),
    distinct_ids: t.Optional(Texts),
    properties: t.Optional(t.Record(t.String(), AnyJson)),
    created_at: t.Optional(t.String()),
    is_identified: t.Optional(t.Boolean()),
  },
  exactly,
)
export type PersonInRowAnswer = Static<typeof PersonInRowAnswer>

/** Rows by `columns`; columns named `person` or `actor` are persons. */
const Rows = t.Array(t.Array(AnyJson))

/** The `results` of a query, by its kind. Adding a kind means adding a line. */
export const QUERY_RESULTS = {
  ActorsQuery: Rows,
  EventsQuery: Rows,
  FunnelsQuery: FunnelsResults,
  HogQLQuery: Rows,
  LifecycleQuery: t.Array(LifecycleSeriesAnswer),
  PathsQuery: t.Array(PathsEdgeAnswer),
  RetentionQuery: t.Array(RetentionRowAnswer),
  StickinessQuery: t.Array(StickinessSeriesAnswer),
  TrendsQuery: t.Array(TrendsSeriesAnswer),
  WebExternalClicksTableQuery: t.Array(WebStatsRowAnswer),
  WebOverviewQuery: t.Array(WebFigureAnswer),
  WebStatsTableQuery: t.Array(WebStatsRowAnswer),
} as const satisfies Readonly<Record<string, TSchema>>

/** The type of `results` of each kind. */
export type QueryResults = {
  readonly [Kind in keyof typeof QUERY_RESULTS]: Static<(typeof QUERY_RESULTS)[Kind]>
}
