/** Experiments as queries know them: plain data, to be named by id. */
import { Refusal } from '../../errors.ts'
import { actorColumn, type ExperimentTrial, readCriteria } from './exposure.ts'
import { readSettings } from './settings.ts'

/** What a query needs of an experiment. */
export type ExperimentDefinition = {
  readonly id: number
  readonly flag_key: string
  /** The variants that are compared, the control first. */
  readonly variants: readonly string[]
  readonly holdout_id: number | null
  /** The type of the groups that the flag decides for; null for persons. */
  readonly group_type_index: number | null
  /** As it is kept; null for the usual. */
  readonly exposure_criteria: unknown
  /** As it is kept; null for the usual. */
  readonly stats_config: unknown
  readonly only_count_matured_users: boolean
  readonly start_date: Date | null
  readonly end_date: Date | null
}

/** When the experiment runs, as far as it has run. Refuses one that has not begun, naming `attr`. */
export function experimentTrial(
  experiment: ExperimentDefinition,
  now: Date,
  attr: string,
): ExperimentTrial {
  const { flag_key, variants, holdout_id, start_date, end_date } = experiment
  const settings = readSettings(experiment.stats_config, 'stats_config')
  if (start_date === null) {
    throw new Refusal('invalid_input', 'The experiment has not started.', { attr })
  }
  return {
    flag_key,
    variants: baselineFirst(variants, settings.baseline),
    from: start_date,
    to: end_date ?? now,
    shown: holdout_id === null ? variants : [...variants, `holdout-${holdout_id}`],
    actor: actorColumn(experiment.group_type_index),
    criteria: readCriteria(experiment.exposure_criteria, 'exposure_criteria'),
    settings,
    only_matured: experiment.only_count_matured_users,
  }
}

function baselineFirst(variants: readonly string[], baseline: string | null): readonly string[] {
  if (baseline === null || !variants.includes(baseline)) return variants
  return [baseline, ...variants.filter((key) => key !== baseline)]
}

/** The experiment that a query names. Refuses ids of which there are none. */
export function getKnown(known: readonly ExperimentDefinition[], id: number): ExperimentDefinition {
  const experiment = known.find((one) => one.id === id)
  if (experiment !== undefined) return experiment
  const detail = `There is no experiment with ID ${id}.`
  throw new Refusal('invalid_input', detail, { attr: 'query__experiment_id' })
}
