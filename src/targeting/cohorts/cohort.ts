/**
 * Stored cohorts: static ones with uploaded persons, dynamic ones with conditions, calculated in the
 * background.
 */

import { and, desc, eq, inArray, sql } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { type CohortNode, type CompiledCohort, compileAmong } from '../../flags/cohort.ts'
import type { CompiledFlags } from '../../flags/definition.ts'
import type { StoredCohort } from '../../flags/definition-types.ts'
import type { PropertyFilter } from '../../flags/filter.ts'
import { parseDateBound } from '../../flags/operators/date.ts'
import { findOperator } from '../../flags/operators/operators.ts'
import { asText } from '../../flags/operators/value.ts'
import { isObject } from '../../json.ts'
import { findProject } from '../../projects/settings/project.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { readOneByOne } from '../../threads/sliced-json.ts'
import { recordEdit, type TargetingEditor } from '../shared/editor.ts'
import { actions, cohorts } from '../tables.ts'
import { readBehavior, UnknownBehavior } from './behavior.ts'
import { filtersOfGroups } from './condition-groups.ts'

export type CohortRow = typeof cohorts.$inferSelect

/** Members that an edit can set; undefined ones stay. */
type CohortChanges = {
  readonly name?: string | null | undefined
  readonly description?: string | null | undefined
  readonly filters?: unknown
  /** The oldest shape of filters: sets of properties, of which any must hold. */
  readonly groups?: readonly unknown[] | null | undefined
  /** The query that a static cohort was created from. */
  readonly query?: unknown
  readonly is_static?: boolean | null | undefined
  readonly deleted?: boolean | null | undefined
}

/** The conditions of a cohort that was made with a name alone; no person meets them. */
const NO_CONDITIONS = { properties: { type: 'OR', values: [] } }

/** A placeholder for the id of a new cohort. */
const NO_ID = 0

/** Creates a cohort. Refuses filters that cannot be evaluated. */
export function createCohort(
  editor: TargetingEditor,
  changes: CohortChanges,
  now: Date,
): CohortRow {
  const is_static = changes.is_static ?? false
  const filters = filtersOf(changes) ?? (is_static ? null : NO_CONDITIONS)
  if (is_static && hasConditions(filters)) {
    const detail =
      'A static cohort is made of persons or a query. Duplicate a dynamic one with these filters.'
    throw refused(detail)
  }
  if (!is_static) requireValid(editor, { id: NO_ID, filters })
  return editor.control.transaction((tx) => {
    const cohort = tx
      .insert(cohorts)
      .values({
        project_id: editor.project.id,
        name: changes.name ?? null,
        description: changes.description ?? '',
        filters: filters as Json,
        query: (changes.query ?? null) as Json,
        is_static,
        count: is_static ? 0 : null,
        created_by: editor.user_id,
        created_at: now,
      })
      .returning()
      .get()
    recordEdit(tx, editor, editOf(null, cohort), now)
    return cohort
  })
}

/** Changes a cohort. A static one with new conditions may become dynamic. */
export function updateCohort(
  editor: TargetingEditor,
  before: CohortRow,
  changes: CohortChanges,
  now: Date,
): CohortRow {
  const filters = filtersOf(changes)
  const is_static = changes.is_static ?? before.is_static
  requireKind(before, is_static, filters)
  const has_new_filters = filters !== undefined && !is_static
  if (has_new_filters) requireValid(editor, { id: before.id, filters })
  if (changes.deleted === true && !before.deleted) requireUnused(editor, before)
  return editor.control.transaction((tx) => {
    const cohort = tx
      .update(cohorts)
      .set({
        name: changes.name === undefined ? before.name : changes.name,
        // Null clears it.
        description:
          changes.description === undefined ? before.description : (changes.description ?? ''),
        filters: has_new_filters ? (filters as Json) : before.filters,
        query: is_static && changes.query ? (changes.query as Json) : before.query,
        is_static,
        deleted: changes.deleted ?? before.deleted,
        version: before.version + (has_new_filters ? 1 : 0),
      })
      .where(eq(cohorts.id, before.id))
      .returning()
      .get()
    recordEdit(tx, editor, editOf(before, cohort), now)
    return cohort
  })
}

/** Returns the project's cohort with this id. Refuses when there is none. */
export function getCohort(db: ControlDB, project_id: number, id: number): CohortRow {
  const its = and(eq(cohorts.project_id, project_id), eq(cohorts.id, id))
  const cohort = db.select().from(cohorts).where(its).get()
  if (cohort === undefined) throw new Refusal('not_found', 'Not found.')
  return cohort
}

/**
 * Reads a project's cohorts that are not deleted, newest first: one by one in slices of the event loop, since the filters
 * of a project may be 8 MiB of JSON. `among` are the ids to read; null for all.
 */
export async function readCohorts(
  db: ControlDB,
  project_id: number,
  among: ReadonlySet<number> | null = null,
): Promise<readonly CohortRow[]> {
  const { id, deleted } = cohorts
  const its = and(eq(cohorts.project_id, project_id), eq(deleted, false))
  const ids = db.select({ id }).from(cohorts).where(its).orderBy(desc(id)).all()
  const one = db
    .select()
    .from(cohorts)
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  const ids_to_read = among === null ? ids : ids.filter((row) => among.has(row.id))
  const rows = await readOneByOne(ids_to_read, (row) => one.get(row))
  return rows.filter((row) => !row.deleted)
}

/** Stores the number of persons in a static cohort. */
export function setCount(db: ControlDB, id: number, count: number): void {
  db.update(cohorts).set({ count }).where(eq(cohorts.id, id)).run()
}

/** Returns the conditions of an edit in today's shape; undefined when it has none. */
export function filtersOf({ filters, groups }: CohortChanges): unknown {
  if (filters !== undefined && filters !== null) return filters
  return groups?.length ? filtersOfGroups(groups) : undefined
}

/** Refuses a change that would lose a list, or be without effect. */
function requireKind(before: CohortRow, is_static: boolean, filters: unknown): void {
  if (is_static && !before.is_static) {
    const detail = 'A dynamic cohort stays dynamic. Duplicate it as a static one.'
    throw new Refusal('invalid_input', detail, { attr: 'is_static' })
  }
  if (!before.is_static) return
  if (!is_static && !hasConditions(filters)) throw refused('A dynamic cohort needs filters.')
  if (is_static && hasConditions(filters) && !Bun.deepEquals(filters, before.filters)) {
    throw refused('Editing the criteria of a static cohort is not supported.')
  }
}

function rootOf(filters: unknown): unknown {
  return isObject(filters) ? filters['properties'] : undefined
}

function hasConditions(filters: unknown): boolean {
  const root = rootOf(filters)
  return isObject(root) && Array.isArray(root['values']) && root['values'].length > 0
}

/** Refuses filters that cannot be evaluated for a person. */
function requireValid(
  { control, project, definitions }: TargetingEditor,
  cohort: { readonly id: number; readonly filters: unknown },
): void {
  if (!isObject(cohort.filters) || !isObject(cohort.filters['properties'])) {
    throw refused("Filters must be a dictionary with a 'properties' key.")
  }
  for (const id of behavioralActions(cohort.filters['properties'])) {
    const its = and(eq(actions.project_id, project.id), eq(actions.id, id))
    if (control.select({ id: actions.id }).from(actions).where(its).get() !== undefined) continue
    throw new Refusal('does_not_exist', `There is no action with ID ${id}.`, { attr: 'filters' })
  }
  const draft: StoredCohort = { ...cohort, is_static: false, deleted: false }
  // The patterns of an existing cohort are counted among the project's already.
  const is_new = !definitions.cohorts.has(cohort.id)
  const instructions = is_new ? definitions.pattern_instructions : 0
  const compiled = compileAmong(definitions.cohorts, draft, instructions)
  if (compiled.kind === 'broken')
    throw refused(FAILURE_DETAILS[compiled.code] ?? 'Filters are not valid.')
  if (compiled.kind === 'tree') requireLeaves(compiled.root, definitions.cohorts)
}

/** The types of conditions in a cohort. */
const CONDITION_TYPES: ReadonlySet<unknown> = new Set([
  'behavioral',
  'cohort',
  'person',
  'precalculated-cohort',
])

/**
 * Returns the actions in behavioral conditions. Refuses conditions that no event query can answer, and other
 * types.
 */
function behavioralActions(node: unknown): readonly number[] {
  if (!isObject(node)) return []
  if (Array.isArray(node['values'])) return node['values'].flatMap(behavioralActions)
  const type = node['type'] ?? 'person'
  if (!CONDITION_TYPES.has(type)) {
    const detail = `Filters of type ${asText(type)} are not known.`
    throw new Refusal('invalid_value', detail, { attr: 'filters' })
  }
  if (type !== 'behavioral') return []
  try {
    return readBehavior(node).action_ids
  } catch (error) {
    if (!(error instanceof UnknownBehavior)) throw error
    throw new Refusal('invalid_value', error.message, { attr: 'filters' })
  }
}

const FAILURE_DETAILS: Readonly<Record<string, string>> = {
  cohort_cycle: 'Cohorts cannot reference other cohorts in a loop.',
  cohort_too_deep: 'Cohort filters are nested too deeply.',
  cohort_too_large: 'Cohort filters have too many conditions.',
}

function requireLeaves(node: CohortNode, stored: ReadonlyMap<number, CompiledCohort>): void {
  if (node.kind !== 'leaf') {
    for (const part of node.nodes) requireLeaves(part, stored)
    return
  }
  const { filter } = node
  if (filter.kind === 'broken') {
    throw new Refusal('invalid_value', filter.detail, { attr: 'filters' })
  }
  if (filter.kind === 'property') requireValue(filter)
  if (filter.kind === 'cohort' && !stored.has(filter.cohort_id)) {
    const detail = `Cohort with id ${filter.cohort_id} does not exist`
    throw new Refusal('cohort_does_not_exist', detail, { attr: 'filters' })
  }
}

/** Refuses a condition that no value meets: one without a value, or about a date that is none. */
function requireValue({ operator, value }: PropertyFilter): void {
  if (value === null && findOperator(operator)?.needs_value !== false) {
    throw refused('Missing required keys for person filter: value')
  }
  if (!operator.startsWith('is_date') || parseDateBound(value) !== null) return
  throw new Refusal('invalid_date', `Invalid date value: ${asText(value)}`, { attr: 'filters' })
}

/** Refuses to delete a cohort that flags, other cohorts or the project's filter of test users need. */
function requireUnused(
  { control, definitions, project }: TargetingEditor,
  { id }: CohortRow,
): void {
  requireNoFlags(definitions, id)
  const test_filters: unknown = findProject(control, project.id)?.test_account_filters
  if (Array.isArray(test_filters) && test_filters.some((filter) => refersTo(filter, id))) {
    throw inUse('the filter of internal and test users')
  }
  const users = definitions.stored.cohorts.filter(
    (other) => !other.is_static && !other.deleted && refersTo(rootOf(other.filters), id),
  )
  if (users.length === 0) return
  const ids = users.slice(0, NAMED_MAX).map((other) => other.id)
  const { name } = cohorts
  const names = control.select({ name }).from(cohorts).where(inArray(cohorts.id, ids)).all()
  throw inUse(`${users.length} other cohort(s): ${names.map((row) => row.name ?? '').join(', ')}`)
}

/** Cohorts that a refusal names. */
const NAMED_MAX = 5

/** Whether a filter, or one in a tree of them, is about a cohort. */
function refersTo(node: unknown, id: number): boolean {
  if (!isObject(node)) return false
  const { values, type, value } = node
  if (Array.isArray(values)) return values.some((part) => refersTo(part, id))
  return (type === 'cohort' || type === 'precalculated-cohort') && Number(value) === id
}

function requireNoFlags({ flags }: CompiledFlags, id: number): void {
  const users = flags.filter(
    ({ flag, plan }) =>
      flag.active &&
      plan.kind === 'plan' &&
      plan.sets.some((set) =>
        set.filters.some((filter) => filter.kind === 'cohort' && filter.cohort_id === id),
      ),
  )
  if (users.length === 0) return
  const keys = users.map(({ flag }) => flag.key).join(', ')
  throw inUse(`${users.length} active feature flag(s): ${keys}`)
}

function inUse(place: string): Refusal {
  return new Refusal('invalid_input', `This cohort is used in ${place}`, { attr: 'deleted' })
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'filters' })
}

function editOf(before: CohortRow | null, after: CohortRow) {
  return { scope: 'Cohort', item_id: after.id, name: after.name ?? '', before, after } as const
}
