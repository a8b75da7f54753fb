/** What bodies about experiments and holdouts look like on the wire (wire §4.10). */
import { t } from 'elysia'

const NAME_LENGTH_MAX = 400
const AnyObject = t.Object({}, { additionalProperties: true })
const AnyList = t.Array(t.Unknown())
const Whole = t.Number({ multipleOf: 1 })
const Moment = t.Optional(t.Nullable(t.String()))

const members = {
  description: t.Optional(t.Nullable(t.String())),
  type: t.Optional(t.Nullable(t.UnionEnum(['web', 'product']))),
  start_date: Moment,
  end_date: Moment,
  parameters: t.Optional(t.Nullable(AnyObject)),
  filters: t.Optional(t.Nullable(AnyObject)),
  metrics: t.Optional(t.Nullable(AnyList)),
  secondary_metrics: t.Optional(t.Nullable(AnyList)),
  metrics_secondary: t.Optional(t.Nullable(AnyList)),
  variants: t.Optional(t.Nullable(AnyObject)),
  holdout_id: t.Optional(t.Nullable(Whole)),
  exposure_cohort: t.Optional(t.Nullable(Whole)),
  archived: t.Optional(t.Boolean()),
  deleted: t.Optional(t.Nullable(t.Boolean())),
}

/** Body of POST …/experiments/. */
export const NewExperiment = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    feature_flag_key: t.String({ minLength: 1 }),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/experiments/{id}/. */
export const ExperimentChange = t.Object(
  {
    name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })),
    feature_flag_key: t.Optional(t.String()),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of POST …/experiment_holdouts/. */
export const NewHoldout = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    description: t.Optional(t.Nullable(t.String())),
    filters: t.Array(AnyObject),
  },
  { additionalProperties: true },
)

/** Body of PATCH …/experiment_holdouts/{id}/. */
export const HoldoutChange = t.Object(
  {
    name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })),
    description: t.Optional(t.Nullable(t.String())),
    filters: t.Optional(t.Array(AnyObject)),
  },
  { additionalProperties: true },
)
