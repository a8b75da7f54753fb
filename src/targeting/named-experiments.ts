/** Experiments as questions may name them: which flag, which variants, from when to when. */
import type { ControlDB } from '../storage/control.ts'
import { listExperiments, variantKeys } from './experiment.ts'
import { listFlagsById } from './flag.ts'

/** An experiment as questions know it: plain data. */
export type NamedExperiment = {
  readonly id: number
  readonly flag_key: string
  /** The variants that are compared, the control first. */
  readonly variants: readonly string[]
  readonly start_date: Date | null
  readonly end_date: Date | null
}

/** A project's experiments that are not deleted, newest first. */
export function listNamedExperiments(
  db: ControlDB,
  project_id: number,
): readonly NamedExperiment[] {
  const flags = listFlagsById(db, project_id)
  return listExperiments(db, project_id).flatMap((experiment) => {
    const { id, start_date, end_date, feature_flag_id } = experiment
    const flag = flags.get(feature_flag_id)
    if (flag === undefined) return []
    return { id, start_date, end_date, flag_key: flag.key, variants: variantKeys(flag) }
  })
}
