/** Experiments as queries use them: flag, variants, time range, exposure criteria. */

import { and, eq } from 'drizzle-orm'
import { isObject } from '../../json.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { type Flag, findFlag } from '../flags/flag.ts'
import { experiments } from '../tables.ts'
import type { Experiment } from './experiment.ts'
import { comparedKeys } from './experiment-flag.ts'

/** An experiment as plain data. */
type ExperimentById = {
  readonly id: number
  readonly flag_key: string
  /** The compared variants, control first. */
  readonly variants: readonly string[]
  readonly holdout_id: number | null
  /** The group type that the flag decides for; null for persons. */
  readonly group_type_index: number | null
  /** As stored; null for the default. */
  readonly exposure_criteria: unknown
  /** As stored; null for the default. */
  readonly stats_config: unknown
  /** Counts only persons whose conversion window is over. */
  readonly only_count_matured_users: boolean
  readonly start_date: Date | null
  readonly end_date: Date | null
}

/** Returns the project's experiment with this id, unless it or its flag is deleted; else null. */
export function findExperimentById(
  db: ControlDB,
  project_id: number,
  id: number,
): ExperimentById | null {
  const its = and(
    eq(experiments.project_id, project_id),
    eq(experiments.id, id),
    eq(experiments.deleted, false),
  )
  const experiment = db.select().from(experiments).where(its).get()
  const flag =
    experiment === undefined ? null : findFlag(db, project_id, experiment.feature_flag_id)
  return experiment === undefined || flag === null ? null : nameExperiment(experiment, flag)
}

/** Joins an experiment with its flag. */
export function nameExperiment(experiment: Experiment, flag: Flag): ExperimentById {
  const { id, start_date, end_date, holdout_id, exposure_criteria, stats_config } = experiment
  const index = isObject(flag.filters) ? flag.filters['aggregation_group_type_index'] : null
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
