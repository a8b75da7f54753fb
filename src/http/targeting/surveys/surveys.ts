/** Surveys of a project. */
import type { Static } from 'elysia'
import { ActivityQuery, ItemActivityAnswer } from '../../../contract/management/project.ts'
import {
  NewSurvey,
  SurveyAnswer,
  SurveyChange,
  SurveyPage,
  SurveysQuery,
} from '../../../contract/targeting/surveys.ts'
import { Refusal } from '../../../errors.ts'
import { isRecord } from '../../../flags/value.ts'
import { isYes } from '../../../insights/legacy-filters.ts'
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
import { answerJson } from '../../answers.ts'
import type { AppContext } from '../../app-context.ts'
import { projectActivity } from '../../management/activity.ts'
import { answerPage, queryValue } from '../../pages.ts'
import { parseUuidId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { sentMembers } from '../../sent-members.ts'
import { validatorOf } from '../../shape.ts'
import { parseTimestamp } from '../../timestamps.ts'
import { editorOf } from '../flags/feature-flags.ts'
import { surveySerializer } from './survey-serializer.ts'

const NEW_SURVEY = validatorOf(NewSurvey)
const SURVEY_CHANGE = validatorOf(SurveyChange)

export const SURVEY_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'surveys/',
    scope: 'survey:read',
    summary: "List the project's surveys, newest first.",
    query: SurveysQuery,
    answers: { 200: SurveyPage },
    answer: (app, { request, caller, project }) => {
      const search_text = queryValue(request, 'search')?.toLowerCase() ?? ''
      const archived = queryValue(request, 'archived')
      const type = queryValue(request, 'type') ?? ''
      const ids = queryValue(request, 'ids')?.split(',') ?? []
      const result = listSurveyHeads(app.control, project.id).filter(
        (survey) =>
          [survey.name, survey.description].some((text) =>
            text.toLowerCase().includes(search_text),
          ) &&
          (archived === null || survey.archived === isYes(archived)) &&
          (type === '' || survey.type === type) &&
          (ids.length === 0 || ids.includes(survey.id)),
      )
      const serialize = surveySerializer(app, { caller, project })
      return answerPage(request, app.publicUrl(), result, ({ id }) =>
        serialize(getSurvey(app.control, project.id, id)),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'surveys/',
    scope: 'survey:write',
    summary: 'Make a survey, with the flags that choose whom it asks.',
    answers: { 201: SurveyAnswer },
    body: NEW_SURVEY,
    answer: (app, { body, project, caller }) => {
      const { name, type } = body
      const wanted = { ...readSurveyChanges(app, project.id, body), name, type }
      const survey = createSurvey(editorOf(app, project, caller), wanted, app.now())
      return answerJson(surveySerializer(app, { caller, project })(survey), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/',
    scope: 'survey:read',
    summary: 'Read a survey.',
    answers: { 200: SurveyAnswer },
    answer: (app, { params, caller, project }) => {
      const survey = getSurvey(app.control, project.id, parseUuidId(params))
      return answerJson(surveySerializer(app, { caller, project })(survey))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'surveys/:id/',
    scope: 'survey:write',
    summary: 'Change a survey, and its flags with it.',
    answers: { 200: SurveyAnswer },
    body: SURVEY_CHANGE,
    answer: (app, { body, params, project, caller }) => {
      const before = getSurvey(app.control, project.id, parseUuidId(params))
      const changes = readSurveyChanges(app, project.id, body)
      const survey = updateSurvey(editorOf(app, project, caller), before, changes, app.now())
      return answerJson(surveySerializer(app, { caller, project })(survey))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'surveys/:id/',
    scope: 'survey:write',
    summary: 'Remove a survey and the flags of its own.',
    answers: { 204: null },
    answer: (app, { params, project, caller }) => {
      const survey = getSurvey(app.control, project.id, parseUuidId(params))
      removeSurvey(editorOf(app, project, caller), survey, app.now())
      return new Response(null, { status: 204 })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/activity/',
    scope: 'activity_log:read',
    summary: 'List what happened to a survey.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const { params, project } = call
      const item_id = getSurvey(app.control, project.id, parseUuidId(params)).id
      return answerJson(projectActivity(app, call, { scope: 'Survey', item_id }))
    },
  }),
] as const

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
    targeting_flag_filters: body.targeting_flag_filters ?? undefined,
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
  }
  return sentMembers(wanted)
}

/** Refuses targeting that excludes no person: a survey without targeting is for all persons. */
function requireTarget(filters: unknown): void {
  const groups = isRecord(filters) && Array.isArray(filters['groups']) ? filters['groups'] : []
  const is_everybody = groups.some((group: unknown) => {
    if (!isRecord(group)) return false
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
  try {
    getFlag(app.control, project_id, flag_id)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const detail = `Feature flag with id ${flag_id} does not exist`
    throw new Refusal('does_not_exist', detail, { attr })
  }
}
