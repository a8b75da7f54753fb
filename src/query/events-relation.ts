/** The relation of a project's events: its files and the tail, with the property columns that questions name. */
import type { FileRow } from '../storage/event-log.ts'
import { heldIn, selectEvents, wholeRows } from '../storage/event-relations.ts'
import { withoutRemoved } from '../storage/pending-removals.ts'
import type { WantedColumn } from '../storage/property-columns.ts'
import { type EventPeople, NO_PEOPLE } from './event-people.ts'

/**
 * The macros `events_of` and, without `properties`, `events_lean_of`, both with the `wanted` property columns. Files with the same columns are read together; what a
 * file has no column for is read out of the JSON of its rows alone.
 * The files are spelled out: a change of the list and of the tail must become visible in one transaction.
 */
export function eventsMacro(
  files: readonly FileRow[],
  pathOf: (file: FileRow) => string,
  wanted: readonly WantedColumn[],
  { are_led, removal_ids }: EventPeople = NO_PEOPLE,
): string {
  const held = [...heldIn(files, pathOf), wholeRows('tail')]
  const macros = MACROS.map(({ name, is_lean }) => {
    const legs = held.map((some) => `${selectEvents(some, wanted, is_lean)} where p = project_id()`)
    const all = legs.join(' union all ')
    const stored = removal_ids === '' ? all : withoutRemoved(`(${all})`)
    return `create or replace macro ${name}(p) as table ${are_led ? ledTo(stored) : stored}`
  })
  return macros.join(';\n')
}

const MACROS = [
  { name: 'events_of', is_lean: false },
  { name: 'events_lean_of', is_lean: true },
] as const

function ledTo(stored: string): string {
  return `select e.* replace (coalesce(l.person_id, e.person_id) as person_id)
from (${stored}) as e
left join distinct_id_overrides as l on l.distinct_id = e.distinct_id`
}
