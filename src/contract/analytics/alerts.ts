/** Schemas of alerts on insights. */
import { type Static, t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  NullableYes,
  PageQuery,
  pageOfItems,
  Whole,
} from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const NAME_LENGTH_MAX = 255
const URL_LENGTH_MAX = 2048
const SERIES_MAX = 1000

const AlertBound = t.Optional(t.Nullable(t.Number()))

const Threshold = t.Object(
  {
    configuration: t.Object(
      {
        type: t.UnionEnum(['absolute', 'percentage']),
        bounds: t.Object({ lower: AlertBound, upper: AlertBound }, { additionalProperties: true }),
      },
      { additionalProperties: true },
    ),
  },
  { additionalProperties: true },
)

const Condition = t.Object(
  { type: t.UnionEnum(['absolute_value', 'relative_increase', 'relative_decrease']) },
  { additionalProperties: true },
)
export type AlertConditionInput = Static<typeof Condition>

const Config = t.Object(
  {
    type: t.Literal('TrendsAlertConfig'),
    /** The line of the insight, from 0. */
    series_index: t.Number({ multipleOf: 1, minimum: 0, maximum: SERIES_MAX }),
    check_ongoing_interval: t.Optional(t.Nullable(t.Boolean())),
  },
  { additionalProperties: true },
)

const CalculationInterval = t.UnionEnum(['hourly', 'daily', 'weekly', 'monthly'])

const members = {
  name: t.String({ maxLength: NAME_LENGTH_MAX }),
  threshold: Threshold,
  condition: Condition,
  config: Config,
  calculation_interval: CalculationInterval,
  enabled: t.Boolean(),
  /** Not checked on Saturdays and Sundays of the project's time zone. */
  skip_weekend: NullableYes,
  snoozed_until: t.Nullable(t.String({ maxLength: 64 })),
  /** The address to which messages are posted; null for none. */
  webhook_url: t.Nullable(t.String({ maxLength: URL_LENGTH_MAX })),
}

/** The id of a saved trend, or the insight as answers have it: scripts send them back whole. */
const InsightReference = t.Union([Whole, t.Object({ id: Whole }, { additionalProperties: true })])
export type InsightReference = Static<typeof InsightReference>

/** Body of POST …/alerts/. */
export const AlertBody = t.Object(
  {
    ...t.Partial(t.Object(members)).properties,
    insight: InsightReference,
    threshold: Threshold,
    condition: Condition,
    config: Config,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/alerts/:alert_id/. */
export const AlertChangesBody = t.Partial(t.Object({ ...members, insight: InsightReference }), {
  additionalProperties: true,
})

export const AlertsQuery = t.Object({
  ...PageQuery.properties,
  /** The id of an insight. */
  insight: t.Optional(Whole),
})

const State = t.UnionEnum(['Firing', 'Not firing', 'Errored', 'Snoozed'])

const Check = t.Object({
  id: t.String(),
  created_at: Moment,
  calculated_value: t.Nullable(t.Number()),
  state: State,
  targets_notified: t.Boolean(),
  /** The reason why nothing could be judged, or a message did not arrive. */
  error: NullableText,
})

/** An alert. The answer for one has its last checks, a list has none. */
export const AlertAnswer = t.Object({
  id: t.String(),
  name: t.String(),
  insight: t.Object({ id: Whole, short_id: t.String(), name: NullableText }),
  threshold: t.Object({ configuration: AnyJson }),
  condition: t.Object({ type: t.String() }),
  config: AnyJson,
  calculation_interval: CalculationInterval,
  enabled: t.Boolean(),
  skip_weekend: t.Boolean(),
  state: State,
  snoozed_until: NullableMoment,
  webhook_url: NullableText,
  subscribed_users: t.Array(AnyJson),
  last_checked_at: NullableMoment,
  last_notified_at: NullableMoment,
  next_check_at: NullableMoment,
  created_by: NullableUser,
  created_at: Moment,
  checks: t.Array(Check),
})
export const AlertPage = pageOfItems(AlertAnswer)
