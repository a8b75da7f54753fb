/** One metric's variants compared with the baseline, in the shape that current clients read. */

import type { ExperimentMetric } from '../metric.ts'
import { type ResultVerdict, verdictOf } from '../results.ts'
import type { ExperimentTrial } from '../trees/exposure.ts'
import { hasLookback } from '../trees/trees.ts'
import { figuresOf, type VariantFigures } from './variant-figures.ts'

/** The figures of all variants, from the rows of a metric's query. */
export function figuresIn(
  metric: ExperimentMetric,
  { variants, settings }: ExperimentTrial,
  rows: readonly (readonly unknown[])[],
): readonly VariantFigures[] {
  const has_covariate = hasLookback(metric, settings)
  return figuresOf(rows, variants, { has_covariate }).map((figures) => ({
    ...figures,
    // A variant without exposures has no row.
    by_step: metric.series.map((_step, index) => figures.by_step[index] ?? 0),
  }))
}

/** The baseline, and the other variants compared with it. */
export function comparisonOf(
  { model }: ExperimentMetric,
  { settings }: ExperimentTrial,
  figures: readonly VariantFigures[],
): { readonly baseline: object | null; readonly variant_results: readonly object[] } {
  const verdicts = figures.map((_one, index) => verdictOf(model, figures, index, settings))
  const [baseline = null, ...others] = figures.map((one, index) => ({
    ...statsOf(model, one),
    validation_failures: verdicts[index]?.failures ?? [],
  }))
  return {
    baseline,
    variant_results: others.map((stats, index) => ({
      ...stats,
      method: settings.method,
      ...significanceOf(verdicts[index + 1], settings.method),
    })),
  }
}

/** Sums over a variant's actors; for a share, the actors who converted. */
function statsOf(model: ExperimentMetric['model'], figures: VariantFigures): object {
  const { covariate } = figures
  return {
    key: figures.key,
    number_of_samples: figures.people,
    sum: figures.total,
    sum_squares: figures.sum_of_squares,
    ...(model === 'ratio'
      ? {
          denominator_sum: figures.denominator_total,
          denominator_sum_squares: figures.denominator_sum_of_squares,
          numerator_denominator_sum_product: figures.product_total,
        }
      : {}),
    ...(model === 'funnel' ? { step_counts: figures.by_step } : {}),
    ...(covariate === null
      ? {}
      : {
          covariate_sum: covariate.total,
          covariate_sum_squares: covariate.sum_of_squares,
          covariate_sum_product: covariate.product_total,
        }),
  }
}

/** The significance of a variant's difference, and its interval. */
function significanceOf(
  verdict: ResultVerdict | undefined,
  method: 'bayesian' | 'frequentist',
): object {
  const judgement = verdict?.judgement ?? null
  const interval = judgement?.interval ?? null
  const significant = judgement?.significant ?? null
  return method === 'bayesian'
    ? { chance_to_win: judgement?.chance_to_win ?? null, credible_interval: interval, significant }
    : { p_value: judgement?.p_value ?? null, confidence_interval: interval, significant }
}
