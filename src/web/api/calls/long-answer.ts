/** Queries that may take long: how far they are, and a way to cancel them. */
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { useProject } from '../../state/project.tsx'
import type { AnswerOf, AnyQuery, ResultsOf } from './ask.ts'
import { type ApiError, call } from './call.ts'
import { queryClient } from './client.ts'

/** The server's figures on a running query. */
export type AnswerProgress = {
  readonly rows_read: number
  readonly bytes_read: number
  readonly estimated_rows_total: number
  readonly time_elapsed: number
}

type LongAnswer<Results> = {
  readonly answer: UseQueryResult<AnswerOf<Results>, ApiError>
  /** Null before the query has taken a second. */
  readonly progress: AnswerProgress | null
  /** Stops the query in the server. */
  readonly cancel: () => void
}

type StatusBody = { readonly query_status?: { readonly query_progress?: AnswerProgress | null } }

/** Shorter queries show no progress. */
const SLOW_MS = 1000
const LOOK_MS = 1000

/**
 * Asks like `useAnswer`, under an id by which the query can be followed and cancelled; `attempt` asks again without
 * the cache when it changes.
 */
export function useLongAnswer<const Query extends AnyQuery>(
  query: Query | null,
): LongAnswer<ResultsOf<Query['kind']>> {
  type Results = ResultsOf<Query['kind']>
  const { id } = useProject()
  const key = JSON.stringify(query)
  const query_id = useMemo(newQueryId, [key, id])
  const path = `/api/projects/${id}/query/`
  const answer = useQuery<AnswerOf<Results>, ApiError>({
    queryKey: ['query', id, query],
    queryFn: ({ signal }) =>
      call<AnswerOf<Results>>('POST', path, {
        body: { query, refresh: 'blocking', client_query_id: query_id },
        signal,
      }),
    enabled: query !== null,
    placeholderData: keepPreviousData,
  })
  return {
    answer,
    progress: useProgress(query_id, answer.isFetching, key),
    cancel: () => cancelQuery(id, query_id),
  }
}

/** The progress of a query with an id; null during its first second. `key` names the query. */
export function useProgress(
  query_id: string,
  is_running: boolean,
  key: string,
): AnswerProgress | null {
  const { id } = useProject()
  const is_slow = useSlow(is_running, key)
  const status = useQuery<AnswerProgress | null, ApiError>({
    queryKey: ['progress', query_id],
    queryFn: async ({ signal }) => {
      const options = { query: { show_progress: true }, signal }
      const path = `/api/projects/${id}/query/${query_id}/`
      const body = await call<StatusBody>('GET', path, options)
      return body.query_status?.query_progress ?? null
    },
    enabled: is_slow,
    refetchInterval: LOOK_MS,
    staleTime: 0,
    retry: false,
  })
  return is_slow ? (status.data ?? NOTHING_YET) : null
}

/** Stops a query in the server. */
export function cancelQuery(project_id: number, query_id: string): void {
  // First, since the server does not know a cancelled query any more.
  void queryClient.cancelQueries({ queryKey: ['progress', query_id] })
  const path = `/api/projects/${project_id}/query/${query_id}/`
  void call('DELETE', path).catch(() => undefined)
}

const NOTHING_YET: AnswerProgress = {
  rows_read: 0,
  bytes_read: 0,
  estimated_rows_total: 0,
  time_elapsed: 1,
}

/** Whether the query has been under way for a second. */
function useSlow(is_running: boolean, key: string): boolean {
  const [is_slow, setSlow] = useState(false)
  useEffect(() => {
    setSlow(false)
    if (!is_running) return undefined
    const timer = setTimeout(() => setSlow(true), SLOW_MS)
    return () => clearTimeout(timer)
  }, [is_running, key])
  return is_slow && is_running
}

/** A random id; `crypto.randomUUID` is missing over plain http. */
export function newQueryId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
