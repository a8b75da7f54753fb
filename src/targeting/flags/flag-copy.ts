/** Copies a flag into another project, with the cohorts and flags it depends on: their ids differ there. */

import { and, eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { type CohortRow, createCohort, getCohort } from '../cohorts/cohort.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import { cohorts } from '../tables.ts'
import { createFlag, type Flag, findFlagByKey, getFlag, updateFlag } from './flag.ts'

type FlagCopyContext = {
  readonly control: ControlDB
  /**
   * Creates an editor of the target project; called for each object, since its definitions must include those
   * created before.
   */
  readonly editor: () => TargetingEditor
  readonly now: Date
  /** Makes the copy inactive. */
  readonly is_disabled?: boolean
}

/** The deepest nesting of cohorts in cohorts, and of flags that depend on flags. */
const DEPTH_MAX = 32
/**
 * The most cohorts and flags that one copy creates: each is checked against all definitions of the target
 * project.
 */
const DEPENDENCIES_MAX = 100

/**
 * Creates the flag in the target project, or changes the one with its key. Dynamic cohorts are copied unless
 * one of their name exists; flags it depends on, unless one of their key exists. Refuses static cohorts, whose
 * persons belong to their project.
 */
export function copyFlag(context: FlagCopyContext, flag: Flag): Flag {
  const { project_id, name, ensure_experience_continuity, bucketing_identifier } = flag
  listCopiedCohorts(context.control, flag)
  const active = flag.active && context.is_disabled !== true
  const filters = targetFilters({ ...context, from: project_id, copied: new Map() }, flag, 0)
  const changes = { name, filters, active, ensure_experience_continuity, bucketing_identifier }
  const { editor, control, now } = context
  const existing = findFlagByKey(control, editor().project.id, flag.key)
  return existing === null
    ? createFlag(editor(), { ...changes, key: flag.key }, now)
    : updateFlag(editor(), existing, changes, now)
}

/** Lists the cohorts that a flag depends on, each once. Refuses a flag with dependencies that cannot be copied. */
export function listCopiedCohorts(
  control: ControlDB,
  { project_id, filters }: Flag,
): readonly CohortRow[] {
  const copied: CohortRow[] = []
  requirePortable({ control, project_id, seen: new Map(), cohorts: copied }, filters, 0)
  return copied
}

/** The state of one copy. */
type FlagCopyState = FlagCopyContext & {
  /** The source project. */
  readonly from: number
  /** Target ids of translated cohorts and flags, by kind and source id: each is translated once. */
  readonly copied: Map<string, number>
}

/** Returns the target filters, without early access and holdouts, which belong to their project. */
function targetFilters(copying: FlagCopyState, flag: Flag, depth: number): unknown {
  const filters = isObject(flag.filters) ? flag.filters : {}
  const { super_groups: _early, holdout_groups: _held, holdout: _out, ...rest } = filters
  return translate(rest, (filter) => targetFilter(copying, filter, depth))
}

type CopiedFilter = Readonly<Record<string, unknown>>

/** Translates a filter's id to that of the target project. */
function targetFilter(copying: FlagCopyState, filter: CopiedFilter, depth: number): unknown {
  if (depth > DEPTH_MAX) throw nestedTooDeeply()
  switch (filter['type']) {
    case 'cohort':
    case 'precalculated-cohort':
      return { ...filter, value: targetCohortId(copying, Number(filter['value']), depth + 1) }
    case 'flag':
      return { ...filter, key: String(targetFlagId(copying, String(filter['key']), depth + 1)) }
    default:
      return filter
  }
}

/** Returns the target id of a cohort: one of the same name, else a copy. */
function targetCohortId(copying: FlagCopyState, id: number, depth: number): number {
  const { control, editor, from, copied } = copying
  const stored = copied.get(`cohort ${id}`)
  if (stored !== undefined) return stored
  const cohort = getCohort(control, from, id)
  const its = and(
    eq(cohorts.project_id, editor().project.id),
    eq(cohorts.name, cohort.name ?? ''),
    eq(cohorts.deleted, false),
  )
  const existing = control.select({ id: cohorts.id }).from(cohorts).where(its).get()
  const target_id = existing?.id ?? makeCohort(copying, cohort, depth)
  copied.set(`cohort ${id}`, target_id)
  return target_id
}

/** The editor is created last, so that its definitions include the cohorts that this one uses. */
function makeCohort(
  copying: FlagCopyState,
  { name, description, ...cohort }: CohortRow,
  depth: number,
) {
  const filters = translate(cohort.filters, (filter) => targetFilter(copying, filter, depth))
  return createCohort(copying.editor(), { name, description, filters }, copying.now).id
}

/** Returns the target id of a flag: one of the same key, else a copy. */
function targetFlagId(copying: FlagCopyState, reference: string, depth: number): number {
  const { control, editor, from, copied } = copying
  const stored = copied.get(`flag ${reference}`)
  if (stored !== undefined) return stored
  const flag = referredFlag(control, from, reference)
  const existing = findFlagByKey(control, editor().project.id, flag.key)
  const target_id = existing?.id ?? makeFlag(copying, flag, depth)
  copied.set(`flag ${reference}`, target_id)
  return target_id
}

function makeFlag(copying: FlagCopyState, flag: Flag, depth: number): number {
  const { key, name, active } = flag
  const filters = targetFilters(copying, flag, depth)
  return createFlag(copying.editor(), { key, name, active, filters }, copying.now).id
}

function referredFlag(control: ControlDB, project_id: number, reference: string): Flag {
  const by_key = findFlagByKey(control, project_id, reference)
  return by_key ?? getFlag(control, project_id, Number(reference))
}

/** A depth-first walk over a flag's dependencies. */
type DependencyWalk = {
  readonly control: ControlDB
  readonly project_id: number
  /** Visited cohorts and flags, by kind and id: 'open' on the current path, 'done' after their subtree. */
  readonly seen: Map<string, 'done' | 'open'>
  readonly cohorts: CohortRow[]
}

/** Checks all dependencies, each once, before any is created. */
function requirePortable(walk: DependencyWalk, filters: unknown, depth: number): void {
  const { control, project_id } = walk
  if (depth > DEPTH_MAX) throw nestedTooDeeply()
  translate(filters, (filter) => {
    if (filter['type'] === 'flag') {
      const reference = String(filter['key'])
      requireOnce(walk, `flag ${reference}`, () => {
        const flag = referredFlag(control, project_id, reference)
        requirePortable(walk, flag.filters, depth + 1)
      })
    }
    if (filter['type'] === 'cohort' || filter['type'] === 'precalculated-cohort') {
      const id = Number(filter['value'])
      requireOnce(walk, `cohort ${id}`, () => {
        const cohort = getCohort(control, project_id, id)
        if (cohort.is_static) {
          throw refused(`The list of people ${JSON.stringify(cohort.name)} cannot be copied.`)
        }
        walk.cohorts.push(cohort)
        requirePortable(walk, cohort.filters, depth + 1)
      })
    }
    return filter
  })
}

function requireOnce({ seen }: DependencyWalk, name: string, visit: () => void): void {
  const state = seen.get(name)
  if (state === 'done') return
  // A cycle; the depth limit alone would also end it, but later.
  if (state === 'open') throw nestedTooDeeply()
  if (seen.size >= DEPENDENCIES_MAX) {
    throw refused(`The flag depends on more than ${DEPENDENCIES_MAX} cohorts and flags.`)
  }
  seen.set(name, 'open')
  visit()
  seen.set(name, 'done')
}

/** Replaces every filter in a tree of conditions; an object with a key and a type is a filter. */
function translate(node: unknown, change: (filter: CopiedFilter) => unknown): unknown {
  if (Array.isArray(node)) return node.map((part) => translate(part, change))
  if (!isObject(node)) return node
  if (typeof node['key'] === 'string' && typeof node['type'] === 'string') return change(node)
  return Object.fromEntries(
    Object.entries(node).map(([name, part]) => [name, translate(part, change)]),
  )
}

function nestedTooDeeply(): Refusal {
  return refused('What the flag asks about is nested too deeply.')
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'feature_flag_key' })
}
