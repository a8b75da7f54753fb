/** Figures of one variant, from the rows of a metric's query. */
import type { ExperimentMetric } from '../metric.ts'
import {
  type Covariate,
  type FigureSums,
  type MetricSums,
  meanSample,
  ratioSample,
  shareSample,
} from './samples.ts'

/** Converted actors, or sums over actors. */
export type VariantFigures = FigureSums & {
  readonly key: string
  /** Figures of the lookback; null without one. */
  readonly covariate: Covariate | null
  /** Actors by furthest step of a funnel, from its first step on. */
  readonly by_step: readonly number[]
}

/** Minimum actors of a variant for a comparison. */
export const PEOPLE_MIN = 50

/** Columns after the variant: figure, second figure, the same before, then actors by step. */
const OWN_COLUMNS = 6
const COVARIATE_COLUMNS = 3

/** The figures of all variants, including those without exposures. */
export function figuresOf(
  rows: readonly (readonly unknown[])[],
  variants: readonly string[],
  { has_covariate }: { readonly has_covariate: boolean },
): readonly VariantFigures[] {
  const figures_by_key = new Map(
    rows.map(([key, ...figures]) => [String(key), figures.map(Number)]),
  )
  return variants.map((key) => {
    const figures = figures_by_key.get(key) ?? []
    const [people = 0, total = 0, sum_of_squares = 0] = figures
    const [denominator_total = 0, denominator_sum_of_squares = 0, product_total = 0] =
      figures.slice(OWN_COLUMNS - COVARIATE_COLUMNS)
    return {
      key,
      people,
      total,
      sum_of_squares,
      denominator_total,
      denominator_sum_of_squares,
      product_total,
      covariate: has_covariate ? covariateOf(figures.slice(OWN_COLUMNS)) : null,
      by_step: figures.slice(OWN_COLUMNS + COVARIATE_COLUMNS),
    }
  })
}

function covariateOf([
  total = 0,
  sum_of_squares = 0,
  product_total = 0,
]: readonly number[]): Covariate {
  return { total, sum_of_squares, product_total }
}

/** Whether a model's figure is a share of actors. */
export function isShare(model: ExperimentMetric['model']): boolean {
  return model === 'funnel' || model === 'retention'
}

/** The sample of a metric in one variant; null without actors. */
export function sampleOf(
  model: ExperimentMetric['model'],
  figures: VariantFigures,
): MetricSums | null {
  const { people, total, sum_of_squares } = figures
  switch (model) {
    case 'funnel':
    case 'retention':
      return shareSample(total, people)
    case 'count':
    case 'mean':
    case 'sum':
      return meanSample(total, sum_of_squares, people)
    case 'ratio':
      return ratioSample(figures)
  }
}
