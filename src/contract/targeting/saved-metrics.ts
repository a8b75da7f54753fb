/** Schemas of saved metrics, which experiments share. */
import { t } from 'elysia'
import { AnyJson, Moment, NullableText, pageOfItems, Whole } from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const NAME_LENGTH_MAX = 400

const Metric = t.Object({}, { additionalProperties: true })
const Tags = t.Optional(t.Array(t.String()))

/** Body of POST …/experiment_saved_metrics/. */
export const NewSavedMetric = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    description: t.Optional(t.Nullable(t.String())),
    query: Metric,
    tags: Tags,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/experiment_saved_metrics/{id}/. */
export const SavedMetricChange = t.Partial(NewSavedMetric, { additionalProperties: true })

/** A saved metric as the API returns it. */
export const SavedMetricAnswer = t.Object({
  id: Whole,
  name: t.String(),
  description: NullableText,
  query: AnyJson,
  tags: t.Array(t.String()),
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
})
export const SavedMetricPage = pageOfItems(SavedMetricAnswer)
