/** Copies a survey into other projects: questions and appearance, without links to its project. */
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import { createSurvey, type Survey } from './survey.ts'
import { storedQuestions } from './survey-questions.ts'

/** Conditions that refer to flags, actions and events of the project. */
const OWN_CONDITIONS: ReadonlySet<string> = new Set(['actions', 'events', 'linkedFlagVariant'])

/** Creates a draft of the survey in the editor's project. */
export function copySurvey(editor: TargetingEditor, survey: Survey, now: Date): Survey {
  const { description, type, schedule, appearance, responses_limit, translations } = survey
  const { iteration_count, iteration_frequency_days, enable_partial_responses } = survey
  const stamp = now.toISOString().slice(0, 19).replace('T', ' ')
  const questions = Array.isArray(survey.questions) ? survey.questions : []
  const without_ids = questions.map((question) => {
    if (!isObject(question)) return question
    const { id: _own, ...rest } = question
    return rest
  })
  const conditions = isObject(survey.conditions)
    ? Object.entries(survey.conditions).filter(([name]) => !OWN_CONDITIONS.has(name))
    : null
  const input = {
    name: `${survey.name} (duplicated at ${stamp})`,
    description,
    type,
    schedule,
    appearance,
    responses_limit,
    translations,
    iteration_count,
    iteration_frequency_days,
    enable_partial_responses,
    questions: storedQuestions(without_ids),
    conditions: conditions && (Object.fromEntries(conditions) as Json),
  }
  return createSurvey(editor, input, now)
}
