/** Saved insights and annotations. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../state/project.tsx'
import { type ApiError, call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'

export type StoredInsight = {
  readonly id: number
  readonly short_id: string
  readonly name: string | null
  readonly derived_name: string | null
  readonly description: string
  readonly query: unknown
  readonly last_modified_at: string
  /** The ids of all boards that show it. */
  readonly dashboards: readonly number[]
}

type ListPage<Item> = { readonly results: readonly Item[] }

/** The insight with a short id; null when there is none. Its result is not asked for. */
export function useInsight(
  short_id: string | null,
): UseQueryResult<StoredInsight | null, ApiError> {
  const { id } = useProject()
  return useQuery<StoredInsight | null, ApiError>({
    queryKey: ['insight', id, short_id],
    queryFn: async ({ signal }) => {
      const query = { short_id, basic: true }
      const path = `/api/projects/${id}/insights/`
      const page = await call<ListPage<StoredInsight>>('GET', path, { query, signal })
      return page.results[0] ?? null
    },
    enabled: short_id !== null,
  })
}

const RECENT_MAX = 8

/** The insights that were saved last. */
export function useRecentInsights(): UseQueryResult<readonly StoredInsight[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly StoredInsight[], ApiError>({
    queryKey: ['insights', id, 'recent'],
    queryFn: async ({ signal }) => {
      const query = { saved: true, basic: true, limit: RECENT_MAX }
      const path = `/api/projects/${id}/insights/`
      return (await call<ListPage<StoredInsight>>('GET', path, { query, signal })).results
    },
    staleTime: 0,
  })
}

type InsightFields = { readonly name?: string; readonly query: unknown }

/** Saves a new insight. */
export async function createInsight(
  project_id: number,
  fields: InsightFields,
): Promise<StoredInsight> {
  const body = { ...fields, saved: true }
  const saved = await call<StoredInsight>('POST', `/api/projects/${project_id}/insights/`, { body })
  keepSaved(project_id, saved)
  return saved
}

/** Changes a saved insight. */
export async function changeInsight(
  project_id: number,
  insight: Pick<StoredInsight, 'id'>,
  fields: Partial<InsightFields>,
): Promise<StoredInsight> {
  const path = `/api/projects/${project_id}/insights/${insight.id}/`
  const saved = await call<StoredInsight>('PATCH', path, { body: fields })
  keepSaved(project_id, saved)
  return saved
}

/** Pages that list insights ask for them again. */
function keepSaved(project_id: number, saved: StoredInsight): void {
  queryClient.setQueryData(['insight', project_id, saved.short_id], saved)
  void queryClient.invalidateQueries({ queryKey: ['boards', project_id] })
}

export type ChartAnnotation = {
  readonly id: number
  readonly content: string | null
  readonly date_marker: string | null
}

const ANNOTATIONS_MAX = 500

/** The project's annotations. */
export function useAnnotations(): UseQueryResult<readonly ChartAnnotation[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly ChartAnnotation[], ApiError>({
    queryKey: ['annotations', id],
    queryFn: async ({ signal }) => {
      const query = { limit: ANNOTATIONS_MAX }
      const path = `/api/projects/${id}/annotations/`
      const page = await call<ListPage<ChartAnnotation>>('GET', path, { query, signal })
      return page.results
    },
  })
}

/** Adds an annotation at an instant. */
export async function createAnnotation(
  project_id: number,
  fields: { readonly content: string; readonly date_marker: string },
): Promise<void> {
  const body = { ...fields, scope: 'project' }
  await call('POST', `/api/projects/${project_id}/annotations/`, { body })
  await queryClient.invalidateQueries({ queryKey: ['annotations', project_id] })
}

/** Deletes an annotation. */
export async function deleteAnnotation(project_id: number, id: number): Promise<void> {
  const body = { deleted: true }
  await call('PATCH', `/api/projects/${project_id}/annotations/${id}/`, { body })
  await queryClient.invalidateQueries({ queryKey: ['annotations', project_id] })
}
