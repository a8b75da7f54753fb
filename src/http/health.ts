/** Health checks for supervisors. */
import { answerJson } from './answers.ts'
import type { AppContext } from './app-context.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Alive means that the process answers; healthy, that it accepts work, which ends as soon as a stop is
 * requested; ready, that it also answers queries. A server that only ingests events is not ready, and its
 * answer names the reason.
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
