/** Notices that the server does not answer, shows it once, and repeats failed queries when it is back. */
import { ApiError, call } from '../api/calls/call.ts'
import { queryClient } from '../api/calls/client.ts'
import { showToast } from '../parts/overlays/toast.tsx'
import { isOutdated } from './version.ts'

const PAUSE_MS = 3000

/** Resolves at the end of the current outage; null while the server answers. */
let outage: PromiseWithResolvers<void> | null = null

/** Called with every error of a call. */
export function noteConnection(failure: ApiError): void {
  if (failure.status !== 0 || outage !== null) return
  outage = Promise.withResolvers()
  const closeNote = showToast({
    text: 'The server does not answer. Trying again every few seconds; what you see stays.',
    is_lasting: true,
  })
  void outage.promise.then(closeNote)
  setTimeout(() => void probe(), PAUSE_MS)
}

/** Resolves when the server answers, at once or after an outage; the outage is shown meanwhile. */
export async function waitForServer(): Promise<void> {
  if (await isAnswering()) return
  await outage?.promise
}

async function isAnswering(): Promise<boolean> {
  try {
    await call('GET', '/_readiness')
    return true
  } catch (error) {
    // Any answer shows that the server is there, except that it is starting or stopping.
    return error instanceof ApiError && error.status !== 0 && error.status < 500
  }
}

async function probe(): Promise<void> {
  if (!(await isAnswering())) {
    setTimeout(() => void probe(), PAUSE_MS)
    return
  }
  outage?.resolve()
  outage = null
  const has_changed = await isOutdated()
  showToast(has_changed ? UPDATED : { text: 'The server answers again.' })
  await queryClient.refetchQueries({
    predicate: ({ state }) => state.status === 'error' || state.error !== null,
  })
}

/** Only offered: something may be half typed. */
const UPDATED = {
  text: 'The server was updated. Reload to see the new version; what you see stays until then.',
  action: { text: 'Reload', run: () => location.reload() },
  is_lasting: true,
}
