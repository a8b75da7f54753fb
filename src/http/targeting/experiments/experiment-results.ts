/** Results of an experiment, per metric: exposures from `$feature_flag_called`, Bayesian statistics. */

import { ExposuresAnswer, ResultsAnswer } from '../../../contract/targeting/experiment-results.ts'
import { Refusal } from '../../../errors.ts'
import { methodOf } from '../../../insights/experiments/method.ts'
import { readMetric, savedMetrics } from '../../../insights/experiments/metric.ts'
import { resultOf } from '../../../insights/experiments/results.ts'
import { figuresIn } from '../../../insights/experiments/statistics/comparison.ts'
import {
  type ExperimentTrial,
  experimentTrial,
  exposuresTree,
} from '../../../insights/experiments/trees/exposure.ts'
import { metricTree } from '../../../insights/experiments/trees/trees.ts'
import { type InsightContext, projectDates } from '../../../insights/insight.ts'
import { memoizeValue } from '../../../memoize.ts'
import type { Project } from '../../../projects/settings/project.ts'
import { listActions } from '../../../targeting/action.ts'
import { listNamedCohorts } from '../../../targeting/cohorts/named-cohorts.ts'
import { type Experiment, getPresentExperiment } from '../../../targeting/experiments/experiment.ts'
import { isSecondary, listLinks } from '../../../targeting/experiments/experiment-metrics.ts'
import { nameExperiment } from '../../../targeting/experiments/named-experiments.ts'
import { uuidOf } from '../../../targeting/experiments/saved-metric.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import type { QueryCall } from '../../analytics/queries/query-context.ts'
import { runTree } from '../../analytics/queries/run-tree.ts'
import { answerJson } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import type { PathParams } from '../../endpoint.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { METRICS_MAX } from './experiment-serializer.ts'

export const EXPERIMENT_RESULT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/exposures/',
    scope: 'experiment:read',
    summary: 'Count the exposed persons by variant.',
    answers: { 200: ExposuresAnswer },
    answer: async (app, call) => {
      const { trial } = experimentInPath(app, call)
      const total_exposures = await askExposures(app, call, trial)
      return answerJson({ total_exposures, date_range: datesOf(trial) })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/results/',
    scope: 'experiment:read',
    summary:
      'Read the results of an experiment by metric and variant, with credible intervals and a verdict.',
    answers: { 200: ResultsAnswer },
    answer: async (app, call) => {
      const { experiment, ...tested } = experimentInPath(app, call)
      const { first, second } = metricsOf(app, experiment)
      return answerJson({
        exposures: await askExposures(app, call, tested.trial),
        date_range: datesOf(tested.trial),
        metrics: await resultsOf(app, call, tested, first),
        secondary_metrics: await resultsOf(app, call, tested, second),
        method: methodOf(tested.trial.settings),
      })
    },
  }),
] as const

/** Returns the metrics of an experiment in display order, with its saved metrics. */
export function metricsOf(app: AppContext, experiment: Experiment) {
  const { metrics, secondary_metrics, filters } = experiment
  const links = listLinks(app.control, experiment)
  const shared = (is_second: boolean): readonly unknown[] =>
    links
      .filter((link) => isSecondary(link) === is_second)
      .map(({ metric: { name, query } }) => ({ name, ...(query as object) }))
  const { primary_metrics_ordered_uuids, secondary_metrics_ordered_uuids } = experiment
  return {
    first: sortMetrics(
      [...savedMetrics(metrics, filters), ...shared(false)],
      primary_metrics_ordered_uuids,
    ),
    second: sortMetrics(
      [...savedMetrics(secondary_metrics, null), ...shared(true)],
      secondary_metrics_ordered_uuids,
    ),
  }
}

/** Sorts metrics by the stored order; others follow in their own order. */
function sortMetrics(metrics: readonly unknown[], order: unknown): readonly unknown[] {
  const uuids: readonly unknown[] = Array.isArray(order) ? order : []
  const placeOf = (metric: unknown): number => {
    const place = uuids.indexOf(uuidOf(metric))
    return place < 0 ? uuids.length : place
  }
  return metrics.toSorted((a, b) => placeOf(a) - placeOf(b))
}

type TestedExperiment = { readonly trial: ExperimentTrial }

type ExperimentCall = QueryCall & { readonly params: PathParams }

/** Returns the experiment of the path. Refuses one without a start. */
export function experimentInPath(
  app: AppContext,
  { params, project }: ExperimentCall,
): TestedExperiment & { readonly experiment: Experiment } {
  const experiment = getPresentExperiment(app.control, project.id, parseNumberId(params))
  const flag = getFlag(app.control, project.id, experiment.feature_flag_id)
  const trial = experimentTrial(nameExperiment(experiment, flag), app.now(), 'start_date')
  return { experiment, trial }
}

/** Counts persons by variant. */
async function askExposures(
  app: AppContext,
  call: QueryCall,
  trial: ExperimentTrial,
): Promise<object> {
  const tree = exposuresTree(trial, insightContextOf(app, call.project))
  const { rows } = await runTree(app, call, 'experiments/exposures', tree)
  return Object.fromEntries(rows.map(([key, persons]) => [String(key), persons]))
}

function datesOf({ from, to }: ExperimentTrial): object {
  return { date_from: from.toISOString(), date_to: to.toISOString() }
}

/** Labels of a result whose metric is unreadable. */
function namesOf(metric: unknown): {
  readonly name: string | null
  readonly uuid: string | null
} {
  const { name, uuid } = (metric ?? {}) as { readonly name?: unknown; readonly uuid?: unknown }
  return {
    name: typeof name === 'string' ? name : null,
    uuid: typeof uuid === 'string' ? uuid : null,
  }
}

/** Refusals that concern one metric only; they become its result. */
const METRIC_REFUSALS: ReadonlySet<string> = new Set(['invalid_input', 'permission_denied'])

/** Computes metrics one after the other: each is a query, and a refused one reports its refusal. */
async function resultsOf(
  app: AppContext,
  call: QueryCall,
  { trial }: TestedExperiment,
  metrics: readonly unknown[],
): Promise<readonly object[]> {
  const results: object[] = []
  for (const saved of metrics.slice(0, METRICS_MAX)) {
    try {
      const metric = readMetric(saved, 'metrics')
      const query = metricTree(metric, trial, insightContextOf(app, call.project))
      const { rows } = await runTree(app, call, `experiments/${metric.model}`, query)
      results.push(resultOf(metric, figuresIn(metric, trial, rows), trial.settings))
    } catch (error) {
      if (!(error instanceof Refusal) || !METRIC_REFUSALS.has(error.code)) throw error
      results.push({ ...namesOf(saved), error: error.detail })
    }
  }
  return results
}

/** The context of an experiment's queries: the project's data. */
export function insightContextOf(app: AppContext, project: Project): InsightContext {
  return {
    project_id: project.id,
    ...projectDates(project, app.now()),
    property_types: app.definitions.propertyTypes(project.id),
    test_account_filters: project.test_account_filters ?? [],
    path_cleaning_filters: project.path_cleaning_filters,
    actions: memoizeValue(() => listActions(app.control, project.id)),
    cohorts: memoizeValue(() => listNamedCohorts(app.control, project.id)),
    findExperiment: () => null,
    rows_max: app.query_limits.rows_max,
  }
}
