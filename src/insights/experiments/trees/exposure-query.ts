/** ExperimentExposureQuery: the exposed actors of an experiment, cumulative per day. */
import type { ExperimentExposureQuery } from '../../../contract/insights/experiments.ts'
import { Refusal } from '../../../errors.ts'
import { bucketsOf } from '../../dates/buckets.ts'
import { isoLocal } from '../../dates/date-range.ts'
import { readDate } from '../../dates/dates.ts'
import type { InsightContext, InsightKind } from '../../insight.ts'
import { rangeOfTrial } from '../days.ts'
import { getExperiment } from '../experiment-definition.ts'
import {
  dailyExposuresTree,
  type ExperimentTrial,
  experimentTrial,
  MULTIPLE,
  readCriteria,
} from './exposure.ts'

export const EXPERIMENT_EXPOSURE: InsightKind<ExperimentExposureQuery> = {
  // Answers about running experiments are cached as long as any without an end.
  rangeOf: () => ({ interval: null, ends_at_ms: null }),
  answer: async (query, context, run) => {
    const trial = readTrial(query, context)
    const { variants } = trial
    const { rows, hogql } = await run(dailyExposuresTree(trial, context))
    const range = rangeOfTrial(trial, context)
    const timeseries = timeseriesOf(
      rows,
      variants,
      bucketsOf(range).map(({ day }) => day),
    )
    return {
      results: timeseries,
      hogql,
      metadata: {
        kind: query.kind,
        timeseries,
        total_exposures: Object.fromEntries(
          timeseries.map(({ variant, exposure_counts }) => [variant, exposure_counts.at(-1) ?? 0]),
        ),
        date_range: {
          date_from: isoLocal(range.from_us, context),
          date_to: isoLocal(range.to_us, context),
        },
      },
    }
  },
}

type ExposureLine = {
  readonly variant: string
  readonly days: readonly string[]
  /** Cumulative actors at the end of each day. */
  readonly exposure_counts: readonly number[]
}

/** A line per variant, including exposed variants that are not the experiment's. */
function timeseriesOf(
  rows: readonly (readonly unknown[])[],
  variants: readonly string[],
  days: readonly string[],
): readonly ExposureLine[] {
  const by_variant = Map.groupBy(rows, ([variant]) => String(variant))
  const seen = [...by_variant.keys()].filter((key) => !variants.includes(key) && key !== MULTIPLE)
  const multiple = by_variant.has(MULTIPLE) ? [MULTIPLE] : []
  return [...variants, ...seen, ...multiple].map((variant) => {
    const daily = by_variant.get(variant) ?? []
    const by_day = new Map(daily.map(([, day, people]) => [String(day), Number(people)]))
    let sum = 0
    const exposure_counts = days.map((day) => (sum += by_day.get(day) ?? 0))
    return { variant, days, exposure_counts }
  })
}

/** The experiment of the query, with the query's overrides. */
function readTrial(query: ExperimentExposureQuery, context: InsightContext): ExperimentTrial {
  const { experiment_id, exposure_criteria, start_date, end_date } = query
  if (experiment_id === null || experiment_id === undefined) {
    throw new Refusal('required', 'experiment_id is required.', { attr: 'query__experiment_id' })
  }
  const experiment = getExperiment(context.findExperiment, experiment_id)
  const attr = 'query__exposure_criteria'
  const trial = experimentTrial(
    {
      ...experiment,
      start_date: readMoment(start_date, context, 'query__start_date') ?? experiment.start_date,
      end_date: readMoment(end_date, context, 'query__end_date') ?? experiment.end_date,
    },
    context.now,
    'query__experiment_id',
  )
  const criteria =
    exposure_criteria === null || exposure_criteria === undefined
      ? trial.criteria
      : readCriteria(exposure_criteria, attr)
  return { ...trial, criteria }
}

function readMoment(
  text: string | null | undefined,
  context: InsightContext,
  attr: string,
): Date | null {
  if (text === null || text === undefined || text === '') return null
  return new Date(Number(readDate(text, context, attr) / 1000n))
}
