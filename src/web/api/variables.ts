/** Saved variables, which texts name as `{variables.code_name}`. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'

export type ListedVariable = {
  readonly id: string
  readonly name: string
  readonly type: 'Boolean' | 'Date' | 'List' | 'Number' | 'String'
  readonly default_value: unknown
  /** The choices of a list. */
  readonly values: readonly unknown[] | null
  readonly code_name: string
}

const VARIABLES_MAX = 500

/** The project's variables. */
export function useVariables(): UseQueryResult<readonly ListedVariable[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly ListedVariable[], ApiError>({
    queryKey: ['variables', id],
    queryFn: async ({ signal }) => {
      const path = `/api/projects/${id}/insight_variables/`
      const query = { limit: VARIABLES_MAX }
      type Page = { readonly results: readonly ListedVariable[] }
      return (await call<Page>('GET', path, { query, signal })).results
    },
  })
}

type VariableFields = Pick<ListedVariable, 'default_value' | 'name' | 'type'> & {
  readonly values?: readonly unknown[]
}

/** Saves a new variable; its code name is made of its name. */
export async function createVariable(project_id: number, body: VariableFields): Promise<void> {
  await call('POST', `/api/projects/${project_id}/insight_variables/`, { body })
  await queryClient.invalidateQueries({ queryKey: ['variables', project_id] })
}
