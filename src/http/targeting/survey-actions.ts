/** Surveys launched, stopped and copied into other projects: in one word, without sending the survey (wire §4.10). */
import { SurveyAnswer, SurveyCopies, SurveyCopy } from '../../contract/surveys.ts'
import { Refusal } from '../../errors.ts'
import { type Asker, getVisibleProject } from '../../projects/access.ts'
import { requireRight, rightsAt } from '../../projects/rights.ts'
import { getSurvey, type Survey, updateSurvey, type WantedSurvey } from '../../targeting/survey.ts'
import { copySurvey } from '../../targeting/survey-copy.ts'
import { answerJson } from '../answers.ts'
import { uuidIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { editorOf } from './feature-flags.ts'
import { surveyShower } from './survey-wire.ts'

const SURVEY_COPY = shapeOf(SurveyCopy)

type Turn = (survey: Survey, now: Date) => WantedSurvey

/** What is done to a survey by the last word of the path; what is so already stays as it is. */
const TURNS: readonly (readonly [turn: string, wanted: Turn, says: string])[] = [
  [
    'launch',
    (survey, now) => {
      if (survey.archived) throw refused('An archived survey cannot be launched.')
      const is_running = survey.start_date !== null && survey.end_date === null
      return is_running ? {} : { start_date: survey.start_date ?? now, end_date: null }
    },
    'Begin to ask, or go on with it.',
  ],
  [
    'stop',
    (survey, now) => {
      if (survey.start_date === null) throw refused('The survey has not been launched.')
      return survey.end_date === null ? { end_date: now } : {}
    },
    'Ask nobody any more.',
  ],
]

const TURN_ROUTES = TURNS.map(([turn, wantedFor, says]) =>
  projectRoute({
    method: 'POST',
    path: `surveys/:id/${turn}/`,
    scope: 'survey:write',
    says,
    answers: { 200: SurveyAnswer },
    answer: (needs, { params, project, asker }) => {
      const before = getSurvey(needs.control, project.id, uuidIn(params))
      const now = needs.now()
      const wanted = wantedFor(before, now)
      const editor = editorOf(needs, project, asker)
      const is_same = Object.keys(wanted).length === 0
      const survey = is_same ? before : updateSurvey(editor, before, wanted, now)
      return answerJson(surveyShower(needs, { asker, project })(survey))
    },
  }),
)

export const SURVEY_ACTION_ROUTES = [
  ...TURN_ROUTES,
  projectRoute({
    method: 'POST',
    path: 'surveys/:id/duplicate_to_projects/',
    scope: 'survey:write',
    says: 'Copy a survey into other projects of the organization as a draft: into all of them, or none.',
    body: SURVEY_COPY,
    answers: { 201: SurveyCopies },
    answer: (needs, { body, params, project, asker }) => {
      const survey = getSurvey(needs.control, project.id, uuidIn(params))
      const editors = [...new Set(body.target_team_ids)].map((id) =>
        editorThere(needs, asker, { id, organization_id: project.organization_id }),
      )
      const now = needs.now()
      const copies = needs.control.transaction(() =>
        editors.map((editor) => copySurvey(editor, survey, now)),
      )
      const created_surveys = copies.map(({ id, project_id, name }) => ({
        team_id: project_id,
        survey_id: id,
        name,
      }))
      return answerJson({ created_surveys, count: copies.length }, 201)
    },
  }),
]

/** Refuses projects of other organizations, and those in which the asker may not make surveys. */
function editorThere(
  needs: Needs,
  asker: Asker,
  { id, organization_id }: { readonly id: number; readonly organization_id: string },
) {
  try {
    const { thing, level } = getVisibleProject(needs.control, asker, String(id))
    if (thing.organization_id !== organization_id) throw notThere()
    const rights = rightsAt(needs.control, asker, { project: thing, level })
    requireRight(rights, { scope: 'survey:write', by: 'level' })
    return editorOf(needs, thing, asker)
  } catch (error) {
    throw error instanceof Refusal ? notThere() : error
  }
}

function notThere(): Refusal {
  const detail = "One or more target teams not found or you don't have access to them"
  return new Refusal('invalid_input', detail, { attr: 'target_team_ids' })
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail)
}
