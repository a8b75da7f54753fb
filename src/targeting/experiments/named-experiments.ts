/** Experiments as questions may name them: which flag, which variants, from when to when, and who counts as exposed. */
import { isRecord } from '../../flags/value.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { type Flag, listFlagsById } from '../flags/flag.ts'
import { type Experiment, listExperiments } from './experiment.ts'
import { comparedKeys } from './experiment-flag.ts'

/** An experiment as questions know it: plain data. */
export type ExperimentById = {
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
  /** Only people count whose time to do something is over. */
  readonly only_count_matured_users: boolean
  readonly start_date: Date | null
  readonly end_date: Date | null
}

/** A project's experiments that are not deleted, newest first. */
export function listNamedExperiments(db: ControlDB, project_id: number): readonly ExperimentById[] {
  const flags = listFlagsById(db, project_id)
  return listExperiments(db, project_id).flatMap((experiment) => {
    const flag = flags.get(experiment.feature_flag_id)
    return flag === undefined ? [] : nameExperiment(experiment, flag)
  })
}

/** An experiment with what its flag says of it. */
export function nameExperiment(experiment: Experiment, flag: Flag): ExperimentById {
  const { id, start_date, end_date, holdout_id, exposure_criteria, stats_config } = experiment
  const index = isRecord(flag.filters) ? flag.filters['aggregation_group_type_index'] : null
  return {
    id,
    flag_key: flag.key,
    variants: comparedKeys(experiment, flag),
    holdout_id,
    group_type_index: typeof index === 'number' ? index : null,
    exposure_criteria,
    stats_config,
    only_count_matured_users: experiment.only_count_matured_users,
    start_date,
    end_date,
  }
}
