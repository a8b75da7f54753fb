/** The exposed persons of an experiment, as a dynamic cohort. */

import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import { type CohortRow, createCohort } from '../cohorts/cohort.ts'
import { getFlag } from '../flags/flag.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import { type Experiment, updateExperiment } from './experiment.ts'

const FLAG_CALLED = '$feature_flag_called'

/** Creates the cohort. Refuses drafts, and experiments that have one. */
export function makeExposureCohort(
  editor: TargetingEditor,
  experiment: Experiment,
  now: Date,
): CohortRow {
  const { start_date, name, exposure_cohort_id } = experiment
  if (start_date === null) throw refused('Experiment does not have a start date')
  if (exposure_cohort_id !== null) throw refused('Experiment already has an exposure cohort')
  const condition = {
    type: 'behavioral',
    value: 'performed_event',
    negation: false,
    explicit_datetime: start_date.toISOString(),
    ...exposureOf(editor, experiment),
  }
  const filters = {
    properties: { type: 'OR', values: [{ type: 'OR', values: [condition] }] },
  }
  return editor.control.transaction(() => {
    const cohort = createCohort(
      editor,
      { name: `Users exposed to experiment "${name}"`, filters },
      now,
    )
    updateExperiment(editor, experiment, { exposure_cohort_id: cohort.id }, now)
    return cohort
  })
}

/** The event of an exposure: that of the experiment's criteria, else the call of its flag. */
function exposureOf(
  editor: TargetingEditor,
  { exposure_criteria, feature_flag_id }: Experiment,
): object {
  const config = isObject(exposure_criteria) ? exposure_criteria['exposure_config'] : null
  const { key } = getFlag(editor.control, editor.project.id, feature_flag_id)
  if (isObject(config) && config['kind'] === 'ActionsNode') {
    return { key: config['id'], event_type: 'actions' }
  }
  const event = isObject(config) ? config['event'] : FLAG_CALLED
  if (typeof event === 'string' && event !== FLAG_CALLED) {
    const filters = isObject(config) ? config['properties'] : []
    return {
      key: event,
      event_type: 'events',
      event_filters: Array.isArray(filters) ? filters : [],
    }
  }
  const is_of_flag = { key: '$feature_flag', value: [key], operator: 'exact', type: 'event' }
  return { key: FLAG_CALLED, event_type: 'events', event_filters: [is_of_flag] }
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail)
}
