/** Schemas of surveys. */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  NullableYes,
  PageQuery,
  pageOfItems,
  Uuid,
  Whole,
} from '../common.ts'
import { NullableUser } from '../user-basic.ts'
import { LinkedFlag } from './flags.ts'

const NAME_LENGTH_MAX = 400
const QUESTIONS_MAX = 100

/** A question; other members are defined by the client library. */
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
  enable_partial_responses: t.Optional(t.Nullable(t.Boolean())),
  enable_iframe_embedding: t.Optional(t.Nullable(t.Boolean())),
  /** Texts in other languages, by language. */
  translations: t.Optional(t.Nullable(AnyObject)),
  form_content: t.Optional(t.Nullable(AnyObject)),
  responses_limit: t.Optional(t.Nullable(Whole)),
  iteration_count: t.Optional(t.Nullable(t.Number({ multipleOf: 1, minimum: 0, maximum: 500 }))),
  iteration_frequency_days: t.Optional(
    t.Nullable(t.Number({ multipleOf: 1, minimum: 0, maximum: 3650 })),
  ),
  /** The members of adaptive sampling are kept for clients: every person who may see a survey sees it. */
  response_sampling_start_date: t.Optional(t.Nullable(MomentText)),
  response_sampling_interval_type: t.Optional(t.Nullable(t.UnionEnum(['day', 'week', 'month']))),
  response_sampling_interval: t.Optional(t.Nullable(Whole)),
  response_sampling_limit: t.Optional(t.Nullable(Whole)),
  response_sampling_daily_limits: t.Optional(AnyJson),
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
  type: t.Optional(t.UnionEnum(TYPES)),
  /** Ids with commas. */
  ids: t.Optional(t.String()),
})

/** A survey as the API returns it. */
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
  enable_partial_responses: NullableYes,
  enable_iframe_embedding: NullableYes,
  translations: AnyJson,
  form_content: AnyJson,
  responses_limit: t.Nullable(Whole),
  iteration_count: t.Nullable(Whole),
  iteration_frequency_days: t.Nullable(Whole),
  iteration_start_dates: t.Nullable(t.Array(Moment)),
  current_iteration: t.Nullable(Whole),
  current_iteration_start_date: NullableMoment,
  response_sampling_start_date: NullableMoment,
  response_sampling_interval_type: NullableText,
  response_sampling_interval: t.Nullable(Whole),
  response_sampling_limit: t.Nullable(Whole),
  response_sampling_daily_limits: AnyJson,
  created_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
  /** The keys of its flags, by their role. */
  feature_flag_keys: t.Array(t.Object({ key: t.String(), value: NullableText })),
  user_access_level: t.String(),
})
export const SurveyPage = pageOfItems(SurveyAnswer)

/** Responses by survey id. */
export const ResponseCounts = t.Record(t.String(), Whole)

const EventFigures = t.Object({
  total_count: Whole,
  unique_persons: Whole,
  first_seen: NullableMoment,
  last_seen: NullableMoment,
  /** Persons who saw the survey and neither dismissed nor answered it. */
  total_count_only_seen: Whole,
  unique_persons_only_seen: Whole,
})

const figures = {
  stats: t.Object({
    'survey shown': EventFigures,
    'survey dismissed': EventFigures,
    'survey sent': EventFigures,
  }),
  /** In percent of the persons who saw it. */
  rates: t.Object({
    response_rate: t.Number(),
    dismissal_rate: t.Number(),
    unique_users_response_rate: t.Number(),
    unique_users_dismissal_rate: t.Number(),
  }),
}

/** Over all surveys that are not archived. */
export const AllSurveyStats = t.Object(figures)

export const SurveyStats = t.Object({
  ...figures,
  survey_id: Uuid,
  start_date: NullableMoment,
  end_date: NullableMoment,
})

const Truth = t.Optional(t.UnionEnum(['true', 'false']))

export const SurveyStatsQuery = t.Object({
  date_from: t.Optional(t.String()),
  date_to: t.Optional(t.String()),
  /** Excludes archived responses. */
  exclude_archived: Truth,
})

export const ResponseCountsQuery = t.Object({
  /** Comma-separated; all surveys when missing. */
  survey_ids: t.Optional(t.String()),
  /** Excludes archived responses. */
  exclude_archived: Truth,
})

export const ResponsesQuery = t.Object({
  ...PageQuery.properties,
  since: t.Optional(t.String()),
  until: t.Optional(t.String()),
  exclude_archived: Truth,
})

/** Responses to a survey, the latest first. */
export const ResponsesAnswer = t.Object({
  results: t.Array(
    t.Object({
      uuid: Uuid,
      timestamp: Moment,
      distinct_id: t.String(),
      person_id: Uuid,
      archived: t.Boolean(),
      /** By question id. */
      answers: t.Record(t.String(), AnyJson),
    }),
  ),
  next: NullableText,
  previous: NullableText,
})

export const ArchivedResponses = t.Array(Uuid)

/** Body of …/surveys/{id}/duplicate_to_projects/. */
export const SurveyCopy = t.Object(
  { target_team_ids: t.Array(Whole, { minItems: 1, maxItems: 100 }) },
  { additionalProperties: true },
)
export const SurveyCopies = t.Object({
  created_surveys: t.Array(t.Object({ team_id: Whole, survey_id: Uuid, name: t.String() })),
  count: Whole,
})
