/** Runs of the open tab: asking, how far the server is, cancelling. */
import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/preact-query'
import { useMemo } from 'preact/hooks'
import type { AnswerOf } from '../../../api/calls/ask.ts'
import { type ApiError, call } from '../../../api/calls/call.ts'
import {
  type AnswerProgress,
  cancelQuery,
  newQueryId,
  useProgress,
} from '../../../api/calls/long-answer.ts'
import { useProject } from '../../../state/project.tsx'
import type { HogQLNode } from '../node.ts'
import type { SqlTabs } from '../tabs.ts'
import type { SqlRow } from './cells.ts'

export type SqlAnswer = AnswerOf<readonly SqlRow[]> & {
  /** The time that the browser waited, in milliseconds. */
  readonly waited_ms: number
}

type SqlRun = {
  readonly answer: UseQueryResult<SqlAnswer, ApiError>
  /** Null before a run has taken a second. */
  readonly progress: AnswerProgress | null
  readonly run: (node: HogQLNode) => void
  /** Stops the run in the server. */
  readonly cancel: () => void
}

/** Each run computes again; going to another tab and back does not. */
export function useRun(tabs: SqlTabs, onRun: (node: HogQLNode) => void): SqlRun {
  const { id } = useProject()
  const client = useQueryClient()
  const { open } = tabs
  const { ran } = open
  const queryKey = ['sql', id, open.id, open.run]
  const key = queryKey.join(':')
  const query_id = useMemo(newQueryId, [key])
  const answer = useQuery<SqlAnswer, ApiError>({
    queryKey,
    queryFn: async ({ signal }) => {
      const started_ms = performance.now()
      const body = { query: ran, refresh: 'force_blocking', client_query_id: query_id }
      const path = `/api/projects/${id}/query/`
      const found = await call<AnswerOf<readonly SqlRow[]>>('POST', path, { body, signal })
      return { ...found, waited_ms: performance.now() - started_ms }
    },
    enabled: ran !== null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  return {
    answer,
    progress: useProgress(query_id, answer.isFetching, key),
    run: (node) => {
      if (node.query.trim() === '') return
      tabs.change({ ran: node, run: open.run + 1 })
      onRun(node)
    },
    cancel: () => {
      cancelQuery(id, query_id)
      void client.cancelQueries({ queryKey })
    },
  }
}
