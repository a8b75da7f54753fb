/** Health checks for supervisors and load balancers. */
import { MIB } from '../bytes.ts'
import { answerJson } from './answers/answers.ts'
import type { AppContext } from './app-context.ts'
import type { Endpoint } from './endpoint.ts'

/** A reason why the server should get no requests now. */
type UnreadyReason = {
  readonly check: 'disk' | 'queries' | 'stop'
  readonly detail: string
}

/**
 * Alive means that the process answers; healthy, that it accepts work, which ends as soon as a stop is requested; ready,
 * that it also answers queries. `/_readyz` looks at the disk too, and has every reason in its answer.
 */
export function healthEndpoints(app: AppContext): readonly Endpoint[] {
  const healthy = (): Response =>
    app.isStopping() ? answerJson({ status: 'stopping' }, 503) : alive()
  const ready = (): Response => {
    const { unready } = app.engine.state
    if (app.isStopping() || unready === null) return healthy()
    return answerJson({ status: 'unavailable', reason: unready }, 503)
  }
  const readyWithReasons = (): Response => {
    const reasons = findUnready(app)
    return reasons.length === 0 ? alive() : answerJson({ status: 'unavailable', reasons }, 503)
  }
  const checks = [
    ['/_health', healthy],
    ['/_readiness', ready],
    ['/_readyz', readyWithReasons],
    ['/_liveness', alive],
    ['/_livez', alive],
  ] as const
  return checks.flatMap(([path, answer]) => [
    { method: 'GET', path, answer },
    { method: 'HEAD', path, answer },
  ])
}

/** Every reason why the server is not ready; none when it is. */
export function findUnready(app: AppContext): readonly UnreadyReason[] {
  const reasons: UnreadyReason[] = []
  if (app.isStopping()) {
    reasons.push({
      check: 'stop',
      detail: 'The server is stopping: it answers what it has received.',
    })
  }
  const { unready } = app.engine.state
  if (unready !== null) reasons.push({ check: 'queries', detail: unready })
  const { free_bytes, free_bytes_min } = app.disk.read()
  if (free_bytes < free_bytes_min) {
    const detail = `The disk of the data folder has ${inMiB(free_bytes)} MiB left; at least ${inMiB(free_bytes_min)} are needed (TIDEMARK_DISK_FREE_MIN_MB).`
    reasons.push({ check: 'disk', detail })
  }
  return reasons
}

function inMiB(bytes: number): number {
  return Math.floor(bytes / MIB)
}

const alive = (): Response => answerJson({ status: 'ok' })
