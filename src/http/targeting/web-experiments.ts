/** Experiments on pages themselves: what each variant changes on them, made and changed as one thing with their shares. */
import type { Static } from 'elysia'
import { PageQuery } from '../../contract/common.ts'
import {
  NewWebExperiment,
  WebExperimentAnswer,
  WebExperimentChange,
  WebExperimentPage,
} from '../../contract/web-experiments.ts'
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/project.ts'
import type { Json } from '../../projects/tables.ts'
import {
  createExperiment,
  type Experiment,
  getExperiment,
  listExperiments,
  updateExperiment,
} from '../../targeting/experiment.ts'
import { getFlag } from '../../targeting/flag.ts'
import { freeKey } from '../../targeting/free-key.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { answerPage } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { editorOf } from './feature-flags.ts'

const NEW = shapeOf(NewWebExperiment)
const CHANGE = shapeOf(WebExperimentChange)

const TYPE = 'web'
const CONTROL = 'control'

export const WEB_EXPERIMENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'web_experiments/',
    scope: 'experiment:read',
    says: "List the project's experiments on pages, newest first.",
    query: PageQuery,
    answers: { 200: WebExperimentPage },
    answer: (needs, { request, project }) => {
      const found = listExperiments(needs.control, project.id).filter(({ type }) => type === TYPE)
      return answerPage(request, needs.publicUrl(), found, (one) => onWire(needs, one))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'web_experiments/',
    scope: 'experiment:write',
    says: 'Make an experiment on pages, with a flag of its own.',
    body: NEW,
    answers: { 201: WebExperimentAnswer },
    answer: (needs, { body, project, asker }) => {
      const editor = editorOf(needs, project, asker)
      const { name, variants } = body
      const feature_flag_key = freeKey(editor.definitions, `${name}-web-experiment`, TYPE)
      const parameters = parametersOf(variants)
      const wanted = { name, type: TYPE, variants: variants as Json, parameters }
      const now = needs.now()
      const experiment = createExperiment(editor, { ...wanted, feature_flag_key }, now)
      return answerJson(onWire(needs, experiment), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'web_experiments/:id/',
    scope: 'experiment:read',
    says: 'Read an experiment on pages.',
    answers: { 200: WebExperimentAnswer },
    answer: (needs, { params, project }) =>
      answerJson(onWire(needs, getOnPages(needs, project, numberIn(params)))),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'web_experiments/:id/',
    scope: 'experiment:write',
    says: 'Change an experiment on pages.',
    body: CHANGE,
    answers: { 200: WebExperimentAnswer },
    answer: (needs, { body, params, project, asker }) => {
      const before = getOnPages(needs, project, numberIn(params))
      const { name, variants } = body
      const wanted = {
        ...(name === undefined ? {} : { name }),
        ...(variants === undefined
          ? {}
          : { variants: variants as Json, parameters: parametersOf(variants) }),
      }
      const editor = editorOf(needs, project, asker)
      return answerJson(onWire(needs, updateExperiment(editor, before, wanted, needs.now())))
    },
  }),
] as const

type Variants = Static<typeof NewWebExperiment>['variants']

/** The flag's variants, the control first: with the shares that are named, else all with the same. */
function parametersOf(variants: Variants): Json {
  const keys = Object.keys(variants)
  if (!keys.includes(CONTROL)) {
    const detail = 'Variants must contain a control variant.'
    throw new Refusal('invalid_input', detail, { attr: 'variants' })
  }
  const ordered = [CONTROL, ...keys.filter((key) => key !== CONTROL)]
  const is_said = keys.some((key) => typeof variants[key]?.rollout_percentage === 'number')
  const even = Math.floor(100 / ordered.length)
  const feature_flag_variants = ordered.map((key, index) => ({
    key,
    rollout_percentage: is_said
      ? (variants[key]?.rollout_percentage ?? 0)
      : even + (index < 100 - even * ordered.length ? 1 : 0),
  }))
  return { feature_flag_variants }
}

function getOnPages(needs: Needs, project: Project, id: number): Experiment {
  const experiment = getExperiment(needs.control, project.id, id)
  if (experiment.type === TYPE && !experiment.deleted) return experiment
  throw new Refusal('not_found', 'Not found.')
}

function onWire(needs: Needs, experiment: Experiment): object {
  const { id, name, created_at, variants, project_id, feature_flag_id } = experiment
  const feature_flag_key = getFlag(needs.control, project_id, feature_flag_id).key
  return { id, name, created_at, feature_flag_key, variants: variants ?? {} }
}
