/** Table macros over a project's events: one per query shape, with the files of its days, the tail, and the columns it names. */

import type { EventDays } from '../../../hogql/event-days.ts'
import type { EventMacro } from '../../../hogql/query-reads.ts'
import type { EventForm } from '../../../hogql/sql/ir.ts'
import type { FileRow } from '../../../storage/log/event-log.ts'
import { selectEvents, selectFiles, wholeRows } from '../../../storage/log/event-select.ts'
import { withoutRemoved } from '../../../storage/log/pending-removals.ts'
import type { PersonOverridesState } from './person-overrides.ts'

const DAY_US = 86_400_000_000

/** The state that macros are created from. */
export type MacroState = {
  /** The version of the manifest. */
  readonly version: number
  readonly files: readonly FileRow[]
  /** False when all events are in files: a union with no rows has no least and greatest values. */
  readonly has_tail: boolean
  readonly persons: PersonOverridesState
  readonly macros: readonly EventMacro[]
}

type PathOf = (file: FileRow) => string

/** Builds the statements that turn the macros of one state into those of another; empty when they are equal. */
export function updateEventMacros(before: MacroState, after: MacroState, pathOf: PathOf): string {
  const is_same =
    before.version === after.version &&
    before.has_tail === after.has_tail &&
    before.persons.has_overrides === after.persons.has_overrides &&
    before.persons.removal_ids === after.persons.removal_ids
  const names_before = new Set(before.macros.map(({ name }) => name))
  const names_after = new Set(after.macros.map(({ name }) => name))
  const created = after.macros.filter(({ name }) => !is_same || !names_before.has(name))
  const dropped = before.macros.filter(({ name }) => !names_after.has(name))
  return [
    ...dropped.map(({ name }) => `drop macro table ${name}`),
    ...created.map((macro) => createMacro(macro, { ...after, pathOf })),
  ].join(';\n')
}

type EventSources = Pick<MacroState, 'files' | 'has_tail' | 'persons'> & { readonly pathOf: PathOf }

/** Lists the files in the macro, so that a change of files and tail becomes visible in one transaction. */
function createMacro(macro: EventMacro, sources: EventSources): string {
  const { name, form, days } = macro
  const files = sources.files.filter((file) => isWithin(file, days))
  const select = SELECTS[form](macro, { ...sources, files })
  return `create or replace macro ${name}(p) as table ${select}`
}

/** True when a file may have events within the days; its times are rounded outwards to seconds. */
function isWithin({ min_timestamp, max_timestamp }: FileRow, { from, until }: EventDays): boolean {
  if (from !== null && max_timestamp < from * DAY_US) return false
  return until === null || min_timestamp <= until * DAY_US
}

/** Estimates the rows that a file has within the days, as if its rows were spread evenly over its time. */
function rowsWithin({ row_count, min_timestamp, max_timestamp }: FileRow, days: EventDays): number {
  const from = Math.max(min_timestamp, (days.from ?? -Infinity) * DAY_US)
  const until = Math.min(max_timestamp, (days.until ?? Infinity) * DAY_US)
  const length = max_timestamp - min_timestamp
  return length <= 0 ? row_count : row_count * Math.max(0, (until - from) / length)
}

type EventSelection = (macro: EventMacro, sources: EventSources) => string

const SELECTS: Readonly<Record<EventForm, EventSelection>> = {
  events: (macro, sources) => selectWithOverrides(macro, sources, false),
  events_lean: (macro, sources) => selectWithOverrides(macro, sources, true),
  events_counts: selectCounts,
}

/**
 * Counts from the manifest, whose row counts were compared with the files when they were adopted. Without a tail it is one
 * constant: executing a union with a count takes 0.55 ms, the constant 0.16.
 */
function selectCounts(macro: EventMacro, sources: EventSources): string {
  if (sources.persons.removal_ids !== '')
    return `select count(*) as row_count from (${selectStored(macro, sources, { is_lean: true, is_joined: false })})`
  const row_count = sources.files.reduce((sum, file) => sum + file.row_count, 0)
  const in_files = `select ${row_count}::bigint as row_count where p = project_id()`
  if (!sources.has_tail) return in_files
  return `${in_files} union all
select count(*) as row_count from tail where p = project_id()`
}

/** The columns by which removals and overrides find an event. */
const KEY_FIELDS = ['seq', 'distinct_id', 'person_id'] as const

function selectWithOverrides(macro: EventMacro, sources: EventSources, is_lean: boolean): string {
  const is_joined = sources.persons.has_overrides && macro.fields.includes('person_id')
  const stored = selectStored(macro, sources, { is_lean, is_joined })
  return is_joined ? joinOverrides(stored) : stored
}

function selectStored(
  { fields, columns, has_rest, has_uuid_end, days }: EventMacro,
  { files, has_tail, pathOf, persons }: EventSources,
  { is_lean, is_joined }: { readonly is_lean: boolean; readonly is_joined: boolean },
): string {
  const has_removals = persons.removal_ids !== ''
  const needed = is_joined || has_removals ? [...fields, ...KEY_FIELDS] : fields
  const reading = { fields: needed, columns, is_lean, has_rest, has_uuid_end }
  const legs = [...selectFiles(files, pathOf, reading, (file) => rowsWithin(file, days))]
  if (has_tail || legs.length === 0) legs.push(selectEvents(wholeRows('tail'), reading))
  const all = legs.map((leg) => `${leg} where p = project_id()`).join(' union all ')
  return has_removals ? withoutRemoved(`(${all})`) : all
}

/** A CASE, because DuckDB takes twice as long for a coalesce over the result of a join. */
function joinOverrides(stored: string): string {
  return `select e.* replace (
  case when l.person_id is null then e.person_id else l.person_id end as person_id
)
from (${stored}) as e
left join distinct_id_overrides as l on l.distinct_id = e.distinct_id`
}
