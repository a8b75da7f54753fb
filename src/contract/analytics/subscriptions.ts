/** Schemas of subscriptions of dashboards. */
import { t } from 'elysia'
import { Moment, NullableMoment, NullableText, PageQuery, pageOfItems, Whole } from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const TITLE_LENGTH_MAX = 100
const URL_LENGTH_MAX = 2048
const INTERVAL_MAX = 365

const Frequency = t.UnionEnum(['daily', 'weekly', 'monthly'])

const members = {
  title: t.Nullable(t.String({ maxLength: TITLE_LENGTH_MAX })),
  /** This server posts to webhooks only. */
  target_type: t.UnionEnum(['webhook']),
  /** The address of the webhook. */
  target_value: t.String({ maxLength: URL_LENGTH_MAX }),
  frequency: Frequency,
  interval: t.Number({ multipleOf: 1, minimum: 1, maximum: INTERVAL_MAX }),
  /** The first delivery; later ones are at its time of day, in UTC. */
  start_date: t.String({ maxLength: 64 }),
  deleted: t.Boolean(),
}

/** Body of POST …/subscriptions/. */
export const SubscriptionBody = t.Object(
  {
    ...t.Partial(t.Object(members)).properties,
    dashboard: Whole,
    target_type: members.target_type,
    target_value: members.target_value,
    frequency: members.frequency,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/subscriptions/:id/. */
export const SubscriptionChangesBody = t.Partial(t.Object(members), { additionalProperties: true })

export const SubscriptionsQuery = t.Object({
  ...PageQuery.properties,
  /** The id of a dashboard. */
  dashboard: t.Optional(Whole),
})

export const SubscriptionAnswer = t.Object({
  id: Whole,
  dashboard: Whole,
  insight: t.Null(),
  title: NullableText,
  target_type: t.Literal('webhook'),
  target_value: t.String(),
  frequency: Frequency,
  interval: Whole,
  start_date: Moment,
  next_delivery_date: Moment,
  last_delivery_date: NullableMoment,
  /** The error of the last delivery; null when it arrived. */
  last_error: NullableText,
  deleted: t.Boolean(),
  created_by: NullableUser,
  created_at: Moment,
})
export const SubscriptionPage = pageOfItems(SubscriptionAnswer)
