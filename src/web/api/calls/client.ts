/** The cache of answers: how long they are kept, when a failed call is repeated. */
import { QueryClient } from '@tanstack/preact-query'
import { ApiError } from './call.ts'

const ATTEMPTS_MAX = 3
const WAIT_MAX_MS = 30_000
const STALE_MS = 30_000

/** Statuses that pass by themselves: too many calls, storage not available. */
const PASSING: ReadonlySet<number> = new Set([429, 503])

/** The cache of the whole page. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      refetchOnWindowFocus: false,
      // A browser that believes to be offline may still reach a server on its own machine.
      networkMode: 'always',
      retry: (count, error) => count < repeatsMax(error),
      retryDelay: (count, error) => waitMs(count, error),
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

function repeatsMax(error: unknown): number {
  if (!(error instanceof ApiError)) return 0
  // A change of the network ends every call that is under way, once.
  if (error.code === 'blocked') return 1
  return PASSING.has(error.status) ? ATTEMPTS_MAX : 0
}

function waitMs(count: number, error: unknown): number {
  const told_s = error instanceof ApiError ? error.retry_after_s : null
  return Math.min(WAIT_MAX_MS, told_s === null ? 1000 * 2 ** count : told_s * 1000)
}
