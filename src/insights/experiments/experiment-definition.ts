/** Experiment definitions as queries receive them: plain data, looked up by id. */
import { refuseMember } from '../../errors.ts'

/** The members of an experiment that queries use. */
export type ExperimentDefinition = {
  readonly id: number
  readonly flag_key: string
  /** The compared variants, the control first. */
  readonly variants: readonly string[]
  readonly holdout_id: number | null
  /** The type of the flag's groups; null for persons. */
  readonly group_type_index: number | null
  /** As stored; null for the defaults. */
  readonly exposure_criteria: unknown
  /** As stored; null for the defaults. */
  readonly stats_config: unknown
  readonly only_count_matured_users: boolean
  readonly start_date: Date | null
  readonly end_date: Date | null
}

/** The experiment with that id. Refuses unknown ids. */
export function getExperiment(
  find: (id: number) => ExperimentDefinition | null,
  id: number,
): ExperimentDefinition {
  const experiment = find(id)
  if (experiment !== null) return experiment
  const detail = `There is no experiment with ID ${id}.`
  throw refuseMember(detail, 'query__experiment_id')
}
