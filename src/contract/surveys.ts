/** What bodies about surveys look like on the wire (wire §4.10). */
import { t } from 'elysia'

const NAME_LENGTH_MAX = 400
const QUESTIONS_MAX = 100

/** What is asked; further members are the client library's business. */
const Question = t.Object(
  {
    type: t.UnionEnum(['open', 'link', 'rating', 'multiple_choice', 'single_choice']),
    question: t.String({ minLength: 1 }),
    choices: t.Optional(t.Nullable(t.Array(t.String()))),
  },
  { additionalProperties: true },
)

const AnyObject = t.Object({}, { additionalProperties: true })
const Whole = t.Number({ multipleOf: 1 })
const Moment = t.String()
const TYPES = ['popover', 'widget', 'external_survey', 'api', 'button', 'email'] as const

const members = {
  description: t.Optional(t.String()),
  schedule: t.Optional(t.Nullable(t.UnionEnum(['once', 'recurring', 'always']))),
  linked_flag_id: t.Optional(t.Nullable(Whole)),
  targeting_flag_id: t.Optional(t.Nullable(Whole)),
  targeting_flag_filters: t.Optional(t.Nullable(AnyObject)),
  remove_targeting_flag: t.Optional(t.Nullable(t.Boolean())),
  questions: t.Optional(t.Nullable(t.Array(Question, { maxItems: QUESTIONS_MAX }))),
  conditions: t.Optional(t.Nullable(AnyObject)),
  appearance: t.Optional(t.Nullable(AnyObject)),
  start_date: t.Optional(t.Nullable(Moment)),
  end_date: t.Optional(t.Nullable(Moment)),
  archived: t.Optional(t.Boolean()),
  responses_limit: t.Optional(t.Nullable(Whole)),
  iteration_count: t.Optional(t.Nullable(t.Number({ multipleOf: 1, minimum: 0, maximum: 500 }))),
  iteration_frequency_days: t.Optional(
    t.Nullable(t.Number({ multipleOf: 1, minimum: 0, maximum: 3650 })),
  ),
}

/** Body of POST …/surveys/. */
export const NewSurvey = t.Object(
  {
    name: t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
    type: t.UnionEnum(TYPES),
    ...members,
  },
  { additionalProperties: true },
)

/** Body of PATCH …/surveys/{id}/. */
export const SurveyChange = t.Object(
  {
    name: t.Optional(t.String({ minLength: 1, maxLength: NAME_LENGTH_MAX })),
    type: t.Optional(t.UnionEnum(TYPES)),
    ...members,
  },
  { additionalProperties: true },
)
