/** A flag in another project, with the cohorts and flags that it asks about: ids mean something else there (wire §3.8). */
import { and, eq } from 'drizzle-orm'
import { Refusal } from '../errors.ts'
import { isRecord } from '../flags/value.ts'
import type { ControlDB } from '../storage/control.ts'
import { type Cohort, createCohort, getCohort } from './cohort.ts'
import type { Editor } from './editor.ts'
import { createFlag, type Flag, findFlagByKey, getFlag, updateFlag } from './flag.ts'
import { cohorts } from './tables.ts'

export type CopyNeeds = {
  readonly control: ControlDB
  /** The editor of the other project; asked anew for each thing, which must know of those made before. */
  readonly editor: () => Editor
  readonly now: Date
  /** The copy is switched off, whatever the flag is. */
  readonly is_disabled?: boolean
}

/** Cohorts in cohorts and flags that depend on flags go no deeper. */
const DEPTH_MAX = 32

/**
 * Makes the flag there, or changes the one that has its key. Cohorts that are conditions come along unless one of their
 * name is there; flags it depends on unless one of their key is. Refuses lists of people, which belong to their project.
 */
export function copyFlag(needs: CopyNeeds, flag: Flag): Flag {
  requirePortable(needs.control, flag.project_id, flag.filters, 0)
  const { name, ensure_experience_continuity, bucketing_identifier } = flag
  const active = flag.active && needs.is_disabled !== true
  const filters = filtersThere(needs, flag, 0)
  const wanted = { name, filters, active, ensure_experience_continuity, bucketing_identifier }
  const { editor, control, now } = needs
  const there = findFlagByKey(control, editor().project.id, flag.key)
  return there === null
    ? createFlag(editor(), { ...wanted, key: flag.key }, now)
    : updateFlag(editor(), there, wanted, now)
}

/** Early access and holdouts are things of their project: a copy has neither. */
function filtersThere(needs: CopyNeeds, flag: Flag, depth: number): unknown {
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const { super_groups: _early, holdout_groups: _held, holdout: _out, ...rest } = filters
  return translate(rest, (filter) => filterThere(needs, flag.project_id, filter, depth))
}

type Filter = Readonly<Record<string, unknown>>

/** A filter that names something by its id, naming what is there instead. */
function filterThere(needs: CopyNeeds, from: number, filter: Filter, depth: number): unknown {
  if (depth > DEPTH_MAX) throw refused('What the flag asks about is nested too deeply.')
  switch (filter['type']) {
    case 'cohort':
    case 'precalculated-cohort': {
      const cohort = getCohort(needs.control, from, Number(filter['value']))
      return { ...filter, value: cohortThere(needs, cohort, depth + 1) }
    }
    case 'flag':
      return { ...filter, key: flagThere(needs, from, String(filter['key']), depth + 1) }
    default:
      return filter
  }
}

/** The id there of a cohort: one of the same name, else a copy. */
function cohortThere(needs: CopyNeeds, cohort: Cohort, depth: number): number {
  const { control, editor, now } = needs
  const its = and(
    eq(cohorts.project_id, editor().project.id),
    eq(cohorts.name, cohort.name ?? ''),
    eq(cohorts.deleted, false),
  )
  const there = control.select({ id: cohorts.id }).from(cohorts).where(its).get()
  if (there !== undefined) return there.id
  const filters = translate(cohort.filters, (filter) =>
    filterThere(needs, cohort.project_id, filter, depth),
  )
  const { name, description } = cohort
  return createCohort(editor(), { name, description, filters }, now).id
}

/** The id there of a flag that another depends on, as text: one of the same key, else a copy. */
function flagThere(needs: CopyNeeds, from: number, reference: string, depth: number): string {
  const { control, editor, now } = needs
  const flag = referredFlag(control, from, reference)
  const there = findFlagByKey(control, editor().project.id, flag.key)
  if (there !== null) return String(there.id)
  const { key, name, active } = flag
  const filters = filtersThere(needs, flag, depth)
  return String(createFlag(editor(), { key, name, active, filters }, now).id)
}

function referredFlag(control: ControlDB, project_id: number, reference: string): Flag {
  const by_key = findFlagByKey(control, project_id, reference)
  return by_key ?? getFlag(control, project_id, Number(reference))
}

/** Looks at everything that would come along, before any of it is made. */
function requirePortable(
  control: ControlDB,
  project_id: number,
  filters: unknown,
  depth: number,
): void {
  if (depth > DEPTH_MAX) throw refused('What the flag asks about is nested too deeply.')
  translate(filters, (filter) => {
    if (filter['type'] === 'flag') {
      const flag = referredFlag(control, project_id, String(filter['key']))
      requirePortable(control, project_id, flag.filters, depth + 1)
    }
    if (filter['type'] === 'cohort' || filter['type'] === 'precalculated-cohort') {
      const cohort = getCohort(control, project_id, Number(filter['value']))
      if (cohort.is_static) {
        throw refused(`The list of people ${JSON.stringify(cohort.name)} cannot be copied.`)
      }
      requirePortable(control, project_id, cohort.filters, depth + 1)
    }
    return filter
  })
}

/** A tree of conditions with every filter in it replaced: what has a type of a filter is one. */
function translate(node: unknown, change: (filter: Filter) => unknown): unknown {
  if (Array.isArray(node)) return node.map((part) => translate(part, change))
  if (!isRecord(node)) return node
  if (typeof node['key'] === 'string' && typeof node['type'] === 'string') return change(node)
  return Object.fromEntries(
    Object.entries(node).map(([name, part]) => [name, translate(part, change)]),
  )
}

function refused(detail: string): Refusal {
  return new Refusal('invalid_input', detail, { attr: 'feature_flag_key' })
}
