/** Experiments as queries know them: plain data, to be named by id. */
import { Refusal } from '../../errors.ts'

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

/** The experiment that a query names. Refuses ids of which there are none. */
export function getKnown(known: readonly ExperimentDefinition[], id: number): ExperimentDefinition {
  const experiment = known.find((one) => one.id === id)
  if (experiment !== undefined) return experiment
  const detail = `There is no experiment with ID ${id}.`
  throw new Refusal('invalid_input', detail, { attr: 'query__experiment_id' })
}
