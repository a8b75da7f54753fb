/** Surveys under a project (wire §4.10). */
import type { Static } from 'elysia'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import {
  NewSurvey,
  ResponseCounts,
  SurveyAnswer,
  SurveyChange,
  SurveyPage,
  SurveyStats,
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
  type Survey,
  updateSurvey,
  type WantedSurvey,
} from '../../targeting/survey.ts'
import { answerJson } from '../answers.ts'
import { uuidIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import { momentIn } from '../moments.ts'
import type { Needs } from '../needs.ts'
import { answerPage, queryValue } from '../pages.ts'
import { askEvents } from '../questions/event-questions.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from './authors.ts'
import { editorOf } from './feature-flags.ts'
import { linkedFlags } from './linked-flags.ts'

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
    answer: (needs, { request, project }) => {
      const wanted = queryValue(request, 'search')?.toLowerCase() ?? ''
      const archived = queryValue(request, 'archived')
      const found = listSurveys(needs.control, project.id).filter(
        (survey) =>
          survey.name.toLowerCase().includes(wanted) &&
          (archived === null || String(survey.archived) === archived),
      )
      return answerPage(request, needs.publicUrl(), found, surveyShower(needs, project.id))
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
      return answerJson(surveyShower(needs, project.id)(survey), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/responses_count/',
    scope: 'survey:read',
    says: 'Count the answers to each survey.',
    answers: { 200: ResponseCounts },
    answer: async (needs, { request, project }) => {
      const rows = await askEvents(needs, { project, request }, RESPONSES)
      return answerJson(Object.fromEntries(rows.map(([id, count]) => [String(id), count])))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'surveys/:id/',
    scope: 'survey:read',
    says: 'Read a survey.',
    answers: { 200: SurveyAnswer },
    answer: (needs, { params, project }) => {
      const survey = getSurvey(needs.control, project.id, uuidIn(params))
      return answerJson(surveyShower(needs, project.id)(survey))
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
      return answerJson(surveyShower(needs, project.id)(survey))
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
    path: 'surveys/:id/stats/',
    scope: 'survey:read',
    says: 'Count who was shown a survey, dismissed it and answered it.',
    answers: { 200: SurveyStats },
    answer: async (needs, { request, params, project }) => {
      const { id } = getSurvey(needs.control, project.id, uuidIn(params))
      const rows = await askEvents(needs, { project, request, values: { survey: id } }, STATS)
      const known = new Map(rows.map(([event, ...figures]) => [event, figures]))
      const stats = STAT_EVENTS.map((event) => {
        const [total_count = 0, unique_persons = 0, first_seen = null, last_seen = null] =
          known.get(event) ?? []
        return [event, { total_count, unique_persons, first_seen, last_seen }]
      })
      return answerJson({ stats: Object.fromEntries(stats) })
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

const STAT_EVENTS = ['survey shown', 'survey dismissed', 'survey sent']

const RESPONSES = `
select properties.$survey_id, count()
from events
where event = 'survey sent'
group by properties.$survey_id
limit 10000`

const STATS = `
select event, count(), count(distinct person_id), min(timestamp), max(timestamp)
from events
where event in ('survey shown', 'survey dismissed', 'survey sent') and properties.$survey_id = {survey}
group by event`

/** Shows surveys of one project during one request. */
function surveyShower(needs: Needs, project_id: number): (survey: Survey) => object {
  const nameAuthor = authorNamer(needs)
  const flags = linkedFlags(needs, project_id)
  return (survey) => {
    const { project_id: _project, internal_targeting_flag_id, ...stored } = survey
    return {
      ...stored,
      linked_flag: flags(survey.linked_flag_id),
      targeting_flag: flags(survey.targeting_flag_id),
      internal_targeting_flag: flags(internal_targeting_flag_id),
      created_by: nameAuthor(survey.created_by),
      feature_flag_keys: [],
    }
  }
}

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
    questions: body.questions as Json | undefined,
    conditions: body.conditions as Json | undefined,
    appearance: body.appearance as Json | undefined,
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
