/** `/array/…/config`: the remote configuration that a web SDK loads first, as JSON and as a script. */
import { MIB } from '../../bytes.ts'
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/settings/project.ts'
import { listRunningSurveys } from '../../targeting/surveys/survey.ts'
import { JSON_HEADERS } from '../answers/answers.ts'
import { corsHeaders } from '../answers/cors.ts'
import type { PublicContext } from '../app-context.ts'
import type { Endpoint, PathParams } from '../endpoint.ts'
import { surveySerializer } from './public-lists.ts'
import { siteReads } from './site-answers.ts'
import { siteConfig } from './site-config.ts'

/** Clients revalidate, so a changed project shows at once; they load it once per page. */
const CACHE = { 'Cache-Control': 'no-cache' }
const SCRIPT_HEADERS = {
  'Content-Type': 'application/javascript; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
}

/** Creates the endpoints of a project's remote configuration; its token suffices. */
export function remoteConfigEndpoints(app: PublicContext): readonly Endpoint[] {
  const endpoint = (
    path: string,
    headers: Readonly<Record<string, string>>,
    render: RenderConfig,
  ) =>
    siteReads(path, (request, params) => {
      const token = requireTokenShape(params)
      const text = render(token, remoteConfig(app, request, token))
      return new Response(text, { headers: { ...headers, ...CACHE, ...corsHeaders(request) } })
    })
  return [
    ...endpoint('/array/:token/config', JSON_HEADERS, renderJson),
    ...endpoint('/array/:token/config.js', SCRIPT_HEADERS, renderScript),
  ]
}

/** Renders a project's configuration as a script, to precede the client library. Refuses unknown tokens. */
export function remoteConfigScript(
  app: PublicContext,
  request: Request,
  params: PathParams,
): string {
  const token = requireTokenShape(params)
  return renderScript(token, remoteConfig(app, request, token))
}

type RenderConfig = (token: string, config: Readonly<Record<string, unknown>>) => string

function remoteConfig(
  app: PublicContext,
  request: Request,
  token: string,
): Readonly<Record<string, unknown>> {
  const project = app.flags.findProject(token)
  if (project === null) throw new Refusal('not_found', 'Project not found.')
  return {
    token,
    hasFeatureFlags: app.flags.hasActiveFlags(project.id),
    ...siteConfig(project, request.headers.get('origin') ?? ''),
    surveys: runningSurveys(app, project),
  }
}

/**
 * A configuration is written in one piece, and loaded with every page: the 8 MB of surveys that a project may have held the
 * main thread for 75 ms each time.
 */
const SURVEYS_MAX = { count_max: 200, bytes_max: MIB } as const

/** The surveys that run, false without any. Mobile SDKs look for them nowhere else, and take `true` for none. */
function runningSurveys(app: PublicContext, project: Project): readonly object[] | false {
  if (!project.surveys_opt_in) return false
  const { running, are_all } = listRunningSurveys(app.control, project.id, SURVEYS_MAX)
  if (!are_all) warnOnce(app, project.id)
  return running.length > 0 && running.map(surveySerializer(app, project))
}

/** Per server, the projects about which it has logged that surveys are left out. */
const warned_projects = new WeakMap<PublicContext, Set<number>>()

/** Logs once from start to stop that surveys are left out: a configuration is loaded with every page. */
function warnOnce(app: PublicContext, project_id: number): void {
  const projects = warned_projects.get(app) ?? new Set()
  warned_projects.set(app, projects)
  if (projects.has(project_id)) return
  projects.add(project_id)
  const fields = { project_id, ...SURVEYS_MAX }
  app.log.warn(fields, 'the oldest running surveys are left out of the remote configuration')
}

function renderJson(_token: string, config: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(config)
}

/** Renders a script; `<` is escaped, so that no value can end the script element. */
function renderScript(token: string, config: Readonly<Record<string, unknown>>): string {
  const [name, value] = [token, config].map((part) =>
    JSON.stringify(part).replaceAll('<', String.raw`\u003c`),
  )
  const configs = 'window._POSTHOG_REMOTE_CONFIG'
  return `(function(){${configs}=${configs}||{};${configs}[${name}]={config:${value},siteApps:[]}})();`
}

function requireTokenShape(params: PathParams): string {
  const token = params['token'] ?? ''
  if (/^[\w-]{1,64}$/.test(token)) return token
  throw new Refusal('invalid_input', 'Invalid token', { attr: 'token' })
}
