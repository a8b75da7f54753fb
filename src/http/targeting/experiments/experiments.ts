/** Experiments of a project: list, create, read, change. */

import { ActivityQuery, ItemActivityAnswer } from '../../../contract/management/project.ts'
import {
  ExperimentAnswer,
  ExperimentChange,
  ExperimentPage,
  ExperimentsQuery,
  NewExperiment,
} from '../../../contract/targeting/experiments.ts'
import { Refusal } from '../../../errors.ts'
import type { Project } from '../../../projects/project.ts'
import {
  createExperiment,
  type Experiment,
  getExperiment,
  getPresentExperiment,
  updateExperiment,
} from '../../../targeting/experiments/experiment.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import { answerJson } from '../../answers.ts'
import type { AppContext } from '../../app-context.ts'
import type { PathParams } from '../../endpoint.ts'
import { projectActivity } from '../../management/activity.ts'
import { answerPage } from '../../pages.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { validatorOf } from '../../shape.ts'
import { editorOf } from '../flags/feature-flags.ts'
import { findExperiments } from './experiment-lists.ts'
import { experimentSerializer, readExperimentChanges } from './experiment-serializer.ts'

const NEW_EXPERIMENT = validatorOf(NewExperiment)
const EXPERIMENT_CHANGE = validatorOf(ExperimentChange)

export const EXPERIMENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/',
    scope: 'experiment:read',
    summary: "List the project's experiments, newest first.",
    query: ExperimentsQuery,
    answers: { 200: ExperimentPage },
    answer: async (app, { request, caller, project }) => {
      const result = await findExperiments(app, project, request)
      return answerPage(
        request,
        app.publicUrl(),
        result,
        experimentSerializer(app, { caller, project }),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/',
    scope: 'experiment:write',
    summary: 'Make an experiment, on a flag that is there or on a new one.',
    answers: { 201: ExperimentAnswer },
    body: NEW_EXPERIMENT,
    answer: (app, { body, project, caller }) => {
      const { name, feature_flag_key } = body
      const wanted = { ...readExperimentChanges(app, project.id, body), name, feature_flag_key }
      requireOrder(wanted.start_date, wanted.end_date)
      const experiment = createExperiment(editorOf(app, project, caller), wanted, app.now())
      return answerJson(experimentSerializer(app, { caller, project })(experiment), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/',
    scope: 'experiment:read',
    summary: 'Read an experiment.',
    answers: { 200: ExperimentAnswer },
    answer: (app, { params, caller, project }) => {
      const experiment = experimentIn(app, project, params, false)
      return answerJson(experimentSerializer(app, { caller, project })(experiment))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'experiments/:id/',
    scope: 'experiment:write',
    summary: 'Change an experiment; beginning switches its flag on.',
    answers: { 200: ExperimentAnswer },
    body: EXPERIMENT_CHANGE,
    answer: (app, { body, params, project, caller }) => {
      const before = experimentIn(app, project, params, body.deleted === false)
      const { key } = getFlag(app.control, project.id, before.feature_flag_id)
      if (body.feature_flag_key !== undefined && body.feature_flag_key !== key) {
        const detail = "Can't update keys: feature_flag_key on Experiment"
        throw new Refusal('invalid_input', detail, { attr: 'feature_flag_key' })
      }
      const changes = readExperimentChanges(app, project.id, body)
      const { start_date, end_date } = { ...before, ...changes }
      if (changes.start_date || changes.end_date) requireOrder(start_date, end_date)
      const editor = editorOf(app, project, caller)
      const experiment = updateExperiment(editor, before, changes, app.now())
      return answerJson(experimentSerializer(app, { caller, project })(experiment))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/activity/',
    scope: 'activity_log:read',
    summary: 'List what happened to an experiment.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const { params, project } = call
      const item_id = String(getExperiment(app.control, project.id, parseNumberId(params)).id)
      return answerJson(projectActivity(app, call, { scope: 'Experiment', item_id }))
    },
  }),
] as const

/** Returns the experiment of the path; a deleted one only to be restored. Refuses others as not found. */
function experimentIn(
  app: AppContext,
  project: Project,
  params: PathParams,
  restores: boolean,
): Experiment {
  const get = restores ? getExperiment : getPresentExperiment
  return get(app.control, project.id, parseNumberId(params))
}

/** Refuses an end that is not after the start. */
function requireOrder(start: Date | null | undefined, end: Date | null | undefined): void {
  if (!start || !end || start < end) return
  throw new Refusal('invalid_input', 'End date must be after start date', { attr: 'end_date' })
}
