/** Experiments under a project: listed, made, read, changed (wire §4.10). */
import type { Static } from 'elysia'
import { PageQuery } from '../../contract/common.ts'
import {
  ExperimentAnswer,
  ExperimentChange,
  ExperimentPage,
  NewExperiment,
} from '../../contract/experiments.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import { Refusal } from '../../errors.ts'
import { readCriteria } from '../../insights/experiments/exposure.ts'
import type { Json } from '../../projects/tables.ts'
import { getCohort } from '../../targeting/cohort.ts'
import {
  createExperiment,
  type Experiment,
  getExperiment,
  listExperiments,
  updateExperiment,
  type WantedExperiment,
} from '../../targeting/experiment.ts'
import { getFlag } from '../../targeting/flag.ts'
import { getHoldout, listHoldouts } from '../../targeting/holdout.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import { momentIn } from '../moments.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from './authors.ts'
import { editorOf } from './feature-flags.ts'
import { linkedFlags } from './linked-flags.ts'

const NEW_EXPERIMENT = shapeOf(NewExperiment)
const EXPERIMENT_CHANGE = shapeOf(ExperimentChange)

export const EXPERIMENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/',
    scope: 'experiment:read',
    says: "List the project's experiments, newest first.",
    query: PageQuery,
    answers: { 200: ExperimentPage },
    answer: (needs, { request, project }) => {
      const found = listExperiments(needs.control, project.id)
      return answerPage(request, needs.publicUrl(), found, experimentShower(needs, project.id))
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
      const experiment = createExperiment(editorOf(needs, project, asker), wanted, needs.now())
      return answerJson(experimentShower(needs, project.id)(experiment), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/',
    scope: 'experiment:read',
    says: 'Read an experiment.',
    answers: { 200: ExperimentAnswer },
    answer: (needs, { params, project }) => {
      const experiment = getExperiment(needs.control, project.id, numberIn(params))
      return answerJson(experimentShower(needs, project.id)(experiment))
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
      const before = getExperiment(needs.control, project.id, numberIn(params))
      const { key } = getFlag(needs.control, project.id, before.feature_flag_id)
      if (body.feature_flag_key !== undefined && body.feature_flag_key !== key) {
        const detail = "Can't update keys: feature_flag_key on Experiment"
        throw new Refusal('invalid_input', detail, { attr: 'feature_flag_key' })
      }
      const wanted = wantedExperiment(needs, project.id, body)
      const editor = editorOf(needs, project, asker)
      const experiment = updateExperiment(editor, before, wanted, needs.now())
      return answerJson(experimentShower(needs, project.id)(experiment))
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

function experimentShower(needs: Needs, project_id: number): (experiment: Experiment) => object {
  const nameAuthor = authorNamer(needs)
  const flags = linkedFlags(needs, project_id)
  const holdouts = new Map(listHoldouts(needs.control, project_id).map((one) => [one.id, one]))
  return (experiment) => {
    const { project_id: _project, feature_flag_id, exposure_cohort_id, ...stored } = experiment
    const feature_flag = flags(feature_flag_id)
    return {
      ...stored,
      metrics_secondary: stored.secondary_metrics,
      feature_flag,
      feature_flag_key: getFlag(needs.control, project_id, feature_flag_id).key,
      holdout: stored.holdout_id === null ? null : (holdouts.get(stored.holdout_id) ?? null),
      exposure_cohort: exposure_cohort_id,
      created_by: nameAuthor(experiment.created_by),
    }
  }
}

/** Of a body what is stored. Refuses holdouts and cohorts that are not there, and criteria that have no meaning. */
function wantedExperiment(
  needs: Needs,
  project_id: number,
  body: Static<typeof ExperimentChange>,
): WantedExperiment {
  const { holdout_id, exposure_cohort, exposure_criteria } = body
  if (typeof holdout_id === 'number') {
    requireThere('holdout_id', () => getHoldout(needs.control, project_id, holdout_id))
  }
  if (typeof exposure_cohort === 'number') {
    requireThere('exposure_cohort', () => getCohort(needs.control, project_id, exposure_cohort))
  }
  readCriteria(exposure_criteria, 'exposure_criteria')
  const wanted = {
    name: body.name,
    description: body.description,
    type: body.type ?? undefined,
    start_date: momentIn(body.start_date, 'start_date'),
    end_date: momentIn(body.end_date, 'end_date'),
    parameters: (body.parameters ?? undefined) as Json | undefined,
    filters: (body.filters ?? undefined) as Json | undefined,
    metrics: (body.metrics ?? undefined) as Json | undefined,
    secondary_metrics: (body.metrics_secondary ?? body.secondary_metrics ?? undefined) as
      | Json
      | undefined,
    variants: body.variants as Json | undefined,
    holdout_id,
    exposure_cohort_id: exposure_cohort,
    exposure_criteria: exposure_criteria as Json | undefined,
    stats_config: body.stats_config as Json | undefined,
    archived: body.archived,
    deleted: body.deleted ?? undefined,
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedExperiment
}

function requireThere(attr: string, get: () => unknown): void {
  try {
    get()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal('does_not_exist', 'Object does not exist.', { attr })
  }
}
