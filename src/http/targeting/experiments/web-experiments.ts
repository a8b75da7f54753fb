/** Web experiments: each variant's changes to a page, saved together with the variants' shares. */
import type { Static } from 'elysia'
import { PageQuery } from '../../../contract/common.ts'
import {
  NewWebExperiment,
  WebExperimentAnswer,
  WebExperimentChange,
  WebExperimentPage,
} from '../../../contract/targeting/web-experiments.ts'
import { Refusal } from '../../../errors.ts'
import type { Project } from '../../../projects/settings/project.ts'
import type { Json } from '../../../projects/tables.ts'
import {
  createExperiment,
  type Experiment,
  getExperiment,
  readExperiments,
  updateExperiment,
} from '../../../targeting/experiments/experiment.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import { uniqueKey } from '../../../targeting/shared/unique-key.ts'
import { answerJson } from '../../answers/answers.ts'
import { answerPage } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'

const NEW = validatorOf(NewWebExperiment)
const CHANGE = validatorOf(WebExperimentChange)

const TYPE = 'web'
const CONTROL = 'control'

export const WEB_EXPERIMENT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'web_experiments/',
    scope: 'experiment:read',
    summary: "List the project's web experiments, newest first.",
    query: PageQuery,
    answers: { 200: WebExperimentPage },
    answer: async (app, { request, project }) => {
      const present = await readExperiments(app.control, project.id)
      const result = present.filter(({ type }) => type === TYPE)
      return answerPage(request, app.publicUrl(), result, (one) => onWire(app, one))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'web_experiments/',
    scope: 'experiment:write',
    summary: 'Create a web experiment, with its own flag.',
    body: NEW,
    answers: { 201: WebExperimentAnswer },
    answer: (app, { body, project, caller }) => {
      const editor = targetingEditor(app, project, caller)
      const { name, variants } = body
      const feature_flag_key = uniqueKey(editor, `${name}-web-experiment`, TYPE)
      const parameters = parametersOf(variants)
      const wanted = { name, type: TYPE, variants: variants as Json, parameters }
      const now = app.now()
      const experiment = createExperiment(editor, { ...wanted, feature_flag_key }, now)
      return answerJson(onWire(app, experiment), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'web_experiments/:id/',
    scope: 'experiment:read',
    summary: 'Read a web experiment.',
    answers: { 200: WebExperimentAnswer },
    answer: (app, { params, project }) =>
      answerJson(onWire(app, getOnPages(app, project, parseNumberId(params)))),
  }),
  projectRoute({
    method: 'PATCH',
    path: 'web_experiments/:id/',
    scope: 'experiment:write',
    summary: 'Change a web experiment.',
    body: CHANGE,
    answers: { 200: WebExperimentAnswer },
    answer: (app, { body, params, project, caller }) => {
      const before = getOnPages(app, project, parseNumberId(params))
      const { name, variants } = body
      const wanted = {
        ...(name === undefined ? {} : { name }),
        ...(variants === undefined
          ? {}
          : { variants: variants as Json, parameters: parametersOf(variants) }),
      }
      const editor = targetingEditor(app, project, caller)
      return answerJson(onWire(app, updateExperiment(editor, before, wanted, app.now())))
    },
  }),
] as const

type WebVariants = Static<typeof NewWebExperiment>['variants']

/** The flag's variants, control first: with their stated shares, else with equal ones. */
function parametersOf(variants: WebVariants): Json {
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

function getOnPages(app: AppContext, project: Project, id: number): Experiment {
  const experiment = getExperiment(app.control, project.id, id)
  if (experiment.type === TYPE && !experiment.deleted) return experiment
  throw new Refusal('not_found', 'Not found.')
}

function onWire(app: AppContext, experiment: Experiment): object {
  const { id, name, created_at, variants, project_id, feature_flag_id } = experiment
  const feature_flag_key = getFlag(app.control, project_id, feature_flag_id).key
  return { id, name, created_at, feature_flag_key, variants: variants ?? {} }
}
