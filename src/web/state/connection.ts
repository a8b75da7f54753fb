/** Notices that the server does not answer, shows it once, and repeats failed queries when it is back. */
import { type ApiError, isAnswering } from '../api/calls/call.ts'
import { queryClient } from '../api/calls/client.ts'
import { showToast } from '../parts/overlays/toast.tsx'
import { isOutdated } from './version.ts'

const PAUSE_MS = 3000

/** Resolves at the end of the current outage; null while the server answers. */
let outage: PromiseWithResolvers<void> | null = null

/** Called with every error of a call. */
export function noteConnection(failure: ApiError): void {
  if (failure.code === 'unreachable') void noteOutage()
}

/** Resolves at the end of the outage, which is shown meanwhile. */
function noteOutage(): Promise<void> {
  if (outage !== null) return outage.promise
  outage = Promise.withResolvers()
  const closeNote = showToast({
    text: 'The server does not answer. Trying again every few seconds; what you see stays.',
    is_lasting: true,
  })
  void outage.promise.then(closeNote)
  setTimeout(() => void probe(), PAUSE_MS)
  return outage.promise
}

/** Resolves when the server answers, at once or after an outage; the outage is shown meanwhile. */
export async function waitForServer(): Promise<void> {
  if (!(await isAnswering())) await noteOutage()
}

async function probe(): Promise<void> {
  if (!(await isAnswering())) {
    setTimeout(() => void probe(), PAUSE_MS)
    return
  }
  outage?.resolve()
  outage = null
  const has_changed = await isOutdated()
  showToast(has_changed ? UPDATE_TOAST : { text: 'The server answers again.' })
  await queryClient.refetchQueries({
    predicate: ({ state }) => state.status === 'error' || state.error !== null,
  })
}

/** A reload is only offered: something may be half typed. */
const UPDATE_TOAST = {
  text: 'The server was updated. Reload to see the new version; what you see stays until then.',
  action: { text: 'Reload', run: () => location.reload() },
  is_lasting: true,
}
