/** Experiments under a project: listed, made, read, changed (wire §4.10). */
import {
  ExperimentAnswer,
  ExperimentChange,
  ExperimentPage,
  ExperimentsQuery,
  NewExperiment,
} from '../../contract/experiments.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/project.ts'
import {
  createExperiment,
  type Experiment,
  getExperiment,
  getPresentExperiment,
  updateExperiment,
} from '../../targeting/experiment.ts'
import { getFlag } from '../../targeting/flag.ts'
import { answerJson } from '../answers.ts'
import type { Params } from '../endpoint.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { findExperiments } from './experiment-lists.ts'
import { experimentShower, wantedExperiment } from './experiment-wire.ts'
import { editorOf } from './feature-flags.ts'

const NEW_EXPERIMENT = shapeOf(NewExperiment)
const EXPERIMENT_CHANGE = shapeOf(ExperimentChange)

export const EXPERIMENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/',
    scope: 'experiment:read',
    says: "List the project's experiments, newest first.",
    query: ExperimentsQuery,
    answers: { 200: ExperimentPage },
    answer: (needs, { request, asker, project }) => {
      const found = findExperiments(needs, project, request)
      return answerPage(
        request,
        needs.publicUrl(),
        found,
        experimentShower(needs, { asker, project }),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/',
    scope: 'experiment:write',
    says: 'Make an experiment, on a flag that is there or on a new one.',
    answers: { 201: ExperimentAnswer },
    body: NEW_EXPERIMENT,
    answer: (needs, { body, project, asker }) => {
      const { name, feature_flag_key } = body
      const wanted = { ...wantedExperiment(needs, project.id, body), name, feature_flag_key }
      requireOrder(wanted.start_date, wanted.end_date)
      const experiment = createExperiment(editorOf(needs, project, asker), wanted, needs.now())
      return answerJson(experimentShower(needs, { asker, project })(experiment), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/',
    scope: 'experiment:read',
    says: 'Read an experiment.',
    answers: { 200: ExperimentAnswer },
    answer: (needs, { params, asker, project }) => {
      const experiment = experimentIn(needs, project, params, false)
      return answerJson(experimentShower(needs, { asker, project })(experiment))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'experiments/:id/',
    scope: 'experiment:write',
    says: 'Change an experiment; beginning switches its flag on.',
    answers: { 200: ExperimentAnswer },
    body: EXPERIMENT_CHANGE,
    answer: (needs, { body, params, project, asker }) => {
      const before = experimentIn(needs, project, params, body.deleted === false)
      const { key } = getFlag(needs.control, project.id, before.feature_flag_id)
      if (body.feature_flag_key !== undefined && body.feature_flag_key !== key) {
        const detail = "Can't update keys: feature_flag_key on Experiment"
        throw new Refusal('invalid_input', detail, { attr: 'feature_flag_key' })
      }
      const wanted = wantedExperiment(needs, project.id, body)
      const { start_date, end_date } = { ...before, ...wanted }
      if (wanted.start_date || wanted.end_date) requireOrder(start_date, end_date)
      const editor = editorOf(needs, project, asker)
      const experiment = updateExperiment(editor, before, wanted, needs.now())
      return answerJson(experimentShower(needs, { asker, project })(experiment))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to an experiment.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getExperiment(needs.control, project.id, numberIn(params)).id)
      return answerJson(projectActivity(needs, call, { scope: 'Experiment', item_id }))
    },
  }),
] as const

/** The experiment in the path; one that is deleted only to be restored. Refuses others as not found. */
function experimentIn(
  needs: Needs,
  project: Project,
  params: Params,
  restores: boolean,
): Experiment {
  const get = restores ? getExperiment : getPresentExperiment
  return get(needs.control, project.id, numberIn(params))
}

/** Refuses an end that is not after its beginning. */
function requireOrder(start: Date | null | undefined, end: Date | null | undefined): void {
  if (!start || !end || start < end) return
  throw new Refusal('invalid_input', 'End date must be after start date', { attr: 'end_date' })
}
