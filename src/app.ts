/** The HTTP application: every route, and what is answered where there is none. */
import { Elysia } from 'elysia'
import { Refusal } from './errors.ts'
import { pathOf } from './http/addresses.ts'
import { answerPreflight, CAPTURE_PATHS, captureHandler } from './http/capture.ts'
import { HEALTH_PATHS } from './http/health.ts'
import type { Needs } from './http/needs.ts'
import { ORGANIZATION_ROUTES } from './http/organizations.ts'
import { PROJECT_ROUTES } from './http/projects.ts'
import { answerError, answerRefusal } from './http/refusals.ts'
import type { Route } from './http/route.ts'
import { USER_ROUTES } from './http/users.ts'

/** The management API, one line per family. */
export const ROUTES: readonly Route[] = [...PROJECT_ROUTES, ...ORGANIZATION_ROUTES, ...USER_ROUTES]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Bodies are read by the routes, after they know who asks: Elysia is to leave them alone. */
const UNREAD = { parse: 'none' } as const

/** Builds the application. `app.handle(request)` answers like the server does. */
export function createApp(needs: Needs): Elysia {
  // One router for tests and server: Bun's own knows neither slashless twins nor our order of methods.
  // By default Elysia takes every host for at least four characters, and finds no path behind a shorter one.
  const app = new Elysia({ systemRouter: false, handler: { standardHostname: false } })
  app.onError({ as: 'global' }, ({ code, error, request }) => {
    if (code === 'NOT_FOUND') return answerRefusal(new Refusal('not_found', 'Endpoint not found.'))
    return answerError(error, (err) => {
      needs.log.error({ err, method: request.method, path: pathOf(request.url) })
    })
  })
  const allowed = new Map<string, Set<string>>()
  const allow = (path: string, method: string): void => {
    allowed.set(path, (allowed.get(path) ?? new Set()).add(method))
  }
  mountPublic(app, needs, allow)
  mountRoutes(app, needs, allow)
  refuseOtherMethods(app, allowed)
  return app
}

type Allow = (path: string, method: string) => void

function mountPublic(app: Elysia, needs: Needs, allow: Allow): void {
  for (const path of CAPTURE_PATHS) {
    const answer = captureHandler(needs, path)
    for (const method of ['POST', 'GET']) {
      app.route(
        method,
        path,
        ({ request, server }) => answer(request, server?.requestIP(request)?.address ?? ''),
        UNREAD,
      )
    }
    app.route('OPTIONS', path, ({ request }) => answerPreflight(request), UNREAD)
    for (const method of ['POST', 'GET', 'OPTIONS']) allow(path, method)
  }
  for (const [path, answer] of Object.entries(HEALTH_PATHS)) {
    for (const method of ['GET', 'HEAD']) {
      app.route(method, path, () => answer(needs), UNREAD)
      allow(path, method)
    }
  }
}

function mountRoutes(app: Elysia, needs: Needs, allow: Allow): void {
  for (const route of ROUTES) {
    const methods = route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]
    for (const path of route.paths) {
      for (const method of methods) {
        app.route(method, path, ({ request, params }) => route.run(needs, request, params), UNREAD)
        allow(path, method)
      }
    }
  }
}

function refuseOtherMethods(app: Elysia, allowed: ReadonlyMap<string, ReadonlySet<string>>): void {
  for (const [path, known] of allowed) {
    const headers = { Allow: [...known].join(', ') }
    for (const method of METHODS.filter((one) => !known.has(one))) {
      const refusal = new Refusal('method_not_allowed', `Method "${method}" not allowed.`)
      app.route(method, path, () => answerRefusal(refusal, headers), UNREAD)
    }
  }
}
