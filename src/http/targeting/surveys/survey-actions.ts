/** Survey actions: launch, stop, and copies into other projects. */
import { SurveyAnswer, SurveyCopies, SurveyCopy } from '../../../contract/targeting/surveys.ts'
import { Refusal } from '../../../errors.ts'
import { type Caller, getVisibleProject } from '../../../projects/rights/access.ts'
import { requireRight, rightsAt } from '../../../projects/rights/rights.ts'
import {
  getSurvey,
  type Survey,
  type SurveyChanges,
  updateSurvey,
} from '../../../targeting/surveys/survey.ts'
import { copySurvey } from '../../../targeting/surveys/survey-copy.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseUuidId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { surveySerializer } from './survey-serializer.ts'

const SURVEY_COPY = validatorOf(SurveyCopy)

type SurveyAction = (survey: Survey, now: Date) => SurveyChanges

/** TRANSITIONS: the last segment of the path, the change, and the summary. Repeating one changes nothing. */
const TRANSITIONS: readonly (readonly [segment: string, changes: SurveyAction, summary: string])[] =
  [
    [
      'launch',
      (survey, now) => {
        if (survey.archived) throw refuseAction('An archived survey cannot be launched.')
        const is_running = survey.start_date !== null && survey.end_date === null
        return is_running ? {} : { start_date: survey.start_date ?? now, end_date: null }
      },
      'Launch or resume a survey.',
    ],
    [
      'stop',
      (survey, now) => {
        if (survey.start_date === null) throw refuseAction('The survey has not been launched.')
        return survey.end_date === null ? { end_date: now } : {}
      },
      'Stop a survey.',
    ],
  ]

const TRANSITION_ROUTES = TRANSITIONS.map(([segment, changesFor, summary]) =>
  projectRoute({
    method: 'POST',
    path: `surveys/:id/${segment}/`,
    scope: 'survey:write',
    summary: summary,
    answers: { 200: SurveyAnswer },
    answer: (app, { params, project, caller }) => {
      const before = getSurvey(app.control, project.id, parseUuidId(params))
      const now = app.now()
      const changes = changesFor(before, now)
      const editor = targetingEditor(app, project, caller)
      const is_same = Object.keys(changes).length === 0
      const survey = is_same ? before : updateSurvey(editor, before, changes, now)
      return answerJson(surveySerializer(app, { caller, project })(survey))
    },
  }),
)

export const SURVEY_ACTION_ROUTES = [
  ...TRANSITION_ROUTES,
  projectRoute({
    method: 'POST',
    path: 'surveys/:id/duplicate_to_projects/',
    scope: 'survey:write',
    summary:
      'Copy a survey into other projects of the organization as a draft: into all of them, or none.',
    body: SURVEY_COPY,
    answers: { 201: SurveyCopies },
    answer: (app, { body, params, project, caller }) => {
      const survey = getSurvey(app.control, project.id, parseUuidId(params))
      const editors = [...new Set(body.target_team_ids)].map((id) =>
        editorThere(app, caller, { id, organization_id: project.organization_id }),
      )
      const now = app.now()
      const copies = app.control.transaction(() =>
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

/** Refuses projects of other organizations, and those in which the caller may not create surveys. */
function editorThere(
  app: AppContext,
  caller: Caller,
  { id, organization_id }: { readonly id: number; readonly organization_id: string },
) {
  try {
    const { item, level } = getVisibleProject(app.control, caller, String(id))
    if (item.organization_id !== organization_id) throw notThere()
    const rights = rightsAt(app.control, caller, { project: item, level })
    requireRight(rights, { scope: 'survey:write', by: 'level' })
    return targetingEditor(app, item, caller)
  } catch (error) {
    throw error instanceof Refusal ? notThere() : error
  }
}

function notThere(): Refusal {
  const detail = "One or more target teams not found or you don't have access to them"
  return new Refusal('invalid_input', detail, { attr: 'target_team_ids' })
}

function refuseAction(detail: string): Refusal {
  return new Refusal('invalid_input', detail)
}
