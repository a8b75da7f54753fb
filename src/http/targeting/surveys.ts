/** Surveys under a project (wire §4.10). */
import type { Static } from 'elysia'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import {
  NewSurvey,
  SurveyAnswer,
  SurveyChange,
  SurveyPage,
  SurveysQuery,
} from '../../contract/surveys.ts'
import { Refusal } from '../../errors.ts'
import type { Json } from '../../projects/tables.ts'
import { getFlag } from '../../targeting/flag.ts'
import {
  createSurvey,
  getSurvey,
  listSurveys,
  removeSurvey,
  updateSurvey,
  type WantedSurvey,
} from '../../targeting/survey.ts'
import {
  appearanceToKeep,
  questionsToKeep,
  translationsToKeep,
} from '../../targeting/survey-questions.ts'
import { answerJson } from '../answers.ts'
import { uuidIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import { momentIn } from '../moments.ts'
import type { Needs } from '../needs.ts'
import { answerPage, queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { editorOf } from './feature-flags.ts'
import { surveyShower } from './survey-wire.ts'

const NEW_SURVEY = shapeOf(NewSurvey)
const SURVEY_CHANGE = shapeOf(SurveyChange)

export const SURVEY_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'surveys/',
    scope: 'survey:read',
    says: "List the project's surveys, newest first.",
    query: SurveysQuery,
    answers: { 200: SurveyPage },
    answer: (needs, { request, asker, project }) => {
      const wanted = queryValue(request, 'search')?.toLowerCase() ?? ''
      const archived = queryValue(request, 'archived')
      const type = queryValue(request, 'type') ?? ''
      const ids = queryValue(request, 'ids')?.split(',') ?? []
      const found = listSurveys(needs.control, project.id).filter(
        (survey) =>
          [survey.name, survey.description].some((text) => text.toLowerCase().includes(wanted)) &&
          (archived === null || String(survey.archived) === archived) &&
          (type === '' || survey.type === type) &&
          (ids.length === 0 || ids.includes(survey.id)),
      )
      return answerPage(request, needs.publicUrl(), found, surveyShower(needs, { asker, project }))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'surveys/',
    scope: 'survey:write',
    says: 'Make a survey, with the flags that choose whom it asks.',
    answers: { 201: SurveyAnswer },
    body: NEW_SURVEY,
    answer: (needs, { body, project, asker }) => {
      const { name, type } = body
      const wanted = { ...wantedSurvey(needs, project.id, body), name, type }
      const survey = createSurvey(editorOf(needs, project, asker), wanted, needs.now())
      return answerJson(surveyShower(needs, { asker, project })(survey), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/',
    scope: 'survey:read',
    says: 'Read a survey.',
    answers: { 200: SurveyAnswer },
    answer: (needs, { params, asker, project }) => {
      const survey = getSurvey(needs.control, project.id, uuidIn(params))
      return answerJson(surveyShower(needs, { asker, project })(survey))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'surveys/:id/',
    scope: 'survey:write',
    says: 'Change a survey, and its flags with it.',
    answers: { 200: SurveyAnswer },
    body: SURVEY_CHANGE,
    answer: (needs, { body, params, project, asker }) => {
      const before = getSurvey(needs.control, project.id, uuidIn(params))
      const wanted = wantedSurvey(needs, project.id, body)
      const survey = updateSurvey(editorOf(needs, project, asker), before, wanted, needs.now())
      return answerJson(surveyShower(needs, { asker, project })(survey))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'surveys/:id/',
    scope: 'survey:write',
    says: 'Remove a survey and the flags of its own.',
    answers: { 204: null },
    answer: (needs, { params, project, asker }) => {
      const survey = getSurvey(needs.control, project.id, uuidIn(params))
      removeSurvey(editorOf(needs, project, asker), survey, needs.now())
      return new Response(null, { status: 204 })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to a survey.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = getSurvey(needs.control, project.id, uuidIn(params)).id
      return answerJson(projectActivity(needs, call, { scope: 'Survey', item_id }))
    },
  }),
] as const

/** Of a body what is stored. Refuses flags that are not there. */
function wantedSurvey(
  needs: Needs,
  project_id: number,
  body: Static<typeof SurveyChange>,
): WantedSurvey {
  for (const attr of ['linked_flag_id', 'targeting_flag_id'] as const) {
    const flag_id = body[attr]
    if (typeof flag_id === 'number') requireFlag(needs, project_id, flag_id, attr)
  }
  const wanted = {
    name: body.name,
    description: body.description,
    type: body.type,
    schedule: body.schedule,
    linked_flag_id: body.linked_flag_id,
    targeting_flag_id: body.targeting_flag_id,
    targeting_flag_filters: body.targeting_flag_filters ?? undefined,
    remove_targeting_flag: body.remove_targeting_flag ?? undefined,
    questions: body.questions === undefined ? undefined : questionsToKeep(body.questions),
    conditions: body.conditions as Json | undefined,
    appearance: body.appearance === undefined ? undefined : appearanceToKeep(body.appearance),
    translations:
      body.translations === undefined ? undefined : translationsToKeep(body.translations),
    form_content: body.form_content as Json | undefined,
    enable_partial_responses: body.enable_partial_responses,
    enable_iframe_embedding: body.enable_iframe_embedding,
    start_date: momentIn(body.start_date, 'start_date'),
    end_date: momentIn(body.end_date, 'end_date'),
    archived: body.archived,
    responses_limit: body.responses_limit,
    iteration_count: body.iteration_count,
    iteration_frequency_days: body.iteration_frequency_days,
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedSurvey
}

function requireFlag(needs: Needs, project_id: number, flag_id: number, attr: string): void {
  try {
    getFlag(needs.control, project_id, flag_id)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const detail = `Feature flag with id ${flag_id} does not exist`
    throw new Refusal('does_not_exist', detail, { attr })
  }
}
