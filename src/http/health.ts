/** Tells supervisors how the process does. */
import { answerJson } from './answers.ts'
import type { Needs } from './needs.ts'

/** Alive means answering; ready and healthy mean taking work, which ends as soon as the process is told to stop. */
export const HEALTH_PATHS = {
  '/_health': answerReady,
  '/_readiness': answerReady,
  '/_liveness': answerAlive,
} as const satisfies Record<string, (needs: Needs) => Response>

function answerReady(needs: Needs): Response {
  return needs.isStopping() ? answerJson({ status: 'stopping' }, 503) : answerAlive()
}

function answerAlive(): Response {
  return answerJson({ status: 'ok' })
}
