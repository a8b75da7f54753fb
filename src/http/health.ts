/** Tells supervisors how the process does. */
import { answerJson } from './answers.ts'
import type { AppContext } from './app-context.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Alive means answering; healthy means taking work, which ends as soon as the process is told to stop; ready means
 * answering queries as well, so that a server that only takes events in is not ready and says why.
 */
export function healthEndpoints(app: AppContext): readonly Endpoint[] {
  const healthy = (): Response =>
    app.isStopping() ? answerJson({ status: 'stopping' }, 503) : alive()
  const ready = (): Response => {
    const { unready } = app.engine.state
    if (app.isStopping() || unready === null) return healthy()
    return answerJson({ status: 'unavailable', reason: unready }, 503)
  }
  const checks = [
    ['/_health', healthy],
    ['/_readiness', ready],
    ['/_liveness', alive],
  ] as const
  return checks.flatMap(([path, answer]) => [
    { method: 'GET', path, answer },
    { method: 'HEAD', path, answer },
  ])
}

const alive = (): Response => answerJson({ status: 'ok' })
