/** Holdouts: persons excluded from experiments, the same persons for each experiment that uses the holdout. */

import { and, desc, eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { recordEdit, recordRemoval, type TargetingEditor } from '../shared/editor.ts'
import { experiment_holdouts, experiments } from '../tables.ts'

export type ExperimentHoldout = typeof experiment_holdouts.$inferSelect

type HoldoutChanges = {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  /** One set: `[{properties: [], rollout_percentage}]`, the percentage of persons held out. */
  readonly filters?: readonly unknown[] | undefined
}

/** Creates a holdout. Refuses filters other than one set with a percentage. */
export function createHoldout(
  editor: TargetingEditor,
  input: HoldoutChanges & { readonly name: string; readonly filters: readonly unknown[] },
  now: Date,
): ExperimentHoldout {
  const { control, project, user_id } = editor
  requireValid(input.filters)
  return control.transaction(() => {
    const bare = control
      .insert(experiment_holdouts)
      .values({
        project_id: project.id,
        name: input.name,
        description: input.description ?? null,
        filters: [],
        created_by: user_id,
        created_at: now,
        updated_at: now,
      })
      .returning()
      .get()
    const holdout = write(control, bare, { ...bare, filters: withVariant(bare.id, input.filters) })
    recordEdit(control, editor, editOf(null, holdout), now)
    return holdout
  })
}

/** Changes a holdout. The caller must update the flags of its experiments: `listFlagsWithHoldout`. */
export function updateHoldout(
  editor: TargetingEditor,
  before: ExperimentHoldout,
  changes: HoldoutChanges,
  now: Date,
): ExperimentHoldout {
  if (changes.filters !== undefined) requireValid(changes.filters)
  const { control } = editor
  return control.transaction(() => {
    const holdout = write(control, before, {
      ...before,
      name: changes.name ?? before.name,
      description: changes.description === undefined ? before.description : changes.description,
      filters:
        changes.filters === undefined ? before.filters : withVariant(before.id, changes.filters),
      updated_at: now,
    })
    recordEdit(control, editor, editOf(before, holdout), now)
    return holdout
  })
}

/** Deletes a holdout; its experiments have none then. */
export function removeHoldout(
  editor: TargetingEditor,
  holdout: ExperimentHoldout,
  now: Date,
): void {
  editor.control.transaction((tx) => {
    tx.delete(experiment_holdouts).where(eq(experiment_holdouts.id, holdout.id)).run()
    recordRemoval(tx, editor, { scope: 'Holdout', item_id: holdout.id, name: holdout.name }, now)
  })
}

/** Lists the flags of the experiments that use a holdout. */
export function listFlagsWithHoldout(db: ControlDB, holdout_id: number): readonly number[] {
  const its = and(eq(experiments.holdout_id, holdout_id), eq(experiments.deleted, false))
  return db
    .select()
    .from(experiments)
    .where(its)
    .all()
    .map((row) => row.feature_flag_id)
}

/** Returns the project's holdout with this id. Refuses when there is none. */
export function getHoldout(db: ControlDB, project_id: number, id: number): ExperimentHoldout {
  const holdout = findHoldout(db, project_id, id)
  if (holdout === null) throw new Refusal('not_found', 'Not found.')
  return holdout
}

/** Returns the project's holdout with this id; null when there is none, and for null. */
export function findHoldout(
  db: ControlDB,
  project_id: number,
  id: number | null,
): ExperimentHoldout | null {
  if (id === null) return null
  const its = and(eq(experiment_holdouts.project_id, project_id), eq(experiment_holdouts.id, id))
  return db.select().from(experiment_holdouts).where(its).get() ?? null
}

/** Lists the ids of a project's holdouts, newest first. */
export function listHoldoutIds(db: ControlDB, project_id: number): readonly number[] {
  const { id } = experiment_holdouts
  const its = eq(experiment_holdouts.project_id, project_id)
  const rows = db.select({ id }).from(experiment_holdouts).where(its).orderBy(desc(id)).all()
  return rows.map((row) => row.id)
}

function write(
  db: ControlDB,
  before: ExperimentHoldout,
  after: ExperimentHoldout,
): ExperimentHoldout {
  return db
    .update(experiment_holdouts)
    .set(after)
    .where(eq(experiment_holdouts.id, before.id))
    .returning()
    .get()
}

/** Adds the variant that persons of the holdout get. */
function withVariant(id: number, filters: readonly unknown[]): Json {
  return filters.map((set) => ({ ...(set as object), variant: `holdout-${id}` })) as Json
}

function requireValid(filters: readonly unknown[]): void {
  const [set] = filters
  const percentage = isObject(set) ? set['rollout_percentage'] : null
  const is_share = typeof percentage === 'number' && percentage >= 0 && percentage <= 100
  if (filters.length === 1 && is_share) return
  const detail = 'Filters must be one set with a rollout_percentage from 0 to 100.'
  throw new Refusal('invalid_input', detail, { attr: 'filters' })
}

function editOf(before: ExperimentHoldout | null, after: ExperimentHoldout) {
  return { scope: 'Holdout', item_id: after.id, name: after.name, before, after } as const
}
