/** Schemas of early access features. */
import { t } from 'elysia'
import { AnyJson, Moment, pageOfItems, Uuid } from '../common.ts'
import { LinkedFlag } from './flags.ts'

const NAME_LENGTH_MAX = 200
const TEXT_LENGTH_MAX = 4000
const STAGES = ['draft', 'concept', 'alpha', 'beta', 'general-availability', 'archived'] as const

const members = {
  description: t.Optional(t.String({ maxLength: TEXT_LENGTH_MAX })),
  documentation_url: t.Optional(t.String({ maxLength: 800 })),
  /** Sent to pages with the feature. */
  payload: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
}

/** Body of POST …/early_access_feature/. */
export const NewFeature = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    stage: t.UnionEnum(STAGES),
    feature_flag_id: t.Optional(t.Nullable(t.Number({ multipleOf: 1 }))),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/early_access_feature/{id}/. */
export const FeatureChange = t.Object(
  {
    name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })),
    stage: t.Optional(t.UnionEnum(STAGES)),
    /** With the stage general-availability: all persons get the feature. */
    rollout_to_all: t.Optional(t.Nullable(t.Boolean())),
    ...members,
  },
  { additionalProperties: true },
)

/** An early access feature as the API returns it. */
export const FeatureAnswer = t.Object({
  id: Uuid,
  feature_flag: LinkedFlag,
  name: t.String(),
  description: t.String(),
  stage: t.UnionEnum(STAGES),
  documentation_url: t.String(),
  payload: AnyJson,
  created_at: Moment,
})
export const FeaturePage = pageOfItems(FeatureAnswer)
