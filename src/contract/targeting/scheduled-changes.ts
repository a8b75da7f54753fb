/** Schemas of scheduled changes of flags. */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  PageQuery,
  pageOfItems,
  Whole,
} from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const CRON_LENGTH_MAX = 100
const INTERVALS = ['daily', 'weekly', 'monthly', 'yearly'] as const
const MODELS = ['FeatureFlag'] as const

const RecordId = t.Union([t.String({ minLength: 1, maxLength: 200 }), Whole])
const Payload = t.Object({}, { additionalProperties: true })

const members = {
  is_recurring: t.Optional(t.Boolean()),
  recurrence_interval: t.Optional(t.Nullable(t.UnionEnum(INTERVALS))),
  /** Minute, hour, day of the month, month and weekday, by the project's clocks. */
  cron_expression: t.Optional(t.Nullable(t.String({ maxLength: CRON_LENGTH_MAX }))),
  end_date: t.Optional(t.Nullable(t.String())),
}

/** Body of POST …/scheduled_changes/. */
export const NewScheduledChange = t.Object(
  {
    record_id: RecordId,
    model_name: t.UnionEnum(MODELS),
    payload: Payload,
    scheduled_at: t.String(),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/scheduled_changes/{id}/. */
export const ScheduledChangeChange = t.Object(
  {
    record_id: t.Optional(RecordId),
    model_name: t.Optional(t.UnionEnum(MODELS)),
    payload: t.Optional(Payload),
    scheduled_at: t.Optional(t.String()),
    ...members,
  },
  { additionalProperties: true },
)

export const ScheduledChangesQuery = t.Object({
  ...PageQuery.properties,
  model_name: t.Optional(t.String()),
  record_id: t.Optional(t.String()),
})

/** A scheduled change as the API returns it. */
export const ScheduledChangeAnswer = t.Object({
  id: Whole,
  team_id: Whole,
  record_id: t.String(),
  model_name: t.UnionEnum(MODELS),
  payload: AnyJson,
  scheduled_at: Moment,
  executed_at: NullableMoment,
  last_executed_at: NullableMoment,
  failure_reason: NullableText,
  is_recurring: t.Boolean(),
  recurrence_interval: t.Nullable(t.UnionEnum(INTERVALS)),
  cron_expression: NullableText,
  end_date: NullableMoment,
  timezone: t.String(),
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
})
export const ScheduledChangePage = pageOfItems(ScheduledChangeAnswer)
