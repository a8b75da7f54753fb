/** What surveys look like on the wire (wire §4.10). */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  PageQuery,
  pageOfItems,
  Uuid,
  Whole,
} from './common.ts'
import { LinkedFlag } from './flags.ts'
import { NullableUser } from './user-basic.ts'

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
const MomentText = t.String()
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
  start_date: t.Optional(t.Nullable(MomentText)),
  end_date: t.Optional(t.Nullable(MomentText)),
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

export const SurveysQuery = t.Object({
  ...PageQuery.properties,
  search: t.Optional(t.String()),
  archived: t.Optional(t.UnionEnum(['true', 'false'])),
})

/** A survey as it is shown. */
export const SurveyAnswer = t.Object({
  id: Uuid,
  name: t.String(),
  description: t.String(),
  type: t.UnionEnum(TYPES),
  schedule: NullableText,
  linked_flag: LinkedFlag,
  linked_flag_id: t.Nullable(Whole),
  targeting_flag: LinkedFlag,
  targeting_flag_id: t.Nullable(Whole),
  internal_targeting_flag: LinkedFlag,
  questions: AnyJson,
  conditions: AnyJson,
  appearance: AnyJson,
  start_date: NullableMoment,
  end_date: NullableMoment,
  archived: t.Boolean(),
  responses_limit: t.Nullable(Whole),
  iteration_count: t.Nullable(Whole),
  iteration_frequency_days: t.Nullable(Whole),
  iteration_start_dates: t.Nullable(t.Array(Moment)),
  current_iteration: t.Nullable(Whole),
  current_iteration_start_date: NullableMoment,
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
  feature_flag_keys: t.Array(AnyJson),
})
export const SurveyPage = pageOfItems(SurveyAnswer)

/** How often each survey was answered, by its id. */
export const ResponseCounts = t.Record(t.String(), Whole)

const EventFigures = t.Object({
  total_count: Whole,
  unique_persons: Whole,
  first_seen: NullableMoment,
  last_seen: NullableMoment,
})

export const SurveyStats = t.Object({
  stats: t.Object({
    'survey shown': EventFigures,
    'survey dismissed': EventFigures,
    'survey sent': EventFigures,
  }),
})
