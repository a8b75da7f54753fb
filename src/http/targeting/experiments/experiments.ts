/** Experiments of a project: list, create, read, change. */

import {
  ExperimentAnswer,
  ExperimentChange,
  ExperimentPage,
  ExperimentsQuery,
  NewExperiment,
} from '../../../contract/targeting/experiments.ts'
import { requirePresent } from '../../../dashboards/board-editor.ts'
import { Refusal } from '../../../errors.ts'
import {
  createExperiment,
  getExperiment,
  updateExperiment,
} from '../../../targeting/experiments/experiment.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { resource } from '../../resource.ts'
import { findExperiments } from './experiment-lists.ts'
import {
  experimentSerializer,
  readExperimentChanges,
  withoutEchoes,
} from './experiment-serializer.ts'

const NEW_EXPERIMENT = validatorOf(NewExperiment)
const EXPERIMENT_CHANGE = validatorOf(ExperimentChange)

export const EXPERIMENT_ROUTES = resource({
  path: 'experiments/',
  resource: 'experiment',
  answer: ExperimentAnswer,
  find: (app, project, params) => getExperiment(app.control, project.id, parseNumberId(params)),
  requirePresent,
  serializer: experimentSerializer,
  list: {
    summary: "List the project's experiments, newest first.",
    query: ExperimentsQuery,
    answer: ExperimentPage,
    items: (app, { request, project }) => findExperiments(app, project, request),
  },
  create: {
    summary: 'Create an experiment, on an existing flag or a new one.',
    body: NEW_EXPERIMENT,
    run: (app, { body, project, caller }) => {
      const { name, feature_flag_key } = body
      const wanted = { ...readExperimentChanges(app, project.id, body), name, feature_flag_key }
      requireOrder(wanted.start_date, wanted.end_date)
      return createExperiment(targetingEditor(app, project, caller), wanted, app.now())
    },
  },
  read: { summary: 'Read an experiment.' },
  change: {
    summary: 'Change an experiment; starting it switches its flag on.',
    body: EXPERIMENT_CHANGE,
    run: (app, call, before) => {
      const { project, caller } = call
      const body = withoutEchoes(experimentSerializer(app, call)(before), call.body)
      const { key } = getFlag(app.control, project.id, before.feature_flag_id)
      if (body.feature_flag_key !== undefined && body.feature_flag_key !== key) {
        const detail = "Can't update keys: feature_flag_key on Experiment"
        throw new Refusal('invalid_input', detail, { attr: 'feature_flag_key' })
      }
      const changes = readExperimentChanges(app, project.id, body)
      const { start_date, end_date } = { ...before, ...changes }
      if (changes.start_date || changes.end_date) requireOrder(start_date, end_date)
      return updateExperiment(targetingEditor(app, project, caller), before, changes, app.now())
    },
  },
  activity: { summary: 'List the activity log of an experiment.', scope: 'Experiment' },
})

/** Refuses an end that is not after the start. */
function requireOrder(start: Date | null | undefined, end: Date | null | undefined): void {
  if (!start || !end || start < end) return
  throw new Refusal('invalid_input', 'End date must be after start date', { attr: 'end_date' })
}
