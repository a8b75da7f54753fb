/** The answer to the query of an experiment's metric. */
import type { MetricResult } from '../../../contract/targeting/experiment-results.ts'

/** One variant compared with the baseline. */
export type ComparedVariant = {
  readonly key: string
  readonly validation_failures: readonly string[]
  readonly significant: boolean | null
  readonly chance_to_win?: number | null
  readonly p_value?: number | null
  readonly credible_interval?: readonly [low: number, high: number] | null
  readonly confidence_interval?: readonly [low: number, high: number] | null
}

/** The figures of all variants, and the comparisons. */
export type MetricAnswer = {
  readonly results: MetricResult['variants']
  readonly baseline: {
    readonly key: string
    readonly validation_failures: readonly string[]
  } | null
  readonly variant_results: readonly ComparedVariant[]
  readonly method: {
    readonly name: 'bayesian' | 'frequentist'
    readonly test: string | null
    readonly credible_level?: number
    readonly confidence_level?: number
    readonly difference: 'absolute' | 'relative'
    readonly variant_exposures_min: number
  }
  readonly hogql?: string | null
  readonly last_refresh?: string | null
}
