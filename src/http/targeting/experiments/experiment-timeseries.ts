/** Results of one metric of an experiment, day by day. */

import {
  TimeseriesAnswer,
  TimeseriesQuery,
} from '../../../contract/targeting/experiment-results.ts'
import { Refusal } from '../../../errors.ts'
import { daysOf } from '../../../insights/experiments/days.ts'
import { readMetric } from '../../../insights/experiments/metric.ts'
import { comparisonOf, figuresIn } from '../../../insights/experiments/statistics/comparison.ts'
import type { ExperimentTrial } from '../../../insights/experiments/trees/exposure.ts'
import { metricTree } from '../../../insights/experiments/trees/trees.ts'
import type { Experiment } from '../../../targeting/experiments/experiment.ts'
import { uuidOf } from '../../../targeting/experiments/saved-metric.ts'
import type { QueryCall } from '../../analytics/queries/query-context.ts'
import { runTree } from '../../analytics/queries/run-tree.ts'
import { answerJson } from '../../answers/answers.ts'
import { queryValue } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { projectRoute } from '../../route.ts'
import { experimentInPath, insightContextOf, metricsOf } from './experiment-results.ts'

/** The most days; each is a query. */
const TIMESERIES_DAYS_MAX = 60

export const EXPERIMENT_TIMESERIES_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/timeseries_results/',
    scope: 'experiment:read',
    summary: 'Read the results of one metric as of the end of each day.',
    query: TimeseriesQuery,
    answers: { 200: TimeseriesAnswer },
    answer: async (app, call) => {
      const { experiment, ...tested } = experimentInPath(app, call)
      const metric_uuid = queryValue(call.request, 'metric_uuid') ?? ''
      const raw = metricOf(app, experiment, metric_uuid)
      const series = await seriesOf(app, call, tested.trial, raw)
      return answerJson({
        experiment_id: experiment.id,
        metric_uuid,
        ...series,
        computed_at: app.now(),
        created_at: experiment.created_at,
        updated_at: experiment.updated_at,
        recalculation_status: null,
        recalculation_created_at: null,
      })
    },
  }),
] as const

/** Returns the metric with a uuid. Refuses unknown ones. */
function metricOf(app: AppContext, experiment: Experiment, uuid: string): unknown {
  const { first, second } = metricsOf(app, experiment)
  const metric = [...first, ...second].find((one) => uuid !== '' && uuidOf(one) === uuid)
  if (metric !== undefined) return metric
  const detail = uuid === '' ? 'This field is required.' : 'The experiment has no such metric.'
  throw new Refusal(uuid === '' ? 'required' : 'does_not_exist', detail, { attr: 'metric_uuid' })
}

/** Runs one query for each of the last days, over the data up to the day's end. Earlier days are omitted. */
async function seriesOf(app: AppContext, call: QueryCall, trial: ExperimentTrial, raw: unknown) {
  const metric = readMetric(raw, 'metric_uuid')
  const context = insightContextOf(app, call.project)
  const days = daysOf(trial, context)
  const timeseries: Record<string, object | null> = {}
  for (const [index, { day, ends_at }] of days.entries()) {
    timeseries[day] = null
    if (index < days.length - TIMESERIES_DAYS_MAX) continue
    const until = { ...trial, to: ends_at < trial.to ? ends_at : trial.to }
    const query = metricTree(metric, until, { ...context, now: until.to })
    const { rows } = await runTree(app, call, `experiments/${metric.model}`, query)
    timeseries[day] = comparisonOf(metric, until, figuresIn(metric, until, rows))
  }
  const status = days.length > TIMESERIES_DAYS_MAX ? 'partial' : 'completed'
  return { status, timeseries, errors: null }
}
