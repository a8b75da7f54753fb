/** Lifecycle of an experiment: launch, pause, end, ship a variant, copy, and the cohort of exposed persons. */
import { FlagCohortAnswer } from '../../../contract/targeting/cohorts.ts'
import {
  ExperimentAnswer,
  ExperimentCopy,
  ExperimentEnd,
  ExperimentTransfer,
  VariantShipment,
} from '../../../contract/targeting/experiments.ts'
import { getNamed, Refusal } from '../../../errors.ts'
import { type Caller, getVisibleProject } from '../../../projects/rights/access.ts'
import { requireRight, rightsAt } from '../../../projects/rights/rights.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { type Experiment, getPresentExperiment } from '../../../targeting/experiments/experiment.ts'
import { makeExposureCohort } from '../../../targeting/experiments/experiment-cohort.ts'
import { copyExperiment } from '../../../targeting/experiments/experiment-copy.ts'
import {
  type ExperimentTransitionName,
  endExperiment,
  shipExperiment,
  TRANSITIONS,
  transitionExperiment,
} from '../../../targeting/experiments/experiment-lifecycle.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { targetingEditor } from '../../callers/editors.ts'
import type { PathParams } from '../../endpoint.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { serializeCohort } from '../cohorts/cohort-serializer.ts'
import { experimentSerializer, requireMetrics } from './experiment-serializer.ts'

const END = validatorOf(ExperimentEnd)
const SHIPMENT = validatorOf(VariantShipment)
const COPY = validatorOf(ExperimentCopy)
const TRANSFER = validatorOf(ExperimentTransfer)

export const EXPERIMENT_LIFECYCLE_ROUTES = [
  ...Object.entries(TRANSITIONS).map(([name, { summary }]) =>
    projectRoute({
      method: 'POST',
      path: `experiments/:id/${name}/`,
      scope: 'experiment:write',
      summary: summary,
      answers: { 200: ExperimentAnswer },
      answer: (app, { params, project, caller }) => {
        const editor = targetingEditor(app, project, caller)
        const before = experimentIn(app, project, params)
        const experiment = transitionExperiment(
          editor,
          before,
          name as ExperimentTransitionName,
          app.now(),
        )
        return answerJson(experimentSerializer(app, { caller, project })(experiment))
      },
    }),
  ),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/end/',
    scope: 'experiment:write',
    summary: 'End a running experiment; everyone keeps their variant.',
    answers: { 200: ExperimentAnswer },
    body: END,
    answer: (app, { body, params, project, caller }) => {
      const editor = targetingEditor(app, project, caller)
      const { conclusion = null, conclusion_comment = null } = body
      const conclusions = { conclusion, conclusion_comment }
      const experiment = experimentIn(app, project, params)
      const ended = endExperiment(editor, experiment, conclusions, app.now())
      return answerJson(experimentSerializer(app, { caller, project })(ended))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/ship_variant/',
    scope: 'experiment:write',
    summary: 'Ship one variant to everyone, and end the experiment if it still runs.',
    answers: { 200: ExperimentAnswer },
    body: SHIPMENT,
    answer: (app, { body, params, project, caller }) => {
      const editor = targetingEditor(app, project, caller)
      const { variant_key, release_to_everyone: to_everyone = false, ...rest } = body
      const { conclusion, conclusion_comment } = rest
      const shipping = {
        variant_key,
        to_everyone,
        ...(conclusion === undefined ? {} : { conclusion }),
        ...(conclusion_comment === undefined ? {} : { conclusion_comment }),
      }
      const experiment = experimentIn(app, project, params)
      const shipped = shipExperiment(editor, experiment, shipping, app.now())
      return answerJson(experimentSerializer(app, { caller, project })(shipped))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/duplicate/',
    scope: 'experiment:write',
    summary: 'Duplicate an experiment as a draft, on the same flag unless another key is given.',
    answers: { 201: ExperimentAnswer },
    body: COPY,
    answer: (app, { body, params, project, caller }) => {
      const editor = targetingEditor(app, project, caller)
      const source = experimentIn(app, project, params)
      const copy = copyExperiment(editor, source, body, app.now())
      return answerJson(experimentSerializer(app, { caller, project })(copy), 201)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/copy_to_project/',
    scope: 'experiment:write',
    summary: 'Duplicate an experiment as a draft in another project of the organization.',
    answers: { 201: ExperimentAnswer },
    body: TRANSFER,
    answer: (app, { body, params, project, caller }) => {
      const source = experimentIn(app, project, params)
      const target = targetProject(app, caller, project, body.target_team_id)
      const { metrics, secondary_metrics } = source
      requireMetrics(app, target.id, [metrics, secondary_metrics].flat(), 'target_team_id')
      const copy = copyExperiment(targetingEditor(app, target, caller), source, body, app.now())
      return answerJson(experimentSerializer(app, { caller, project: target })(copy), 201)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/create_exposure_cohort_for_experiment/',
    scope: 'experiment:write',
    summary: 'Create a cohort of the persons exposed to an experiment.',
    answers: { 201: FlagCohortAnswer },
    answer: (app, { params, project, caller }) => {
      const editor = targetingEditor(app, project, caller)
      const cohort = makeExposureCohort(editor, experimentIn(app, project, params), app.now())
      return answerJson({ cohort: serializeCohort(cohort, authorFinder(app)) }, 201)
    },
  }),
] as const

function experimentIn(app: AppContext, project: Project, params: PathParams): Experiment {
  return getPresentExperiment(app.control, project.id, parseNumberId(params))
}

const MISSING = 'Target project not found.'

/** The target project of a copy. Refuses projects of other organizations, and those without write access. */
function targetProject(app: AppContext, caller: Caller, from: Project, id: number): Project {
  const { item: target, level } = getNamed(
    () => getVisibleProject(app.control, caller, String(id)),
    'target_team_id',
    MISSING,
  )
  if (target.organization_id !== from.organization_id) {
    throw new Refusal('does_not_exist', MISSING, { attr: 'target_team_id' })
  }
  const rights = rightsAt(app.control, caller, { project: target, level })
  requireRight(rights, { scope: 'experiment:write', by: 'level' })
  requireRight(rights, { scope: 'feature_flag:write', by: 'level' })
  return target
}
