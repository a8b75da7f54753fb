/** Experiment queries of the query endpoint: one metric, in the answer shape of each query kind. */

import type {
  ExperimentFunnelsQuery,
  ExperimentQuery,
  ExperimentTrendsQuery,
} from '../../contract/insights/experiments.ts'
import type { MetricResult } from '../../contract/targeting/experiment-results.ts'
import { refuseMember } from '../../errors.ts'
import type { InsightAnswer, InsightContext, InsightKind, RunTree } from '../insight.ts'
import { seriesLabel } from '../members/series.ts'
import { getExperiment } from './experiment-definition.ts'
import { methodOf } from './method.ts'
import { type ExperimentMetric, readMetric } from './metric.ts'
import { resultOf } from './results.ts'
import { comparisonOf, figuresIn } from './statistics/comparison.ts'
import type { VariantFigures } from './statistics/variant-figures.ts'
import { type ExperimentTrial, experimentTrial } from './trees/exposure.ts'
import { metricTree } from './trees/trees.ts'

type AnyExperimentQuery = ExperimentFunnelsQuery | ExperimentQuery | ExperimentTrendsQuery

/** A computed result, before it is shaped for a kind. */
type MetricOutcome = {
  readonly metric: ExperimentMetric
  readonly trial: ExperimentTrial
  readonly figures: readonly VariantFigures[]
  readonly result: MetricResult
  readonly context: InsightContext
}

/** Answers about running experiments are cached as long as any without an end. */
const rangeOf = () => ({ interval: null, ends_at_ms: null })

export const EXPERIMENT: InsightKind<ExperimentQuery> = {
  rangeOf,
  answer: (query, context, run) =>
    answerMetric(
      { query, raw: query.metric, attr: 'query__metric' },
      context,
      run,
      ({ metric, trial, figures }) => ({
        metric: query.metric,
        ...comparisonOf(metric, trial, figures),
      }),
    ),
}

export const EXPERIMENT_FUNNELS: InsightKind<ExperimentFunnelsQuery> = {
  rangeOf,
  answer: (query, context, run) =>
    answerMetric({ query, raw: query, attr: 'query__funnels_query' }, context, run, (outcome) => ({
      funnels_query: query.funnels_query,
      insight: outcome.figures.map((one) => stepsOf(outcome, one)),
      variants: outcome.result.variants.map(({ key, success_count, failure_count }) => ({
        key,
        success_count,
        failure_count,
      })),
    })),
}

export const EXPERIMENT_TRENDS: InsightKind<ExperimentTrendsQuery> = {
  rangeOf,
  answer: (query, context, run) => {
    requireUsualExposure(query)
    const request = { query, raw: query, attr: 'query__count_query' }
    return answerMetric(request, context, run, ({ figures }) => {
      const exposed = figures[0]?.people ?? 0
      return {
        count_query: query.count_query,
        exposure_query: null,
        variants: figures.map(({ key, total, people }) => ({
          key,
          count: total,
          exposure: exposed === 0 ? 0 : people / exposed,
          absolute_exposure: people,
        })),
      }
    })
  },
}

type MetricRequest = {
  readonly query: AnyExperimentQuery
  /** The metric as sent, and the member it outcome from. */
  readonly raw: unknown
  readonly attr: string
}

async function answerMetric(
  { query, raw, attr }: MetricRequest,
  context: InsightContext,
  run: RunTree,
  membersOf: (outcome: MetricOutcome) => Readonly<Record<string, unknown>>,
): Promise<InsightAnswer> {
  const experiment = getExperiment(context.findExperiment, query.experiment_id)
  const trial = experimentTrial(experiment, context.now, 'query__experiment_id')
  const metric = readMetric(raw, attr)
  const { rows, hogql } = await run(metricTree(metric, trial, context))
  const { settings } = trial
  const figures = figuresIn(metric, trial, rows)
  const result = resultOf(metric, figures, settings)
  const { variants, significant, significance_code, expected_loss } = result
  return {
    results: variants,
    hogql,
    metadata: {
      kind: query.kind,
      ...membersOf({ metric, trial, figures, result, context }),
      probability: byKey(variants, ({ probability, p_value }) => probability ?? p_value),
      credible_intervals: byKey(
        variants,
        (one) => one.credible_interval ?? one.confidence_interval,
      ),
      significant,
      significance_code,
      expected_loss,
      stats_version: 2,
      method: methodOf(settings),
    },
  }
}

type VariantResult = MetricResult['variants'][number]

function byKey(
  variants: readonly VariantResult[],
  of: (variant: VariantResult) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(variants.map((variant) => [variant.key, of(variant)]))
}

/** Actors of a variant per step; the first step is the exposure. */
function stepsOf(
  { metric, context }: MetricOutcome,
  { key, people, by_step }: VariantFigures,
): object {
  const names = ['Experiment exposure', ...metric.series.map((one) => seriesLabel(one, context))]
  return [people, ...by_step].map((count, order) => ({
    name: names[order],
    order,
    count,
    breakdown_value: [key],
  }))
}

/** Refuses custom exposure queries, which would count other actors. */
function requireUsualExposure({ exposure_query }: ExperimentTrendsQuery): void {
  if (exposure_query === null || exposure_query === undefined) return
  const series: unknown = exposure_query['series']
  const [first]: readonly unknown[] = Array.isArray(series) ? series : []
  const event =
    typeof first === 'object' && first !== null && 'event' in first ? first.event : undefined
  if (event === '$feature_flag_called') return
  const detail = 'Only $feature_flag_called tells who was exposed.'
  throw refuseMember(detail, 'query__exposure_query')
}
