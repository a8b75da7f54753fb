/** Queries of the HogQL editor: completions, faults, tables. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { HogQLAutocomplete, HogQLMetadata } from '../../contract/analytics/editor.ts'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './calls/call.ts'

export type HogQLSuggestion = {
  readonly label: string
  readonly insertText: string
  readonly kind: string
  readonly detail?: string | null
}

export type HogQLCompletions = {
  readonly suggestions: readonly HogQLSuggestion[]
  /** Whether there are more than these: a longer word may have others. */
  readonly incomplete_list: boolean
}

type HogQLFault = {
  readonly message: string
  /** UTF-16 units; the end is exclusive. */
  readonly start?: number | null
  readonly end?: number | null
}

export type HogQLFaults = {
  readonly errors: readonly HogQLFault[]
  readonly warnings: readonly HogQLFault[]
}

/** A field of a table; `lazy_table` and `virtual_table` lead to more fields. */
export type ListedField = {
  readonly name: string
  readonly hogql_value: string
  readonly type: string
}

export type ListedTable = {
  readonly name: string
  readonly fields: Readonly<Record<string, ListedField>>
}

const post = <Answer>(project_id: number, query: unknown, signal?: AbortSignal): Promise<Answer> =>
  call<Answer>('POST', `/api/projects/${project_id}/query/`, { body: { query }, signal })

/** Asks for completions of the word between two positions. */
export function completeText(
  project_id: number,
  text: string,
  [startPosition, endPosition]: readonly [from: number, to: number],
): Promise<HogQLCompletions> {
  const query: HogQLAutocomplete = {
    kind: 'HogQLAutocomplete',
    language: 'hogQL',
    query: text,
    startPosition,
    endPosition,
  }
  return post<HogQLCompletions>(project_id, query)
}

/** Asks for the faults of a text. */
export function findFaults(project_id: number, text: string): Promise<HogQLFaults> {
  const query: HogQLMetadata = { kind: 'HogQLMetadata', language: 'hogQL', query: text }
  return post<HogQLFaults>(project_id, query)
}

/** The tables with their fields. */
export function useTables(): UseQueryResult<readonly ListedTable[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly ListedTable[], ApiError>({
    queryKey: ['schema', id],
    queryFn: async ({ signal }) => {
      type Answer = { readonly tables: Readonly<Record<string, ListedTable>> }
      const { tables } = await post<Answer>(id, { kind: 'DatabaseSchemaQuery' }, signal)
      return Object.values(tables)
    },
    staleTime: 300_000,
  })
}
