/** What bodies about early access features look like on the wire (wire §4.10). */
import { t } from 'elysia'

const NAME_LENGTH_MAX = 200
const TEXT_LENGTH_MAX = 4000
const STAGES = ['draft', 'concept', 'alpha', 'beta', 'general-availability', 'archived'] as const

const members = {
  description: t.Optional(t.String({ maxLength: TEXT_LENGTH_MAX })),
  documentation_url: t.Optional(t.String({ maxLength: 800 })),
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
    ...members,
  },
  { additionalProperties: true },
)
