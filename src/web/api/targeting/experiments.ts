/** Calls for experiments: the list, one experiment, its lifecycle, the results of its metrics. */
import {
  keepPreviousData,
  queryOptions,
  type UseQueryResult,
  useQuery,
} from '@tanstack/preact-query'
import { useProject } from '../../state/project.tsx'
import { type AnswerOf, type AnyQuery, useAnswer } from '../calls/ask.ts'
import { ApiError, type CallMethod, call } from '../calls/call.ts'
import { queryClient } from '../calls/client.ts'
import { type ItemPages, useItemPages } from '../calls/pages.ts'
import { useSettled } from '../definitions.ts'
import type { MetricAnswer } from '../types/metric-answer.ts'
import type { ShownExperiment } from '../types/shown-experiment.ts'
import type { ShownFlag } from '../types/shown-flag.ts'

/** The experiments that the list shows; archived ones only when they are asked for. */
export type ExperimentsShown = '' | 'archived' | 'draft' | 'running' | 'stopped'

/** Experiments whose name contains a text, the newest first, page by page. */
export function useExperiments(
  search: string,
  shown: ExperimentsShown,
): ItemPages<ShownExperiment> {
  const settled = useSettled(search)
  const filter = shown === 'archived' ? { archived: true } : { status: shown }
  const query = { ...filter, search: settled }
  return useItemPages({ family: 'experiments', path: 'experiments/', query })
}

/** As many flags as one answer has. */
const FLAGS_MAX = 100

/** One experiment by its id. */
export function useExperiment(experiment_id: string): UseQueryResult<ShownExperiment, ApiError> {
  const { id } = useProject()
  return useQuery<ShownExperiment, ApiError>(experimentQuery(id, experiment_id))
}

/** The experiment as it is stored now; its page shows it too. Throws ApiError. */
export const readExperiment = (
  project_id: number,
  experiment_id: number,
): Promise<ShownExperiment> =>
  queryClient.fetchQuery({ ...experimentQuery(project_id, String(experiment_id)), staleTime: 0 })

function experimentQuery(project_id: number, experiment_id: string) {
  const path = `/api/projects/${project_id}/experiments/${encodeURIComponent(experiment_id)}/`
  return queryOptions<ShownExperiment, ApiError>({
    queryKey: ['experiments', project_id, experiment_id],
    queryFn: ({ signal }) => call<ShownExperiment>('GET', path, { signal }),
  })
}

/** Creates or changes an experiment. Throws ApiError. */
export function changeExperiment(
  project_id: number,
  experiment_id: number | null,
  body: object,
): Promise<ShownExperiment> {
  return experiment_id === null
    ? send(project_id, ['POST', ''], body)
    : send(project_id, ['PATCH', `${experiment_id}/`], body)
}

/** The steps of an experiment's life that have a route of their own. */
export type ExperimentMove =
  | 'archive'
  | 'duplicate'
  | 'end'
  | 'launch'
  | 'pause'
  | 'reset'
  | 'resume'
  | 'ship_variant'
  | 'unarchive'

/** Takes a step; `duplicate` answers the copy. Throws ApiError. */
export const moveExperiment = (
  project_id: number,
  experiment_id: number,
  move: ExperimentMove,
  body: object = {},
): Promise<ShownExperiment> => send(project_id, ['POST', `${experiment_id}/${move}/`], body)

async function send(
  project_id: number,
  [method, path]: readonly [method: CallMethod, path: string],
  body: object,
): Promise<ShownExperiment> {
  const at = `/api/projects/${project_id}/experiments/${path}`
  const experiment = await call<ShownExperiment>(method, at, { body })
  queryClient.setQueryData(['experiments', project_id, String(experiment.id)], experiment)
  await queryClient.invalidateQueries({ queryKey: ['experiments', project_id, 'list'] })
  // Its flag may have been made, switched or changed.
  await queryClient.invalidateQueries({ queryKey: ['flags', project_id] })
  // Results depend on its times and its method, which are not in their query. Once it is drawn: a draft asks nothing.
  setTimeout(() => void queryClient.invalidateQueries({ queryKey: ['query', project_id] }))
  return experiment
}

/** Refuses to take a step back when others have changed the experiment since: `shown` is what the step has made of it. Throws ApiError. */
export async function requireUnchanged(
  project_id: number,
  { id, updated_at }: ShownExperiment,
): Promise<void> {
  const now = await readExperiment(project_id, id)
  if (now.updated_at === updated_at) return
  throw new ApiError('It was changed in the meantime: nothing is undone.', {
    status: 409,
    code: 'changed',
    attr: null,
    retry_after_s: null,
  })
}

/** Makes a cohort of the persons who were exposed, and returns its id. Throws ApiError. */
export async function makeExposureCohort(
  project_id: number,
  experiment_id: number,
): Promise<number> {
  type Made = { readonly cohort: { readonly id: number } }
  const path = `${experiment_id}/create_exposure_cohort_for_experiment/`
  const { cohort } = await call<Made>('POST', `/api/projects/${project_id}/experiments/${path}`)
  await queryClient.invalidateQueries({ queryKey: ['cohorts', project_id, 'list'] })
  return cohort.id
}

/** Flags that an experiment can use: with variants, of which the first is control. */
export function useEligibleFlags(
  search: string,
): UseQueryResult<{ readonly results: readonly ShownFlag[] }, ApiError> {
  const { id } = useProject()
  const settled = useSettled(search)
  return useQuery<{ readonly results: readonly ShownFlag[] }, ApiError>({
    queryKey: ['experiments', id, 'flags', settled],
    queryFn: ({ signal }) => {
      const path = `/api/projects/${id}/experiments/eligible_feature_flags/`
      return call('GET', path, { query: { search: settled, limit: FLAGS_MAX }, signal })
    },
    placeholderData: keepPreviousData,
  })
}

/** The query of a metric's result, in which its name and its goal make no difference. */
export function metricQuery(experiment_id: number, metric: unknown): AnyQuery {
  const {
    name: _name,
    goal: _goal,
    ...meaning
  } = Object(metric) as Readonly<Record<string, unknown>>
  return { kind: 'ExperimentQuery', experiment_id, metric: meaning }
}

/** The result of a metric; null asks nothing. */
export const useMetricResult = (query: AnyQuery | null): UseQueryResult<MetricAnswer, ApiError> =>
  useAnswer(query) as UseQueryResult<MetricAnswer, ApiError>

/** The persons of a variant by the end of each day. */
export type ExposedVariant = {
  readonly variant: string
  readonly days: readonly string[]
  readonly exposure_counts: readonly number[]
}

export const exposureQuery = (experiment_id: number): AnyQuery => ({
  kind: 'ExperimentExposureQuery',
  experiment_id,
})

/** The exposed persons by variant and day. */
export const useExposures = (
  query: AnyQuery,
): UseQueryResult<AnswerOf<readonly ExposedVariant[]>, ApiError> =>
  useAnswer(query) as UseQueryResult<AnswerOf<readonly ExposedVariant[]>, ApiError>
