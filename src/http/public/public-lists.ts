/**
 * Surveys, early access features and web experiments, for web pages that know a project's token. Drafts are
 * included, as in the original: surveys and experiments before their launch, features of any stage that the
 * request names. Clients filter by dates and flags, so these objects must not contain secrets.
 */
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/project.ts'
import { listFeatures } from '../../targeting/early-access.ts'
import { listExperiments } from '../../targeting/experiments/experiment.ts'
import { listFlagKeys } from '../../targeting/flags/flag.ts'
import { listSurveys } from '../../targeting/surveys/survey.ts'
import { queryOf } from '../addresses.ts'
import { answerJson } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { corsHeaders } from '../cors.ts'
import type { Endpoint } from '../endpoint.ts'
import { queryValue } from '../pages.ts'
import { siteReads } from './site-answers.ts'

type MakeList = (app: AppContext, project: Project, request: Request) => object

/** LISTS: the public lists by path. A line adds an endpoint. */
const LISTS: readonly (readonly [path: string, list: MakeList])[] = [
  ['/api/surveys', surveysOf],
  ['/api/early_access_features', featuresOf],
  ['/api/web_experiments', experimentsOf],
]

/** Creates the endpoints of LISTS. */
export function publicListEndpoints(app: AppContext): readonly Endpoint[] {
  return LISTS.flatMap(([path, list]) =>
    siteReads(app, path, (request) => {
      const project = requireProject(app, request)
      return answerJson(list(app, project, request), 200, corsHeaders(request))
    }),
  )
}

function requireProject(app: AppContext, request: Request): Project {
  const token = queryValue(request, 'token') ?? queryValue(request, 'api_key') ?? ''
  if (token === '') {
    throw new Refusal(
      'missing_api_key',
      'API key not provided. You can find your project API key in the project settings.',
      { attr: 'api_key' },
    )
  }
  const project = app.flags.findProject(token)
  if (project !== null) return project
  throw new Refusal(
    'invalid_api_key',
    'Project API key invalid. You can find your project API key in the project settings.',
    { attr: 'api_key' },
  )
}

function surveysOf(app: AppContext, project: Project): object {
  const keyOf = flagKeys(app, project)
  const surveys = listSurveys(app.control, project.id)
    .filter((survey) => !survey.archived)
    .map((survey) => ({
      id: survey.id,
      name: survey.name,
      description: survey.description,
      type: survey.type,
      schedule: survey.schedule,
      linked_flag_key: keyOf(survey.linked_flag_id),
      targeting_flag_key: keyOf(survey.targeting_flag_id),
      internal_targeting_flag_key: keyOf(survey.internal_targeting_flag_id),
      questions: survey.questions,
      conditions: survey.conditions,
      appearance: survey.appearance,
      translations: survey.translations,
      enable_partial_responses: survey.enable_partial_responses,
      start_date: survey.start_date,
      end_date: survey.end_date,
      current_iteration: survey.current_iteration,
      current_iteration_start_date: survey.current_iteration_start_date,
    }))
  return { surveys, survey_config: project.survey_config }
}

/** The features in beta, or in the stages that the request names. */
function featuresOf(app: AppContext, project: Project, request: Request): object {
  const named = new URLSearchParams(queryOf(request.url)).getAll('stage')
  const stages = new Set(named.length === 0 ? ['beta'] : named.flatMap((one) => one.split(',')))
  const keyOf = flagKeys(app, project)
  const features = listFeatures(app.control, project.id).filter(({ stage }) => stages.has(stage))
  return {
    earlyAccessFeatures: features.map((feature) => ({
      id: feature.id,
      name: feature.name,
      description: feature.description,
      stage: feature.stage,
      documentationUrl: feature.documentation_url,
      payload: feature.payload ?? {},
      flagKey: keyOf(feature.feature_flag_id),
    })),
  }
}

/** Experiments that change the page itself. */
function experimentsOf(app: AppContext, project: Project): object {
  const keyOf = flagKeys(app, project)
  const experiments = listExperiments(app.control, project.id)
    .filter(({ type, archived }) => type === 'web' && !archived)
    .map(({ id, name, feature_flag_id, variants }) => ({
      id,
      name,
      feature_flag_key: keyOf(feature_flag_id),
      variants: variants ?? {},
    }))
  return { experiments }
}

function flagKeys(app: AppContext, project: Project): (flag_id: number | null) => string | null {
  const keys = listFlagKeys(app.control, project.id)
  return (flag_id) => (flag_id === null ? null : (keys.get(flag_id) ?? null))
}
