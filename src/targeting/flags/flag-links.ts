/** Links of a project's flags: experiments, surveys, early access features. */
import { and, asc, eq, gt } from 'drizzle-orm'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { readPages } from '../../threads/sliced-json.ts'
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

/** The links of a flag while they are collected: added to, since copies would cost the square of their number. */
type CollectedLinks = {
  experiment_set: number[]
  surveys: FlagLinks['surveys'][number][]
  features: FlagLinks['features'][number][]
  is_of_survey: boolean
}

/** Rows of narrow columns per read. */
const PAGE_ROWS = 500

/** Reads a project's links once, from narrow columns in slices of the event loop, and returns a lookup by flag. */
export async function readLinks(
  db: ControlDB,
  project_id: number,
): Promise<(flag_id: number) => FlagLinks> {
  const by_flag = new Map<number, CollectedLinks>()
  const linksOf = (flag_id: number): CollectedLinks => {
    const stored = by_flag.get(flag_id)
    if (stored !== undefined) return stored
    const links = { experiment_set: [], surveys: [], features: [], is_of_survey: false }
    by_flag.set(flag_id, links)
    return links
  }
  for (const { id, feature_flag_id } of await readExperimentLinks(db, project_id)) {
    linksOf(feature_flag_id).experiment_set.push(id)
  }
  for (const row of await readSurveyLinks(db, project_id)) {
    const { id, name, linked_flag_id } = row
    if (linked_flag_id !== null) linksOf(linked_flag_id).surveys.push({ id, name })
    for (const flag_id of [row.targeting_flag_id, row.internal_targeting_flag_id]) {
      if (flag_id !== null) linksOf(flag_id).is_of_survey = true
    }
  }
  for (const { id, name, stage, feature_flag_id } of await readFeatureLinks(db, project_id)) {
    if (feature_flag_id !== null) linksOf(feature_flag_id).features.push({ id, name, stage })
  }
  return (flag_id) => by_flag.get(flag_id) ?? NO_LINKS
}

type LinkedExperiment = Pick<typeof experiments.$inferSelect, 'feature_flag_id' | 'id'>

function readExperimentLinks(db: ControlDB, project_id: number) {
  const present = and(eq(experiments.project_id, project_id), eq(experiments.deleted, false))
  const { id, feature_flag_id } = experiments
  return readPages<LinkedExperiment>(
    (last) =>
      db
        .select({ id, feature_flag_id })
        .from(experiments)
        .where(and(present, gt(id, last?.id ?? 0)))
        .orderBy(asc(id))
        .limit(PAGE_ROWS)
        .all(),
    PAGE_ROWS,
  )
}

type LinkedSurvey = Pick<
  typeof surveys.$inferSelect,
  'id' | 'internal_targeting_flag_id' | 'linked_flag_id' | 'name' | 'targeting_flag_id'
>

/** In the order of their names, which are unique in a project and indexed. */
function readSurveyLinks(db: ControlDB, project_id: number) {
  const { id, name, linked_flag_id, targeting_flag_id, internal_targeting_flag_id } = surveys
  return readPages<LinkedSurvey>(
    (last) =>
      db
        .select({ id, name, linked_flag_id, targeting_flag_id, internal_targeting_flag_id })
        .from(surveys)
        .where(
          and(eq(surveys.project_id, project_id), last === null ? undefined : gt(name, last.name)),
        )
        .orderBy(asc(name))
        .limit(PAGE_ROWS)
        .all(),
    PAGE_ROWS,
  )
}

type LinkedFeature = Pick<
  typeof early_access_features.$inferSelect,
  'feature_flag_id' | 'id' | 'name' | 'stage'
>

function readFeatureLinks(db: ControlDB, project_id: number) {
  const { id, name, stage, feature_flag_id } = early_access_features
  return readPages<LinkedFeature>(
    (last) =>
      db
        .select({ id, name, stage, feature_flag_id })
        .from(early_access_features)
        .where(and(eq(early_access_features.project_id, project_id), gt(id, last?.id ?? '')))
        .orderBy(asc(id))
        .limit(PAGE_ROWS)
        .all(),
    PAGE_ROWS,
  )
}
