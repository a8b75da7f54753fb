/** How a route of the management API is declared: its scope stands beside its path, or it does not compile. */
import type { Static, TSchema } from 'elysia'
import { Refusal } from '../errors.ts'
import {
  type Caller,
  getAsker,
  getVisibleOrganization,
  getVisibleProject,
  requireScope,
  requireWholeOrganization,
} from '../projects/access.ts'
import type { Organization } from '../projects/organization.ts'
import type { Project } from '../projects/project.ts'
import { requireRight, rightsAt } from '../projects/rights.ts'
import type { Scope } from '../projects/scopes.ts'
import type { MemberLevel } from '../projects/tables.ts'
import { type Need, ROUTE_WAYS } from '../projects/ways.ts'
import { currentRequestId, noteProject, resumeWork } from '../threads/this-thread.ts'
import { pathOf } from './addresses.ts'
import type { AppContext } from './app-context.ts'
import { orNothing, readJson } from './body.ts'
import type { ClientSocket, Endpoint, PathParams } from './endpoint.ts'
import { answerError, type Report } from './refusals.ts'
import type { Validator } from './shape.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What is told of a route to those who read its description. */
export type RouteDescription = {
  /** What it does, in one line. */
  readonly summary?: string
  /** Its parameters behind the query mark: an object schema. */
  readonly query?: TSchema
  /** What comes back, by status; null where no body comes. */
  readonly answers?: Readonly<Record<number, TSchema | null>>
}

/** One route, ready to mount. `paths` are different names of the same thing. */
export type Route = RouteDescription & {
  readonly method: Method
  readonly paths: readonly string[]
  readonly scope: Scope
  /** What it takes besides the scope. */
  readonly needs: readonly Need[]
  readonly body: Validator<TSchema> | null
  readonly run: (
    app: AppContext,
    request: Request,
    params: PathParams,
    socket: ClientSocket,
  ) => Promise<Response>
}

/** What a route's answer is made from, once the caller may have it. `body` is null where none is declared. */
export type RouteCall<Subject, Schema extends TSchema> = Subject & {
  readonly caller: Caller
  readonly body: TSchema extends Schema ? null : Static<Schema>
  /** What stands in the place of `:name` in the path. */
  readonly params: PathParams
  readonly request: Request
  readonly socket: ClientSocket
}

export type OfProject = { readonly project: Project; readonly level: MemberLevel }
export type OfOrganization = { readonly organization: Organization; readonly level: MemberLevel }

type Declared<Subject, Schema extends TSchema> = RouteDescription & {
  readonly method: Method
  /** Below the subject's own path; several are different names of the same thing. */
  readonly path: string | readonly string[]
  readonly scope: Scope
  readonly body?: Validator<Schema>
  /** Clients may send no body at all. */
  readonly is_body_optional?: true
  readonly answer: (
    app: AppContext,
    call: RouteCall<Subject, Schema>,
  ) => Response | Promise<Response>
}

type FindSubject<Subject> = (app: AppContext, caller: Caller, params: PathParams) => Subject

/** A project's routes exist under both names: an environment's id is its project's. */
const PROJECT_ROOTS = ['/api/environments/:project_id/', '/api/projects/:project_id/']
const ORGANIZATION_ROOTS = ['/api/organizations/:organization_id/']
const ORGANIZATION_PROJECT_ROOTS = ['/api/organizations/:organization_id/projects/:project_id/']
const ROOTS = ['/api/']

/** The routes, and PUT beside each PATCH of one thing: members that are left out stay with either. */
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

/** Declares a route about one project. */
export function projectRoute<Schema extends TSchema = TSchema>(
  declared: Declared<OfProject, Schema>,
): Route {
  return routeUnder(PROJECT_ROOTS, declared, (app, caller, params) => {
    const { thing: item, level } = getVisibleProject(
      app.control,
      caller,
      pathNames(params, 'project_id'),
    )
    return { project: item, level }
  })
}

/** Declares a route about one organization as a whole. */
export function organizationRoute<Schema extends TSchema = TSchema>(
  declared: Declared<OfOrganization, Schema>,
): Route {
  return routeUnder(ORGANIZATION_ROOTS, declared, (app, caller, params) => {
    const id = pathNames(params, 'organization_id')
    const { thing: item, level } = getVisibleOrganization(app.control, caller, id)
    requireWholeOrganization(caller)
    return { organization: item, level }
  })
}

/** Declares a route about one project under all of its names, also that below its organization. */
export function everyProjectRoute<Schema extends TSchema = TSchema>(
  declared: Declared<OfProject, Schema>,
): Route {
  const roots = [...ORGANIZATION_PROJECT_ROOTS, ...PROJECT_ROOTS]
  return routeUnder(roots, declared, (app, caller, params) => {
    const organization =
      params['organization_id'] === undefined
        ? null
        : getVisibleOrganization(app.control, caller, pathNames(params, 'organization_id')).thing
    const { thing: item, level } = getVisibleProject(
      app.control,
      caller,
      pathNames(params, 'project_id'),
    )
    if (organization !== null && item.organization_id !== organization.id) {
      throw new Refusal('not_found', 'Project not found.')
    }
    return { project: item, level }
  })
}

/** Declares a route about the caller. */
export function callerRoute<Schema extends TSchema = TSchema>(
  declared: Declared<object, Schema>,
): Route {
  return routeUnder(ROOTS, declared, () => ({}))
}

/** What to mount for a route: reading also as HEAD, and under each of its names. */
export function routeEndpoints(app: AppContext, route: Route): readonly Endpoint[] {
  const methods = route.method === 'GET' ? (['GET', 'HEAD'] as const) : [route.method]
  const answer: Endpoint['answer'] = (...requested) => answerRoute(app, route, requested)
  return route.paths.flatMap((path) => methods.map((method) => ({ method, path, answer })))
}

/** Answers one call, refusals and faults included, and notes it; keys and query strings stay out of the log. */
async function answerRoute(
  app: AppContext,
  route: Route,
  [request, params, socket]: Parameters<Endpoint['answer']>,
): Promise<Response> {
  const started_ms = performance.now()
  const call = {
    request_id: currentRequestId(),
    method: request.method,
    path: pathOf(request.url),
  }
  const report: Report = (err, error_id) => app.log.error({ err, error_id, ...call })
  const answer = await route
    .run(app, request, params, socket)
    .catch((error: unknown) => answerError(error, report))
  if (route.method !== 'GET') app.flags.expectChange()
  const took_ms = Math.round(performance.now() - started_ms)
  app.log.debug({ ...call, status: answer.status, took_ms })
  return answer
}

/** The order of checks: who asks (401), how often (429), what it is about (404), whether they may (403), what was sent (400). */
function routeUnder<Subject, Schema extends TSchema>(
  roots: readonly string[],
  declared: Declared<Subject, Schema>,
  find: FindSubject<Subject>,
): Route {
  const { method, path, scope, answer, body: declared_body, ...described } = declared
  const { is_body_optional, ...description } = described
  const shape = declared_body ?? null
  const own_level: Need = { scope, by: 'level' }
  const more = [path].flat().flatMap((below) => ROUTE_WAYS.get(`${method} ${below}`) ?? [])
  return {
    ...description,
    method,
    paths: roots.flatMap((root) => [path].flat().map((below) => root + below)),
    scope,
    needs: more,
    body: shape,
    async run(app, request, params, socket) {
      const caller = getAskerOf(app, request, socket)
      const leave = app.call_limits.enter(caller.id)
      try {
        const subject = find(app, caller, params)
        requireScope(caller, scope)
        if (isOfProject(subject)) {
          noteProject(subject.project.id)
          const rights = rightsAt(app.control, caller, subject)
          for (const need of [own_level, ...more]) requireRight(rights, need)
        }
        if (shape !== null) requireJson(request)
        const bodies = is_body_optional === true ? orNothing(app.bodies) : app.bodies
        const body = shape === null ? null : await readJson(bodies, request, shape)
        resumeWork()
        const call = { ...subject, caller, body, params, request, socket }
        return await answer(app, call as RouteCall<Subject, Schema>)
      } finally {
        leave()
      }
    },
  }
}

/** Finds out whose key a request carries. Refuses one without a key, an unknown key, and too many of these. */
export function getAskerOf(app: AppContext, request: Request, socket: ClientSocket): Caller {
  const key = bearerOf(request)
  const look = (): Caller => getAsker(app.control, key, app.now())
  // What brings no key guesses none.
  return key === null ? look() : app.failed_keys.guard(request, socket, look)
}

/** Forms and plain text are what pages of others can send without asking; here bodies are JSON. */
function requireJson(request: Request): void {
  const type = request.headers.get('content-type')
  if (type === null || /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return
  const shown = JSON.stringify(type.slice(0, 100))
  throw new Refusal('unsupported_media_type', `Unsupported media type ${shown} in request.`)
}

function isOfProject(subject: unknown): subject is OfProject {
  return typeof subject === 'object' && subject !== null && 'project' in subject
}

/** The key in the Authorization header, the only place it is taken from: addresses and bodies end in logs. */
export function bearerOf(request: Request): string | null {
  return /^Bearer\s+(\S.*)$/i.exec(request.headers.get('authorization') ?? '')?.[1]?.trim() ?? null
}

/** What a call's path says in the place of `:name`. Refuses what is no text: it names nothing. */
export function pathNames(params: PathParams, name: string): string {
  const value = params[name] ?? null
  if (value === null) throw new Refusal('not_found', 'Not found.')
  return value
}
