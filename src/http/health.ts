/** Health checks for supervisors and load balancers. */
import { MIB } from '../bytes.ts'
import { findErrorCode } from '../error-message.ts'
import { answerJson } from './answers/answers.ts'
import type { AppContext } from './app-context.ts'
import type { Endpoint } from './endpoint.ts'

/** A reason why the server should get no requests now. */
type UnreadyReason = {
  readonly check: 'certificate' | 'disk' | 'queries' | 'stop'
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
  return healthChecks({ health: healthy, readiness: ready, readyz: readyWithReasons })
}

/** The endpoints of every kind of server: those that are named after liveness say only that the process answers. */
export function healthChecks(
  answers: Readonly<Record<'health' | 'readiness' | 'readyz', () => Response>>,
): readonly Endpoint[] {
  const checks = Object.entries({ ...answers, liveness: alive, livez: alive })
  return checks.flatMap(([name, answer]) => [
    { method: 'GET', path: `/_${name}`, answer },
    { method: 'HEAD', path: `/_${name}`, answer },
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
  const disk_fault = findDiskFault(app)
  if (disk_fault !== null) reasons.push({ check: 'disk', detail: disk_fault })
  const certificate_fault = findCertificateFault(app)
  if (certificate_fault !== null) {
    reasons.push({ check: 'certificate', detail: certificate_fault })
  }
  return reasons
}

function findDiskFault({ disk }: AppContext): string | null {
  try {
    const { free_bytes, free_bytes_min } = disk.read()
    if (free_bytes >= free_bytes_min) {
      disk.requireWritable()
      return null
    }
    return `The disk of the data folder has ${inMiB(free_bytes)} MiB left; at least ${inMiB(free_bytes_min)} are needed (TIDEMARK_DISK_FREE_MIN_MB).`
  } catch (error) {
    // A folder that was moved away, a disk that is gone or has turned read-only.
    return `The data folder cannot be written (${findErrorCode(error)}).`
  }
}

/**
 * Names the reason that clients refuse the certificate which the server orders by itself; null while they do not, and for
 * one from files, which others look after.
 */
export function findCertificateFault({
  certificate: source,
  now,
}: Pick<AppContext, 'certificate' | 'now'>): string | null {
  const state = source?.state()
  if (state === undefined || !state.is_ordered) return null
  const { certificate, fault } = state
  if (certificate !== null && certificate.valid_until > now()) return null
  const what = certificate === null ? 'There is no certificate yet' : 'The certificate has ended'
  return `${what}: ${fault ?? 'one is being ordered.'}`
}

function inMiB(bytes: number): number {
  return Math.floor(bytes / MIB)
}

const alive = (): Response => answerJson({ status: 'ok' })
