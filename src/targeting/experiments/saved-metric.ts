/** Saved metrics, which several experiments of a project share. */

import { and, desc, eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { recordEdit, recordRemoval, type TargetingEditor } from '../shared/editor.ts'
import { experiment_metric_links, experiment_saved_metrics } from '../tables.ts'

export type SavedMetric = typeof experiment_saved_metrics.$inferSelect

/** Members that an edit can set; undefined ones stay. The caller has validated the query. */
type SavedMetricChanges = {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly query?: object | undefined
  readonly tags?: readonly string[] | undefined
}

/** Creates a metric with a new uuid. Refuses a taken name. */
export function createSavedMetric(
  editor: TargetingEditor,
  input: SavedMetricChanges & { readonly name: string; readonly query: object },
  now: Date,
): SavedMetric {
  const { control, project, user_id } = editor
  requireFreeName(control, project.id, input.name, null)
  return control.transaction((tx) => {
    const metric = tx
      .insert(experiment_saved_metrics)
      .values({
        project_id: project.id,
        name: input.name,
        description: input.description ?? null,
        query: withUuid(input.query, crypto.randomUUID()),
        tags: [...(input.tags ?? [])],
        created_by: user_id,
        created_at: now,
        updated_at: now,
      })
      .returning()
      .get()
    recordEdit(tx, editor, editOf(null, metric), now)
    return metric
  })
}

/** Changes a metric, for all experiments that link to it. Its uuid stays. Refuses a taken name. */
export function updateSavedMetric(
  editor: TargetingEditor,
  before: SavedMetric,
  changes: SavedMetricChanges,
  now: Date,
): SavedMetric {
  const { control, project } = editor
  const name = changes.name ?? before.name
  requireFreeName(control, project.id, name, before.id)
  const query = changes.query === undefined ? before.query : keepUuid(before, changes.query)
  return control.transaction((tx) => {
    const metric = tx
      .update(experiment_saved_metrics)
      .set({
        name,
        description: changes.description === undefined ? before.description : changes.description,
        query,
        tags: changes.tags === undefined ? before.tags : [...changes.tags],
        updated_at: now,
      })
      .where(eq(experiment_saved_metrics.id, before.id))
      .returning()
      .get()
    recordEdit(tx, editor, editOf(before, metric), now)
    return metric
  })
}

/** Deletes a metric and the links to it. */
export function removeSavedMetric(
  editor: TargetingEditor,
  { id, name }: SavedMetric,
  now: Date,
): void {
  editor.control.transaction((tx) => {
    tx.delete(experiment_metric_links).where(eq(experiment_metric_links.saved_metric_id, id)).run()
    tx.delete(experiment_saved_metrics).where(eq(experiment_saved_metrics.id, id)).run()
    recordRemoval(tx, editor, { scope: 'ExperimentSavedMetric', item_id: id, name }, now)
  })
}

/** Returns the project's metric with this id. Refuses when there is none. */
export function getSavedMetric(db: ControlDB, project_id: number, id: number): SavedMetric {
  const its = and(
    eq(experiment_saved_metrics.project_id, project_id),
    eq(experiment_saved_metrics.id, id),
  )
  const metric = db.select().from(experiment_saved_metrics).where(its).get()
  if (metric === undefined) throw new Refusal('not_found', 'Not found.')
  return metric
}

/** Lists the ids of a project's metrics, newest first. */
export function listSavedMetricIds(db: ControlDB, project_id: number): readonly number[] {
  const { id } = experiment_saved_metrics
  const its = eq(experiment_saved_metrics.project_id, project_id)
  const rows = db.select({ id }).from(experiment_saved_metrics).where(its).orderBy(desc(id)).all()
  return rows.map((row) => row.id)
}

/** Returns the uuid of a metric's query; null without one. */
export function uuidOf(query: unknown): string | null {
  const uuid = isObject(query) ? query['uuid'] : null
  return typeof uuid === 'string' && uuid !== '' ? uuid : null
}

/** Returns a metric's query with this uuid. */
export function withUuid(query: object, uuid: string): Json {
  return { ...query, uuid }
}

function keepUuid(before: SavedMetric, query: object): Json {
  const uuid = uuidOf(before.query) ?? crypto.randomUUID()
  const present = uuidOf(query)
  if (present === null || present === uuid) return withUuid(query, uuid)
  const detail = 'The uuid of a saved metric cannot be changed.'
  throw new Refusal('invalid_input', detail, { attr: 'query' })
}

function requireFreeName(
  db: ControlDB,
  project_id: number,
  name: string,
  own_id: number | null,
): void {
  const lowered_name = name.toLowerCase()
  const metrics = experiment_saved_metrics
  const is_taken = db
    .select({ id: metrics.id, name: metrics.name })
    .from(metrics)
    .where(eq(metrics.project_id, project_id))
    .all()
    .some((one) => one.id !== own_id && one.name.toLowerCase() === lowered_name)
  if (!is_taken) return
  const detail = 'A shared metric with this name already exists.'
  throw new Refusal('unique', detail, { attr: 'name' })
}

function editOf(before: SavedMetric | null, after: SavedMetric) {
  const { id, name } = after
  return { scope: 'ExperimentSavedMetric', item_id: id, name, before, after } as const
}
