/**
 * Declares a route of the management API: method, path, scope, body. A route without a scope does not compile.
 */
import type { Static, TSchema } from 'elysia'
import { Refusal } from '../errors.ts'
import type { Organization } from '../projects/organization.ts'
import {
  type Caller,
  CURRENT,
  getCaller,
  getVisibleOrganization,
  getVisibleProject,
  requireScope,
  requireWholeOrganization,
} from '../projects/rights/access.ts'
import { requireRight, rightsAt } from '../projects/rights/rights.ts'
import type { Scope } from '../projects/rights/scopes.ts'
import { type NeededRight, ROUTE_WAYS } from '../projects/rights/ways.ts'
import { findProjectByToken, type Project } from '../projects/settings/project.ts'
import type { MemberLevel } from '../projects/tables.ts'
import { callerOfSession } from '../projects/users/sessions.ts'
import { noteProject, resumeWork } from '../threads/this-thread.ts'
import { pathOf } from './addresses.ts'
import { compressAnswer, tellsSecrets } from './answers/compress.ts'
import { queryValue } from './answers/pages.ts'
import { answerError, reportTo } from './answers/refusals.ts'
import type { AppContext } from './app-context.ts'
import { readBody } from './bodies/body.ts'
import { isFormType } from './bodies/form.ts'
import type { Validator } from './bodies/shape.ts'
import { findSessionOf, isFromBrowser } from './browser/session-cookie.ts'
import type { ClientSocket, Endpoint, PathParams } from './endpoint.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A route's documentation in /docs and /api/schema/. */
type RouteDescription = {
  /** A summary of the route in one line. */
  readonly summary?: string
  /** Its query parameters, as an object schema. */
  readonly query?: TSchema
  /** Schemas of answers, by status; null where there is no body. */
  readonly answers?: Readonly<Record<number, TSchema | null>>
}

/** One route, ready to mount. `paths` are synonyms. */
export type Route = RouteDescription & {
  readonly method: Method
  readonly paths: readonly string[]
  readonly scope: Scope
  /** Rights that the route needs besides its scope; see `projects/rights/ways.ts`. */
  readonly needs: readonly NeededRight[]
  readonly body: Validator<TSchema> | null
  /** SDKs call it: it takes keys only, never the session of a browser. */
  readonly is_for_sdks: boolean
  readonly run: (
    app: AppContext,
    request: Request,
    params: PathParams,
    socket: ClientSocket,
  ) => Promise<Response>
}

/** The arguments of a route's `answer`, after all checks. `body` is null where none is declared. */
export type RouteCall<Subject, Schema extends TSchema> = Subject & {
  readonly caller: Caller
  readonly body: TSchema extends Schema ? null : Static<Schema>
  /** Values of `:name` in the path. */
  readonly params: PathParams
  readonly request: Request
  readonly socket: ClientSocket
}

export type OfProject = { readonly project: Project; readonly level: MemberLevel }
type OfOrganization = { readonly organization: Organization; readonly level: MemberLevel }

type RouteDeclaration<Subject, Schema extends TSchema> = RouteDescription & {
  readonly method: Method
  /** Path below the subject's root; several are synonyms. */
  readonly path: string | readonly string[]
  readonly scope: Scope
  readonly body?: Validator<Schema>
  /** See `Route`. */
  readonly is_for_sdks?: true
  readonly answer: (
    app: AppContext,
    call: RouteCall<Subject, Schema>,
  ) => Response | Promise<Response>
}

type FindSubject<Subject> = (
  app: AppContext,
  caller: Caller,
  params: PathParams,
  request: Request,
) => Subject

/** A project's routes exist under both names: an environment has the id of its project. */
const PROJECT_ROOTS = ['/api/environments/:project_id/', '/api/projects/:project_id/']
const ORGANIZATION_ROOTS = ['/api/organizations/:organization_id/']
const ORGANIZATION_PROJECT_ROOTS = ['/api/organizations/:organization_id/projects/:project_id/']
const ROOTS = ['/api/']

/**
 * Returns the routes, with a PUT beside each PATCH of one object. Both keep the members that the body omits.
 */
export function withPut(routes: readonly Route[]): readonly Route[] {
  const put = new Set(routes.flatMap(({ method, paths }) => (method === 'PUT' ? paths : [])))
  return routes.flatMap((route) => {
    const { method, paths } = route
    const is_twin = method === 'PATCH' && paths.every((path) => /\/:\w+\/$/.test(path))
    return is_twin && !paths.some((path) => put.has(path))
      ? [route, { ...route, method: 'PUT' }]
      : [route]
  })
}

/** Declares a route on one project. */
export function projectRoute<Schema extends TSchema = TSchema>(
  declared: RouteDeclaration<OfProject, Schema>,
): Route {
  return routeUnder(PROJECT_ROOTS, declared, getProjectInPath)
}

/**
 * Finds the project in the path. `@current` beside a project token in the query string is the token's project: scripts
 * with one key for several projects name them so. Refuses an unknown token.
 */
function getProjectInPath(
  app: AppContext,
  caller: Caller,
  params: PathParams,
  request: Request,
): OfProject {
  const { control } = app
  const id = pathNames(params, 'project_id')
  const token = id === CURRENT ? queryValue(request, 'token') : null
  const named = token === null || token === '' ? null : findProjectByToken(control, token)
  if (token && named === null) {
    throw new Refusal('invalid_api_key', 'Project API key is not valid.', { attr: 'token' })
  }
  const { item, level } = getVisibleProject(control, caller, String(named?.id ?? id))
  return { project: item, level }
}

/** Declares a route on a whole organization; keys limited to projects are refused. */
export function organizationRoute<Schema extends TSchema = TSchema>(
  declared: RouteDeclaration<OfOrganization, Schema>,
): Route {
  return routeUnder(ORGANIZATION_ROOTS, declared, (app, caller, params) => {
    const id = pathNames(params, 'organization_id')
    const { item, level } = getVisibleOrganization(app.control, caller, id)
    requireWholeOrganization(caller)
    return { organization: item, level }
  })
}

/** Declares a route on one project that also exists below its organization. */
export function everyProjectRoute<Schema extends TSchema = TSchema>(
  declared: RouteDeclaration<OfProject, Schema>,
): Route {
  const roots = [...ORGANIZATION_PROJECT_ROOTS, ...PROJECT_ROOTS]
  return routeUnder(roots, declared, (app, caller, params, request) => {
    const organization =
      params['organization_id'] === undefined
        ? null
        : getVisibleOrganization(app.control, caller, pathNames(params, 'organization_id')).item
    const found = getProjectInPath(app, caller, params, request)
    if (organization !== null && found.project.organization_id !== organization.id) {
      throw new Refusal('not_found', 'Project not found.')
    }
    return found
  })
}

/** Declares a route on the caller. */
export function callerRoute<Schema extends TSchema = TSchema>(
  declared: RouteDeclaration<object, Schema>,
): Route {
  return routeUnder(ROOTS, declared, () => ({}))
}

/** Returns the endpoints of a route: each path, and HEAD beside GET. */
export function routeEndpoints(app: AppContext, route: Route): readonly Endpoint[] {
  const methods = route.method === 'GET' ? (['GET', 'HEAD'] as const) : [route.method]
  const answer: Endpoint['answer'] = (...requested) => answerRoute(app, route, requested)
  return route.paths.flatMap((path) => methods.map((method) => ({ method, path, answer })))
}

/**
 * Answers one call and logs it; refusals and bugs become responses. Keys and query strings stay out of the log.
 */
async function answerRoute(
  app: AppContext,
  route: Route,
  [request, params, socket]: Parameters<Endpoint['answer']>,
): Promise<Response> {
  const started_ms = performance.now()
  const call = {
    method: request.method,
    path: pathOf(request.url),
  }
  const report = reportTo(app, call)
  const answer = await route
    .run(app, request, params, socket)
    .catch((error: unknown) => answerError(error, report))
  if (route.method !== 'GET') app.flags.expectChange()
  const took_ms = Math.round(performance.now() - started_ms)
  app.log.debug({ ...call, status: answer.status, took_ms })
  return tellsSecrets(route.scope) ? answer : compressAnswer(request, answer)
}

/**
 * Builds a route whose checks run in one order: key (401), rate (429), subject (404), rights (403), body (400).
 */
function routeUnder<Subject, Schema extends TSchema>(
  roots: readonly string[],
  declared: RouteDeclaration<Subject, Schema>,
  find: FindSubject<Subject>,
): Route {
  const { method, path, scope, answer, body: declared_body, ...described } = declared
  const { is_for_sdks = false, ...description } = described
  const shape = declared_body ?? null
  const may_read_flags = readsFlags(method, scope)
  const own_level: NeededRight = { scope, by: 'level' }
  const more = [path].flat().flatMap((below) => ROUTE_WAYS.get(`${method} ${below}`) ?? [])
  return {
    ...description,
    method,
    paths: roots.flatMap((root) => [path].flat().map((below) => root + below)),
    scope,
    needs: more,
    body: shape,
    is_for_sdks,
    async run(app, request, params, socket) {
      const getCallerOf = is_for_sdks ? getKeyCaller : getRequestCaller
      const caller = getCallerOf(app, request, socket)
      const leave = app.call_limits.enter(caller.id)
      try {
        const subject = find(app, caller, params, request)
        requireScope(caller, scope)
        if (isOfProject(subject)) {
          noteProject(subject.project.id)
          const rights = rightsAt(app.control, caller, subject)
          for (const need of [own_level, ...more]) requireRight(rights, need)
        }
        if (shape !== null) requireKnownType(request)
        const body = shape === null ? null : await readBody(app.bodies, request, shape, socket)
        resumeWork()
        if (isOfProject(subject) && may_read_flags) {
          await app.flags.readyFlagsOf(subject.project.id)
        }
        const call = { ...subject, caller, body, params, request, socket }
        return await answer(app, call as RouteCall<Subject, Schema>)
      } finally {
        leave()
      }
    },
  }
}

/**
 * Finds the caller by the request's key, or by the browser's session if it has no key. Refuses requests with neither, an
 * unknown key, and too many unknown ones.
 */
export function getRequestCaller(app: AppContext, request: Request, socket: ClientSocket): Caller {
  // Other origins cannot send the header of our own pages, so few requests have it.
  if (!isFromBrowser(request) || bearerOf(request) !== null) {
    return getKeyCaller(app, request, socket)
  }
  const session = findSessionOf(app, request)
  return session === null ? getKeyCaller(app, request, socket) : callerOfSession(session)
}

/**
 * Finds the caller by the request's key alone. Refuses a missing or unknown key, and too many unknown ones of this family
 * of paths.
 */
export function getKeyCaller(
  app: AppContext,
  request: Request,
  socket: ClientSocket,
  family = '',
): Caller {
  const key = bearerOf(request)
  const look = (): Caller => getCaller(app.control, key, app.now())
  if (key === null && queryValue(request, 'personal_api_key') !== null) throw keyInAddress()
  // Only requests with a key are charged: the others guess no secret.
  return key === null ? look() : app.failed_keys.guard(request, socket, look, family)
}

/** The key itself is not looked up: an address ends up in logs. */
function keyInAddress(): Refusal {
  const detail =
    'Personal API keys are not read from the query string, which ends up in logs. Send the key in the Authorization header: Bearer phx_…'
  return new Refusal('not_authenticated', detail)
}

/**
 * Refuses bodies that are neither JSON nor forms. Pages of other sites can send forms without a preflight, but not
 * with a key in the Authorization header or the header beside a session, one of which every route demands first.
 */
export function requireKnownType(request: Request): void {
  const type = request.headers.get('content-type')
  if (type === null || isFormType(type)) return
  if (/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return
  const shown = JSON.stringify(type.slice(0, 100))
  throw new Refusal('unsupported_media_type', `Unsupported media type ${shown} in request.`)
}

/** Resources whose edits are judged by the project's compiled flags. */
const JUDGED_BY_FLAGS: ReadonlySet<string> = new Set([
  'cohort',
  'early_access_feature',
  'experiment',
  'survey',
])

/** Whether a route may read compiled flags: they are compiled in slices before it runs, not at once while it runs. */
function readsFlags(method: string, scope: Scope): boolean {
  const [resource = ''] = scope.split(':', 1)
  return resource === 'feature_flag' || (method !== 'GET' && JUDGED_BY_FLAGS.has(resource))
}

function isOfProject(subject: unknown): subject is OfProject {
  return typeof subject === 'object' && subject !== null && 'project' in subject
}

/**
 * Returns the key of the Authorization header. Keys in addresses or bodies are ignored: those end up in logs.
 */
export function bearerOf(request: Request): string | null {
  return /^Bearer\s+(\S.*)$/i.exec(request.headers.get('authorization') ?? '')?.[1]?.trim() ?? null
}

/** Returns the value of `:name` in a path. Refuses (`not_found`) one that is not text. */
export function pathNames(params: PathParams, name: string): string {
  const value = params[name] ?? null
  if (value === null) throw new Refusal('not_found', 'Not found.')
  return value
}
