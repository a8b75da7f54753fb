/** Surveys of a project. */

import type { Static } from 'elysia'
import {
  NewSurvey,
  SurveyAnswer,
  SurveyChange,
  SurveyPage,
  SurveysQuery,
} from '../../../contract/targeting/surveys.ts'
import { getNamed, Refusal } from '../../../errors.ts'
import { hasConditions } from '../../../flags/plan.ts'
import { isYes } from '../../../insights/legacy/legacy-filters.ts'
import { isObject } from '../../../json.ts'
import type { Json } from '../../../projects/tables.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import {
  createSurvey,
  getSurvey,
  listSurveyHeads,
  removeSurvey,
  type SurveyChanges,
  updateSurvey,
} from '../../../targeting/surveys/survey.ts'
import {
  storedAppearance,
  storedQuestions,
  storedTranslations,
} from '../../../targeting/surveys/survey-questions.ts'
import { queryValue } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { parseTimestamp } from '../../bodies/timestamps.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseUuidId } from '../../path-ids.ts'
import { resource } from '../../resource.ts'
import { surveySerializer } from './survey-serializer.ts'

const NEW_SURVEY = validatorOf(NewSurvey)
const SURVEY_CHANGE = validatorOf(SurveyChange)

export const SURVEY_ROUTES = resource({
  path: 'surveys/',
  resource: 'survey',
  answer: SurveyAnswer,
  find: (app, project, params) => getSurvey(app.control, project.id, parseUuidId(params)),
  serializer: surveySerializer,
  list: {
    summary: "List the project's surveys, newest first.",
    query: SurveysQuery,
    answer: SurveyPage,
    items: (app, { request, project }) => {
      const archived = queryValue(request, 'archived')
      const type = queryValue(request, 'type') ?? ''
      const ids = new Set(queryValue(request, 'ids')?.split(','))
      return listSurveyHeads(app.control, project.id).filter(
        (survey) =>
          (archived === null || survey.archived === isYes(archived)) &&
          (type === '' || survey.type === type) &&
          (ids.size === 0 || ids.has(survey.id)),
      )
    },
    texts: ({ name, description }) => [name, description],
    open: (app, project, { id }) => getSurvey(app.control, project.id, id),
  },
  create: {
    summary: 'Create a survey, with its targeting flags.',
    body: NEW_SURVEY,
    run: (app, { body, project, caller }) => {
      const { name, type } = body
      const wanted = { ...readSurveyChanges(app, project.id, body), name, type }
      return createSurvey(targetingEditor(app, project, caller), wanted, app.now())
    },
  },
  read: { summary: 'Read a survey.' },
  change: {
    summary: 'Change a survey and its flags.',
    body: SURVEY_CHANGE,
    run: (app, { body, project, caller }, before) => {
      const changes = readSurveyChanges(app, project.id, body)
      return updateSurvey(targetingEditor(app, project, caller), before, changes, app.now())
    },
  },
  remove: {
    summary: 'Delete a survey and its own flags.',
    run: (app, { project, caller }, survey) =>
      removeSurvey(targetingEditor(app, project, caller), survey, app.now()),
  },
  activity: { summary: 'List the activity log of a survey.', scope: 'Survey' },
})

/** Reads the stored members from a body. Refuses missing flags. */
function readSurveyChanges(
  app: AppContext,
  project_id: number,
  body: Static<typeof SurveyChange>,
): SurveyChanges {
  for (const attr of ['linked_flag_id', 'targeting_flag_id'] as const) {
    const flag_id = body[attr]
    if (typeof flag_id === 'number') requireFlag(app, project_id, flag_id, attr)
  }
  requireTarget(body.targeting_flag_filters)
  const wanted = {
    name: body.name,
    description: body.description,
    type: body.type,
    schedule: body.schedule,
    linked_flag_id: body.linked_flag_id,
    targeting_flag_id: body.targeting_flag_id,
    // Others say nothing about whom to ask, and leave the present targeting as it is.
    targeting_flag_filters: hasConditions(body.targeting_flag_filters)
      ? (body.targeting_flag_filters ?? undefined)
      : undefined,
    remove_targeting_flag: body.remove_targeting_flag ?? undefined,
    questions: body.questions === undefined ? undefined : storedQuestions(body.questions),
    conditions: body.conditions as Json | undefined,
    appearance: body.appearance === undefined ? undefined : storedAppearance(body.appearance),
    translations:
      body.translations === undefined ? undefined : storedTranslations(body.translations),
    form_content: body.form_content as Json | undefined,
    enable_partial_responses: body.enable_partial_responses,
    enable_iframe_embedding: body.enable_iframe_embedding,
    start_date: parseTimestamp(body.start_date, 'start_date'),
    end_date: parseTimestamp(body.end_date, 'end_date'),
    archived: body.archived,
    responses_limit: body.responses_limit,
    iteration_count: body.iteration_count,
    iteration_frequency_days: body.iteration_frequency_days,
    response_sampling_start_date: parseTimestamp(
      body.response_sampling_start_date,
      'response_sampling_start_date',
    ),
    response_sampling_interval_type: body.response_sampling_interval_type,
    response_sampling_interval: body.response_sampling_interval,
    response_sampling_limit: body.response_sampling_limit,
    response_sampling_daily_limits: body.response_sampling_daily_limits as Json | undefined,
  }
  return sentMembers(wanted)
}

/** Refuses targeting that excludes no person: a survey without targeting is for all persons. */
function requireTarget(filters: unknown): void {
  const groups = isObject(filters) && Array.isArray(filters['groups']) ? filters['groups'] : []
  const is_everybody = groups.some((group: unknown) => {
    if (!isObject(group)) return false
    const { rollout_percentage = null, properties = null } = group
    const is_unconditional = !Array.isArray(properties) || properties.length === 0
    return is_unconditional && (rollout_percentage === null || rollout_percentage === 100)
  })
  if (!is_everybody) return
  const detail =
    'Invalid operation: User targeting rolls out to everyone. If you want to roll out to everyone, delete this targeting'
  throw new Refusal('invalid_input', detail, { attr: 'targeting_flag_filters' })
}

function requireFlag(app: AppContext, project_id: number, flag_id: number, attr: string): void {
  const detail = `Feature flag with id ${flag_id} does not exist`
  getNamed(() => getFlag(app.control, project_id, flag_id), attr, detail)
}
