/** Links of a project's flags: experiments, surveys, early access features. */
import { and, eq } from 'drizzle-orm'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { early_access_features, experiments, surveys } from '../tables.ts'

export type FlagLinks = {
  readonly experiment_set: readonly number[]
  readonly surveys: readonly { readonly id: string; readonly name: string }[]
  readonly features: readonly {
    readonly id: string
    readonly name: string
    readonly stage: string
  }[]
  /** A survey created it to choose its audience; lists of flags exclude it. */
  readonly is_of_survey: boolean
}

const NO_LINKS: FlagLinks = { experiment_set: [], surveys: [], features: [], is_of_survey: false }

/** Reads a project's links once, from narrow columns, and returns a lookup by flag. */
export function readLinks(db: ControlDB, project_id: number): (flag_id: number) => FlagLinks {
  const by_flag = new Map<number, FlagLinks>()
  const add = (flag_id: number | null, change: (links: FlagLinks) => FlagLinks): void => {
    if (flag_id !== null) by_flag.set(flag_id, change(by_flag.get(flag_id) ?? NO_LINKS))
  }
  for (const row of experimentsOf(db, project_id)) {
    add(row.feature_flag_id, (links) => ({
      ...links,
      experiment_set: [...links.experiment_set, row.id],
    }))
  }
  for (const row of surveysOf(db, project_id)) {
    const { id, name } = row
    add(row.linked_flag_id, (links) => ({ ...links, surveys: [...links.surveys, { id, name }] }))
    for (const flag_id of [row.targeting_flag_id, row.internal_targeting_flag_id]) {
      add(flag_id, (links) => ({ ...links, is_of_survey: true }))
    }
  }
  for (const row of featuresOf(db, project_id)) {
    const { id, name, stage } = row
    add(row.feature_flag_id, (links) => ({
      ...links,
      features: [...links.features, { id, name, stage }],
    }))
  }
  return (flag_id) => by_flag.get(flag_id) ?? NO_LINKS
}

function experimentsOf(db: ControlDB, project_id: number) {
  const present = and(eq(experiments.project_id, project_id), eq(experiments.deleted, false))
  const { id, feature_flag_id } = experiments
  return db.select({ id, feature_flag_id }).from(experiments).where(present).all()
}

function surveysOf(db: ControlDB, project_id: number) {
  const { id, name, linked_flag_id, targeting_flag_id, internal_targeting_flag_id } = surveys
  return db
    .select({ id, name, linked_flag_id, targeting_flag_id, internal_targeting_flag_id })
    .from(surveys)
    .where(eq(surveys.project_id, project_id))
    .all()
}

function featuresOf(db: ControlDB, project_id: number) {
  const { id, name, stage, feature_flag_id } = early_access_features
  return db
    .select({ id, name, stage, feature_flag_id })
    .from(early_access_features)
    .where(eq(early_access_features.project_id, project_id))
    .all()
}
