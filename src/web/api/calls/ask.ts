/** Queries to `query/`: a query node in, its answer out, cached by the node itself. */
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { QueryResults } from '../../../contract/insights/answers.ts'
import { useProject } from '../../state/project.tsx'
import { type ApiError, call } from './call.ts'

/** A query node, as `contract/insights/kinds.ts` lists them. */
export type AnyQuery = { readonly kind: string; readonly [member: string]: unknown }

/** The `results` of a kind of query; of kinds that the list of answers does not have, anything. */
export type ResultsOf<Kind extends string> = Kind extends keyof QueryResults
  ? QueryResults[Kind]
  : unknown

/** The members of every query's answer; `results` depends on its kind. */
export type AnswerOf<Results = unknown> = {
  readonly results: Results
  readonly hogql?: string | null
  readonly columns?: readonly string[]
  readonly types?: readonly unknown[]
  readonly hasMore?: boolean
  readonly is_cached?: boolean
  readonly last_refresh?: string | null
  readonly timezone?: string
}

type AskOptions = {
  /** Compute again although the cache has an answer. */
  readonly is_forced?: boolean
  readonly signal?: AbortSignal | undefined
}

/** Asks one query. An aborted signal closes the connection, which cancels the query in the server. Throws ApiError. */
export function ask<const Query extends AnyQuery>(
  project_id: number,
  query: Query,
  { is_forced = false, signal }: AskOptions = {},
): Promise<AnswerOf<ResultsOf<Query['kind']>>> {
  const refresh = is_forced ? 'force_blocking' : 'blocking'
  return call('POST', `/api/projects/${project_id}/query/`, { body: { query, refresh }, signal })
}

/**
 * Asks a query of the current project while its part is on the page; null asks nothing. While another query
 * is under way, `data` is the answer before it.
 */
export function useAnswer<const Query extends AnyQuery>(
  query: Query | null,
): UseQueryResult<AnswerOf<ResultsOf<Query['kind']>>, ApiError> {
  const { id } = useProject()
  return useQuery<AnswerOf<ResultsOf<Query['kind']>>, ApiError>({
    queryKey: ['query', id, query],
    queryFn: ({ signal }) =>
      query === null ? Promise.reject(new Error('no query')) : ask(id, query, { signal }),
    enabled: query !== null,
    placeholderData: keepPreviousData,
  })
}
