/** The state of a survey in a word. */
import type { VNode } from 'preact'
import type { ShownSurvey } from '../../api/types/shown-survey.ts'
import { Ago } from '../../parts/ago.tsx'
import { type SurveyState, stateOf } from './survey-draft.ts'
import style from './surveys.module.css'

const STATE_TEXTS: Readonly<Record<SurveyState, string>> = {
  archived: 'Archived',
  draft: 'Draft',
  ended: 'Ended',
  running: 'Running',
}

type SurveyBadgeProps = {
  readonly survey: Pick<ShownSurvey, 'archived' | 'end_date' | 'start_date'>
  /** Adds when it was launched or ended. */
  readonly has_dates?: boolean
}

/** Draws `Running`, or `Running launched 3 days ago`, or `Ended 3 days ago`. */
export function SurveyBadge({ survey, has_dates = false }: SurveyBadgeProps): VNode {
  const state = stateOf(survey)
  const since = state === 'running' ? survey.start_date : survey.end_date
  return (
    <span class={style.state}>
      <span class={`${style.badge} ${style[state]}`}>{STATE_TEXTS[state]}</span>
      {has_dates && since !== null && (
        <span>
          {state === 'running' && 'launched '}
          {state === 'archived' && 'ended '}
          <Ago iso={since} />
        </span>
      )}
    </span>
  )
}
