/** Tells supervisors how the process does. */
import { answerJson } from './answers.ts'
import type { Endpoint } from './endpoint.ts'
import type { Needs } from './needs.ts'

/** Alive means answering; healthy and ready mean taking work, which ends as soon as the process is told to stop. */
export function healthEndpoints(needs: Needs): readonly Endpoint[] {
  const ready = (): Response =>
    needs.isStopping() ? answerJson({ status: 'stopping' }, 503) : alive()
  const checks = [
    ['/_health', ready],
    ['/_readiness', ready],
    ['/_liveness', alive],
  ] as const
  return checks.flatMap(([path, answer]) => [
    { method: 'GET', path, answer },
    { method: 'HEAD', path, answer },
  ])
}

const alive = (): Response => answerJson({ status: 'ok' })
