/** Stored feature flags: create, change, delete softly, find. */
import { and, asc, eq, sql } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { type CompiledFlags, dependenciesOf } from '../../flags/definition.ts'
import type { StoredFlag } from '../../flags/definition-types.ts'
import { enrollmentKey } from '../../flags/plan.ts'
import { findFlagFault, normalizeFilters } from '../../flags/validate.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { readOneByOne } from '../../threads/sliced-json.ts'
import { recordEdit, recordRemoval, type TargetingEditor } from '../shared/editor.ts'
import { early_access_features, experiments, feature_flags } from '../tables.ts'
import { storedFlag } from './flag-definitions.ts'

export type Flag = typeof feature_flags.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type FlagChanges = Partial<
  Omit<
    Flag,
    | 'created_at'
    | 'created_by'
    | 'filters'
    | 'id'
    | 'last_modified_by'
    | 'project_id'
    | 'updated_at'
    | 'version'
  >
> & {
  readonly filters?: unknown
  /** Short for filters with one condition set for all persons. */
  readonly rollout_percentage?: number | null
}

type FlagDraft = Omit<Flag, 'id'> & { readonly id: number | null }

/** A placeholder for the id of a new flag. */
const NO_ID = -1

/** Creates a flag. Refuses a taken key and filters that cannot be evaluated. */
export function createFlag(
  editor: TargetingEditor,
  input: FlagChanges & { readonly key: string },
  now: Date,
): Flag {
  const { user_id, project } = editor
  const percentage = input.rollout_percentage ?? null
  const draft: FlagDraft = {
    id: null,
    project_id: project.id,
    name: '',
    filters: { groups: [{ properties: [], rollout_percentage: percentage }] },
    active: true,
    deleted: false,
    ensure_experience_continuity: false,
    bucketing_identifier: null,
    evaluation_runtime: null,
    evaluation_contexts: [],
    is_remote_configuration: false,
    has_enriched_analytics: false,
    rollback_conditions: null,
    performed_rollback: null,
    analytics_dashboards: [],
    usage_dashboard: null,
    tags: [],
    creation_context: 'feature_flags',
    archived: false,
    ...fieldsOf(input),
    key: input.key,
    version: 1,
    created_by: user_id,
    last_modified_by: user_id,
    created_at: now,
    updated_at: now,
  }
  requireValid(editor, draft)
  const { id: _none, ...values } = draft
  return editor.control.transaction((tx) => {
    const flag = tx.insert(feature_flags).values(values).returning().get()
    recordEdit(tx, editor, editOf(null, flag), now)
    return flag
  })
}

/** Changes a flag. Refuses as `createFlag` does, and to delete a flag in use. */
export function updateFlag(
  editor: TargetingEditor,
  before: Flag,
  changes: FlagChanges,
  now: Date,
): Flag {
  const edited = withEnrollment({ ...before, ...fieldsOf(changes) }, before.key)
  const changed = withArchive(edited, changes)
  // An edit without changes makes no version.
  if (Bun.deepEquals(changed, before)) return before
  if (changed.deleted && !before.deleted) requireUnused(editor, before)
  const needs_check = changes.filters !== undefined || changed.key !== before.key || before.deleted
  if (needs_check && !changed.deleted) requireValid(editor, changed)
  return editor.control.transaction((tx) => {
    const flag = tx
      .update(feature_flags)
      .set({
        ...changed,
        version: before.version + 1,
        last_modified_by: editor.user_id,
        updated_at: now,
      })
      .where(eq(feature_flags.id, before.id))
      .returning()
      .get()
    recordEdit(tx, editor, editOf(before, flag), now)
    return flag
  })
}

/** Deletes a flag's row, for flags that belong to another object. Refuses a flag in use. */
export function removeFlag(editor: TargetingEditor, flag: Flag, now: Date): void {
  requireUnused(editor, flag)
  const removed = { scope: 'FeatureFlag', item_id: flag.id, name: flag.key, item: flag } as const
  editor.control.transaction((tx) => {
    tx.delete(feature_flags).where(eq(feature_flags.id, flag.id)).run()
    recordRemoval(tx, editor, removed, now)
  })
}

/** The project's flag of this id, unless it is deleted; null when there is none. */
export function findFlag(db: ControlDB, project_id: number, id: number): Flag | null {
  const its = and(
    eq(feature_flags.project_id, project_id),
    eq(feature_flags.id, id),
    eq(feature_flags.deleted, false),
  )
  return db.select().from(feature_flags).where(its).get() ?? null
}

/** Returns the project's flag with this id, deleted or not. Refuses when there is none. */
export function getFlag(db: ControlDB, project_id: number, id: number): Flag {
  const its = and(eq(feature_flags.project_id, project_id), eq(feature_flags.id, id))
  const flag = db.select().from(feature_flags).where(its).get()
  if (flag === undefined) throw new Refusal('not_found', 'Not found.')
  return flag
}

/** Returns the project's flag with this id. Refuses a deleted one, and when there is none. */
export function getPresentFlag(db: ControlDB, project_id: number, id: number): Flag {
  const flag = getFlag(db, project_id, id)
  if (!flag.deleted) return flag
  throw new Refusal('invalid_input', 'This feature flag has been deleted. Restore it first.')
}

/** Returns the project's flag with this key unless it is deleted; null when there is none. */
export function findFlagByKey(db: ControlDB, project_id: number, key: string): Flag | null {
  const its = and(
    eq(feature_flags.project_id, project_id),
    eq(feature_flags.key, key),
    eq(feature_flags.deleted, false),
  )
  return db.select().from(feature_flags).where(its).get() ?? null
}

/**
 * Reads a project's flags that are not deleted, oldest first: one by one in slices of the event loop, since the filters
 * of a project may be 8 MiB of JSON. `among` are the ids to read; null for all.
 */
export async function readFlags(
  db: ControlDB,
  project_id: number,
  among: ReadonlySet<number> | null = null,
): Promise<readonly Flag[]> {
  const { id, deleted } = feature_flags
  const its = and(eq(feature_flags.project_id, project_id), eq(deleted, false))
  const ids = db.select({ id }).from(feature_flags).where(its).orderBy(asc(id)).all()
  const one = db
    .select()
    .from(feature_flags)
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  const ids_to_read = among === null ? ids : ids.filter((row) => among.has(row.id))
  const flags = await readOneByOne(ids_to_read, (row) => one.get(row))
  return flags.filter((flag) => !flag.deleted)
}

/** Lists the keys of a project's flags that are switched off, oldest first. */
export function listInactiveKeys(db: ControlDB, project_id: number): readonly string[] {
  const { id, key, active, deleted } = feature_flags
  const its = and(eq(feature_flags.project_id, project_id), eq(deleted, false), eq(active, false))
  const rows = db.select({ key }).from(feature_flags).where(its).orderBy(asc(id)).all()
  return rows.map((row) => row.key)
}

/** Lists the keys of a project's flags by id, without reading their filters. */
export function listFlagKeys(db: ControlDB, project_id: number): ReadonlyMap<number, string> {
  const { id, key, deleted } = feature_flags
  const its = and(eq(feature_flags.project_id, project_id), eq(deleted, false))
  const rows = db.select({ id, key }).from(feature_flags).where(its).all()
  return new Map(rows.map((row) => [row.id, row.key]))
}

/** An archived flag is inactive. Refuses to activate one. */
function withArchive(flag: Flag, changes: FlagChanges): Flag {
  if (!flag.archived) return flag
  if (changes.active !== true || changes.archived === true) return { ...flag, active: false }
  const detail = 'Cannot enable an archived feature flag. Unarchive it first.'
  throw new Refusal('invalid_input', detail, { attr: 'active' })
}

/** The conditions of a renamed flag's early access have its new key, under which SDKs enroll persons from now on. */
function withEnrollment(flag: Flag, key_before: string): Flag {
  const { key, filters } = flag
  if (key === key_before || !isObject(filters)) return flag
  const { super_groups } = filters
  if (!Array.isArray(super_groups)) return flag
  const renamed = super_groups.map((set: unknown) => {
    if (!isObject(set) || !Array.isArray(set['properties'])) return set
    const properties = set['properties'].map((property: unknown) =>
      isEnrollment(property) ? { ...property, key: enrollmentKey(key) } : property,
    )
    return { ...set, properties }
  })
  return { ...flag, filters: { ...filters, super_groups: renamed } as Json }
}

function isEnrollment(property: unknown): property is object {
  const key = isObject(property) ? property['key'] : null
  return typeof key === 'string' && key.startsWith(enrollmentKey(''))
}

/** Returns the defined members of an edit, without shorthands. */
function fieldsOf(changes: FlagChanges): Partial<Flag> {
  const { filters, rollout_percentage: _shortcut, ...rest } = changes
  const fields = Object.entries(rest).filter(([, value]) => value !== undefined)
  const named: Partial<Flag> = Object.fromEntries(fields)
  return filters === undefined ? named : { ...named, filters: normalizeFilters(filters) as Json }
}

function requireValid(editor: TargetingEditor, draft: FlagDraft): void {
  const stored = storedFlag({ ...draft, id: draft.id ?? NO_ID })
  const fault = findFlagFault(stored, editor.definitions)
  if (fault !== null) throw new Refusal(fault.code, fault.detail, { attr: fault.attr })
}

/** Lists the active flags that depend on a flag's value. */
export function listDependants(
  { flags, positions }: CompiledFlags,
  { key }: Pick<Flag, 'key'>,
): readonly StoredFlag[] {
  const position = positions.get(key)
  return flags.flatMap(({ flag, plan }) =>
    flag.active && position !== undefined && dependenciesOf(plan).includes(position) ? flag : [],
  )
}

/** Refuses to delete a flag that other flags, an experiment or an early access feature use. */
function requireUnused({ control, definitions }: TargetingEditor, { id, key }: Flag): void {
  const dependants = listDependants(definitions, { key })
  if (dependants.length > 0) {
    const names = dependants.map((flag) => `${flag.key} (ID: ${flag.id})`).join(', ')
    throw inUse(`because other flags depend on it: ${names}`)
  }
  const its_experiment = and(eq(experiments.feature_flag_id, id), eq(experiments.deleted, false))
  if (control.select().from(experiments).where(its_experiment).get() !== undefined) {
    throw inUse('that is linked to an experiment. Please delete the experiment first.')
  }
  const its_feature = eq(early_access_features.feature_flag_id, id)
  if (control.select().from(early_access_features).where(its_feature).get() !== undefined) {
    throw inUse(
      'that is in use with early access features. Please delete the early access feature before deleting the flag.',
    )
  }
}

function inUse(why: string): Refusal {
  return new Refusal('invalid_input', `Cannot delete a feature flag ${why}`, { attr: 'deleted' })
}

function editOf(before: Flag | null, after: Flag) {
  return { scope: 'FeatureFlag', item_id: after.id, name: after.key, before, after } as const
}
