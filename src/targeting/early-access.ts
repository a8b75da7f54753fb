/** Early access features, which persons enroll in themselves; each through its own flag. */

import { and, asc, eq } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import { enrollmentKey } from '../flags/plan.ts'
import { isObject } from '../json.ts'
import type { Json } from '../projects/tables.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { createFlag, type Flag, getFlag, updateFlag } from './flags/flag.ts'
import { recordEdit, recordRemoval, type TargetingEditor } from './shared/editor.ts'
import { keyFromName } from './shared/unique-key.ts'
import { early_access_features } from './tables.ts'

export type EarlyAccessFeature = typeof early_access_features.$inferSelect

const STAGES = ['draft', 'concept', 'alpha', 'beta', 'general-availability', 'archived'] as const

export type Stage = (typeof STAGES)[number]

type EarlyAccessChanges = {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly stage?: Stage | undefined
  readonly documentation_url?: string | undefined
  /** Sent to pages with the feature. */
  readonly payload?: unknown
}

type FeatureUpdate = EarlyAccessChanges & {
  /** Whether all persons get a feature that becomes generally available, whether they enrolled or not. */
  readonly rollout_to_all?: boolean | null | undefined
}

/** Stages in which enrolled persons have the feature. */
const OPEN_STAGES: ReadonlySet<string> = new Set(['alpha', 'beta', 'general-availability'])

/** Creates a feature on a flag of the project, or on a new one. Refuses flags that cannot carry it. */
export function createFeature(
  editor: TargetingEditor,
  input: EarlyAccessChanges & {
    readonly name: string
    readonly stage: Stage
    readonly feature_flag_id?: number | null
  },
  now: Date,
): EarlyAccessFeature {
  const { control, project } = editor
  return control.transaction(() => {
    const flag =
      typeof input.feature_flag_id === 'number'
        ? getCarrier(control, project.id, input.feature_flag_id)
        : createFlag(editor, newCarrier(input.name), now)
    openFlag(editor, flag, { stage: input.stage, is_for_all: false }, now)
    const feature = control
      .insert(early_access_features)
      .values({
        id: Bun.randomUUIDv7(),
        project_id: project.id,
        feature_flag_id: flag.id,
        name: input.name,
        description: input.description ?? '',
        stage: input.stage,
        documentation_url: input.documentation_url ?? '',
        payload: (input.payload ?? null) as Json,
        created_at: now,
      })
      .returning()
      .get()
    recordEdit(control, editor, editOf(null, feature), now)
    return feature
  })
}

/** Changes a feature; its flag opens and closes with the stage. */
export function updateFeature(
  editor: TargetingEditor,
  before: EarlyAccessFeature,
  { rollout_to_all, ...changes }: FeatureUpdate,
  now: Date,
): EarlyAccessFeature {
  const { control, project } = editor
  const { stage } = changes
  const defined = Object.entries(changes).filter(([, value]) => value !== undefined)
  return control.transaction(() => {
    if (stage !== undefined && before.feature_flag_id !== null) {
      const is_for_all = rollout_to_all === true && stage === 'general-availability'
      // Forms send the stage with every change: a feature that all persons got stays theirs.
      const is_open = OPEN_STAGES.has(stage)
      if (is_for_all || !is_open || !OPEN_STAGES.has(before.stage)) {
        const flag = getFlag(control, project.id, before.feature_flag_id)
        openFlag(editor, flag, { stage, is_for_all }, now)
      }
    }
    const feature = control
      .update(early_access_features)
      .set({ ...before, ...Object.fromEntries(defined) })
      .where(eq(early_access_features.id, before.id))
      .returning()
      .get()
    recordEdit(control, editor, editOf(before, feature), now)
    return feature
  })
}

/** Deletes a feature. Its flag remains, without the enrollment condition. */
export function removeFeature(
  editor: TargetingEditor,
  feature: EarlyAccessFeature,
  now: Date,
): void {
  const { control, project } = editor
  control.transaction(() => {
    control.delete(early_access_features).where(eq(early_access_features.id, feature.id)).run()
    if (feature.feature_flag_id !== null) {
      const flag = getFlag(control, project.id, feature.feature_flag_id)
      openFlag(editor, flag, { stage: 'archived', is_for_all: false }, now)
    }
    const removal = {
      scope: 'EarlyAccessFeature',
      item_id: feature.id,
      name: feature.name,
    } as const
    recordRemoval(control, editor, removal, now)
  })
}

/** Returns the project's feature with this id. Refuses when there is none. */
export function getFeature(db: ControlDB, project_id: number, id: string): EarlyAccessFeature {
  const feature = findFeature(db, project_id, id)
  if (feature === undefined) throw new Refusal('not_found', 'Not found.')
  return feature
}

/** Returns the project's feature with this id, undefined if there is none. */
export function findFeature(
  db: ControlDB,
  project_id: number,
  id: string,
): EarlyAccessFeature | undefined {
  const its = and(
    eq(early_access_features.project_id, project_id),
    eq(early_access_features.id, id),
  )
  return db.select().from(early_access_features).where(its).get()
}

/** The members by which lists of features are filtered. */
type FeatureHead = Pick<EarlyAccessFeature, 'id' | 'stage'>

/** Lists a project's features without their long members, oldest first. */
export function listFeatureHeads(db: ControlDB, project_id: number): readonly FeatureHead[] {
  const its = eq(early_access_features.project_id, project_id)
  const { created_at, id, stage } = early_access_features
  return db
    .select({ id, stage })
    .from(early_access_features)
    .where(its)
    .orderBy(asc(created_at), asc(id))
    .all()
}

/**
 * Returns the flag with this id for a new feature. Refuses a deleted flag, one of groups, one with variants, and one
 * of another feature.
 */
function getCarrier(db: ControlDB, project_id: number, id: number): Flag {
  const flag = getFlag(db, project_id, id)
  if (flag.deleted) throw invalidFlag('The feature flag has been deleted.')
  const filters = isObject(flag.filters) ? flag.filters : {}
  if ((filters['aggregation_group_type_index'] ?? null) !== null) {
    throw invalidFlag('Group-based feature flags are not supported for Early Access Features.')
  }
  const { multivariate } = filters as { multivariate?: { variants?: unknown[] } | null }
  if ((multivariate?.variants?.length ?? 0) > 0) {
    throw invalidFlag('Multivariate feature flags are not supported for Early Access Features.')
  }
  const its = eq(early_access_features.feature_flag_id, id)
  if (db.select().from(early_access_features).where(its).get() !== undefined) {
    throw invalidFlag('Linked feature flag already has a feature attached to it.')
  }
  return flag
}

/** The flag of a new feature. Its key is the feature's name, so that a second feature of a name is refused. */
function newCarrier(name: string) {
  return {
    key: keyFromName(name, 'feature'),
    name: `Feature flag for the early access feature ${name}`,
    filters: {
      groups: [{ properties: [], rollout_percentage: 0 }],
      payloads: {},
      multivariate: null,
    },
    creation_context: 'early_access_features',
  }
}

/**
 * While the feature is open, enrollment decides before all other conditions: enrolled persons have the flag,
 * those who opted out do not.
 */
function openFlag(
  editor: TargetingEditor,
  flag: Flag,
  { stage, is_for_all }: { readonly stage: string; readonly is_for_all: boolean },
  now: Date,
): void {
  const filters = isObject(flag.filters) ? flag.filters : {}
  const enrollment = {
    properties: [
      { key: enrollmentKey(flag.key), type: 'person', operator: 'exact', value: ['true'] },
    ],
    rollout_percentage: 100,
  }
  const super_groups = OPEN_STAGES.has(stage) && !is_for_all ? [enrollment] : null
  // The newer form of the same condition: it would stay when the feature closes.
  const { feature_enrollment: _newer, ...others } = filters
  const groups = is_for_all ? [{ properties: [], rollout_percentage: 100 }] : filters['groups']
  const new_filters = { ...others, groups, super_groups }
  if (Bun.deepEquals({ super_groups: null, ...filters }, new_filters)) return
  updateFlag(editor, flag, { filters: new_filters }, now)
}

function invalidFlag(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'feature_flag_id' })
}

function editOf(before: EarlyAccessFeature | null, after: EarlyAccessFeature) {
  const { id, name } = after
  return { scope: 'EarlyAccessFeature', item_id: id, name, before, after } as const
}
