/** Schemas of web experiments. */
import { t } from 'elysia'
import { AnyJson, Moment, pageOfItems, Whole } from '../common.ts'

const NAME_LENGTH_MAX = 400

/** A variant: its changes by page, and its share. */
const Variant = t.Object(
  {
    transforms: t.Optional(t.Nullable(t.Array(t.Object({}, { additionalProperties: true })))),
    conditions: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
    rollout_percentage: t.Optional(t.Nullable(t.Number({ minimum: 0, maximum: 100 }))),
  },
  { additionalProperties: true },
)
const Name = t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })
const Variants = t.Record(t.String(), Variant)

/** Body of POST …/web_experiments/. */
export const NewWebExperiment = t.Object(
  { name: Name, variants: Variants },
  { additionalProperties: true },
)

/** Body of PATCH …/web_experiments/{id}/. */
export const WebExperimentChange = t.Object(
  { name: t.Optional(Name), variants: t.Optional(Variants) },
  { additionalProperties: true },
)

/** A web experiment as the API returns it. */
export const WebExperimentAnswer = t.Object({
  id: Whole,
  name: t.String(),
  created_at: Moment,
  feature_flag_key: t.String(),
  variants: AnyJson,
})
export const WebExperimentPage = pageOfItems(WebExperimentAnswer)
