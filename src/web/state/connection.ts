/** Notices that the server does not answer, says so once, and asks again what failed when it is back. */
import { ApiError, call } from '../api/call.ts'
import { queryClient } from '../api/client.ts'
import { showToast } from '../parts/toast.tsx'

const PAUSE_MS = 3000

let closeNote: (() => void) | null = null

/** Called with every error of a question. */
export function noteConnection(error: ApiError): void {
  if (error.status !== 0 || closeNote !== null) return
  closeNote = showToast({
    text: 'The server does not answer. Trying again every few seconds; what you see stays.',
    is_lasting: true,
  })
  setTimeout(() => void probe(), PAUSE_MS)
}

async function probe(): Promise<void> {
  try {
    await call('GET', '/_readiness')
  } catch (error) {
    // Any answer shows that the server is there, except that it is starting or stopping.
    if (!(error instanceof ApiError) || error.status === 0 || error.status >= 500) {
      setTimeout(() => void probe(), PAUSE_MS)
      return
    }
  }
  closeNote?.()
  closeNote = null
  showToast({ text: 'The server answers again.' })
  await queryClient.refetchQueries({
    predicate: ({ state }) => state.status === 'error' || state.error !== null,
  })
}
