/**
 * Surveys, early access features, web experiments and an empty list of product tours, for web pages that know a project's
 * token. Drafts are included, as in the original: surveys and experiments before their launch, features of any stage that the
 * request names. Clients filter by dates and flags, so these objects must not contain secrets.
 */
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/settings/project.ts'
import { findFeature, listFeatureHeads } from '../../targeting/early-access.ts'
import { readExperiments } from '../../targeting/experiments/experiment.ts'
import { listFlagKeys } from '../../targeting/flags/flag.ts'
import { findSurvey, listSurveyHeads, type Survey } from '../../targeting/surveys/survey.ts'
import { readOneByOne } from '../../threads/sliced-json.ts'
import { queryOf } from '../addresses.ts'
import { answerJson, answerResults } from '../answers/answers.ts'
import { corsHeaders } from '../answers/cors.ts'
import { queryValue } from '../answers/pages.ts'
import type { PublicContext } from '../app-context.ts'
import type { Endpoint } from '../endpoint.ts'
import { siteReads } from './site-answers.ts'

type AnswerList = (app: PublicContext, project: Project, request: Request) => Promise<Response>

/** LISTS: the public lists by path. A line adds an endpoint. */
const LISTS: readonly (readonly [path: string, answer: AnswerList])[] = [
  ['/api/surveys', answerSurveys],
  ['/api/early_access_features', answerFeatures],
  ['/api/web_experiments', answerExperiments],
  ['/api/product_tours', answerTours],
]

/** Creates the endpoints of LISTS. */
export function publicListEndpoints(app: PublicContext): readonly Endpoint[] {
  return LISTS.flatMap(([path, answer]) =>
    siteReads(path, (request) => answer(app, requireProject(app, request), request)),
  )
}

/** There are no product tours: SDKs that ask for them show none. */
async function answerTours(
  _app: PublicContext,
  _project: Project,
  request: Request,
): Promise<Response> {
  return answerJson({ product_tours: [] }, 200, corsHeaders(request))
}

function requireProject(app: PublicContext, request: Request): Project {
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

async function answerSurveys(
  app: PublicContext,
  project: Project,
  request: Request,
): Promise<Response> {
  const ids = listSurveyHeads(app.control, project.id).flatMap(({ id, archived }) =>
    archived ? [] : id,
  )
  const surveys = await readOneByOne(ids, (id) => findSurvey(app.control, project.id, id))
  const { survey_config } = project
  return answerResults({ survey_config }, surveys, surveySerializer(app, project), {
    name: 'surveys',
    headers: corsHeaders(request),
  })
}

/** Returns the function that makes the public part of a project's survey. */
export function surveySerializer(app: PublicContext, project: Project): (survey: Survey) => object {
  const keyOf = flagKeys(app, project)
  return (survey) => ({
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
  })
}

/** The features in beta, or in the stages that the request names. */
async function answerFeatures(
  app: PublicContext,
  project: Project,
  request: Request,
): Promise<Response> {
  const named_stages = new URLSearchParams(queryOf(request.url)).getAll('stage')
  const stages = new Set(
    named_stages.length === 0 ? ['beta'] : named_stages.flatMap((one) => one.split(',')),
  )
  const keyOf = flagKeys(app, project)
  const heads = listFeatureHeads(app.control, project.id).filter(({ stage }) => stages.has(stage))
  const features = await readOneByOne(heads, ({ id }) => findFeature(app.control, project.id, id))
  return answerResults(
    {},
    features,
    (feature) => ({
      id: feature.id,
      name: feature.name,
      description: feature.description,
      stage: feature.stage,
      documentationUrl: feature.documentation_url,
      payload: feature.payload ?? {},
      flagKey: keyOf(feature.feature_flag_id),
    }),
    { name: 'earlyAccessFeatures', headers: corsHeaders(request) },
  )
}

/** Experiments that change the page itself. */
async function answerExperiments(
  app: PublicContext,
  project: Project,
  request: Request,
): Promise<Response> {
  const keyOf = flagKeys(app, project)
  const experiments = await readExperiments(app.control, project.id)
  return answerResults(
    {},
    experiments.filter(({ type, archived }) => type === 'web' && !archived),
    ({ id, name, feature_flag_id, variants }) => ({
      id,
      name,
      feature_flag_key: keyOf(feature_flag_id),
      variants: variants ?? {},
    }),
    { name: 'experiments', headers: corsHeaders(request) },
  )
}

function flagKeys(app: PublicContext, project: Project): (flag_id: number | null) => string | null {
  const keys = listFlagKeys(app.control, project.id)
  return (flag_id) => (flag_id === null ? null : (keys.get(flag_id) ?? null))
}
