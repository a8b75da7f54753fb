/** What becomes of an experiment: its turns, its end, what is shipped, its copies, the cohort of those it reached (wire §4.10). */
import { FlagCohortAnswer } from '../../contract/cohorts.ts'
import {
  ExperimentAnswer,
  ExperimentCopy,
  ExperimentEnd,
  ExperimentTransfer,
  VariantShipment,
} from '../../contract/experiments.ts'
import { Refusal } from '../../errors.ts'
import { type Asker, getVisibleProject } from '../../projects/access.ts'
import type { Project } from '../../projects/project.ts'
import { requireRight, rightsAt } from '../../projects/rights.ts'
import { type Experiment, getPresentExperiment } from '../../targeting/experiment.ts'
import { makeExposureCohort } from '../../targeting/experiment-cohort.ts'
import { copyExperiment } from '../../targeting/experiment-copy.ts'
import {
  endExperiment,
  shipExperiment,
  TURNS,
  type TurnName,
  takeTurn,
} from '../../targeting/experiment-turns.ts'
import { answerJson } from '../answers.ts'
import type { Params } from '../endpoint.ts'
import { numberIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from './authors.ts'
import { cohortOnWire } from './cohort-wire.ts'
import { experimentShower, requireMetrics } from './experiment-wire.ts'
import { editorOf } from './feature-flags.ts'

const END = shapeOf(ExperimentEnd)
const SHIPMENT = shapeOf(VariantShipment)
const COPY = shapeOf(ExperimentCopy)
const TRANSFER = shapeOf(ExperimentTransfer)

export const EXPERIMENT_TURN_ROUTES = [
  ...Object.entries(TURNS).map(([name, { says }]) =>
    projectRoute({
      method: 'POST',
      path: `experiments/:id/${name}/`,
      scope: 'experiment:write',
      says,
      answers: { 200: ExperimentAnswer },
      answer: (needs, { params, project, asker }) => {
        const editor = editorOf(needs, project, asker)
        const before = experimentIn(needs, project, params)
        const experiment = takeTurn(editor, before, name as TurnName, needs.now())
        return answerJson(experimentShower(needs, { asker, project })(experiment))
      },
    }),
  ),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/end/',
    scope: 'experiment:write',
    says: 'End a running experiment; people go on seeing what they see.',
    answers: { 200: ExperimentAnswer },
    body: END,
    is_body_optional: true,
    answer: (needs, { body, params, project, asker }) => {
      const editor = editorOf(needs, project, asker)
      const { conclusion = null, conclusion_comment = null } = body
      const said = { conclusion, conclusion_comment }
      const experiment = experimentIn(needs, project, params)
      const ended = endExperiment(editor, experiment, said, needs.now())
      return answerJson(experimentShower(needs, { asker, project })(ended))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/ship_variant/',
    scope: 'experiment:write',
    says: 'Show one variant to all, and end the experiment where it still runs.',
    answers: { 200: ExperimentAnswer },
    body: SHIPMENT,
    answer: (needs, { body, params, project, asker }) => {
      const editor = editorOf(needs, project, asker)
      const { variant_key, release_to_everyone: to_everyone = false, ...rest } = body
      const { conclusion, conclusion_comment } = rest
      const shipping = {
        variant_key,
        to_everyone,
        ...(conclusion === undefined ? {} : { conclusion }),
        ...(conclusion_comment === undefined ? {} : { conclusion_comment }),
      }
      const experiment = experimentIn(needs, project, params)
      const shipped = shipExperiment(editor, experiment, shipping, needs.now())
      return answerJson(experimentShower(needs, { asker, project })(shipped))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/duplicate/',
    scope: 'experiment:write',
    says: 'Make a draft like an experiment; without a key of its own it stands on the same flag.',
    answers: { 201: ExperimentAnswer },
    body: COPY,
    is_body_optional: true,
    answer: (needs, { body, params, project, asker }) => {
      const editor = editorOf(needs, project, asker)
      const source = experimentIn(needs, project, params)
      const copy = copyExperiment(editor, source, body, needs.now())
      return answerJson(experimentShower(needs, { asker, project })(copy), 201)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/copy_to_project/',
    scope: 'experiment:write',
    says: 'Make a draft like an experiment in another project of the organization.',
    answers: { 201: ExperimentAnswer },
    body: TRANSFER,
    answer: (needs, { body, params, project, asker }) => {
      const source = experimentIn(needs, project, params)
      const target = targetProject(needs, asker, project, body.target_team_id)
      const { metrics, secondary_metrics } = source
      requireMetrics(needs, target.id, [metrics, secondary_metrics].flat(), 'target_team_id')
      const copy = copyExperiment(editorOf(needs, target, asker), source, body, needs.now())
      return answerJson(experimentShower(needs, { asker, project: target })(copy), 201)
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiments/:id/create_exposure_cohort_for_experiment/',
    scope: 'experiment:write',
    says: 'Make a cohort of the people who have been shown a variant.',
    answers: { 201: FlagCohortAnswer },
    answer: (needs, { params, project, asker }) => {
      const editor = editorOf(needs, project, asker)
      const cohort = makeExposureCohort(editor, experimentIn(needs, project, params), needs.now())
      return answerJson({ cohort: cohortOnWire(cohort, authorNamer(needs)) }, 201)
    },
  }),
] as const

function experimentIn(needs: Needs, project: Project, params: Params): Experiment {
  return getPresentExperiment(needs.control, project.id, numberIn(params))
}

/** The project that a copy goes to. Refuses those of other organizations, and those the asker may not write in. */
function targetProject(needs: Needs, asker: Asker, from: Project, id: number): Project {
  const { thing: target, level } = visibleProject(needs, asker, id)
  if (target.organization_id !== from.organization_id) throw notThere()
  const rights = rightsAt(needs.control, asker, { project: target, level })
  requireRight(rights, { scope: 'experiment:write', by: 'level' })
  requireRight(rights, { scope: 'feature_flag:write', by: 'level' })
  return target
}

function visibleProject(needs: Needs, asker: Asker, id: number) {
  try {
    return getVisibleProject(needs.control, asker, String(id))
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') throw notThere()
    throw error
  }
}

function notThere(): Refusal {
  return new Refusal('does_not_exist', 'Target project not found.', { attr: 'target_team_id' })
}
