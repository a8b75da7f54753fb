/** The relation of a project's events: its files and the tail, with the property columns that questions name. */
import { EVENT_COLUMNS } from '../storage/copy-sources.ts'
import { textList } from '../storage/duckdb-text.ts'
import type { FileRow } from '../storage/event-log.ts'
import {
  columnName,
  fromJson,
  type PropertyColumn,
  readColumns,
} from '../storage/property-columns.ts'

/**
 * The macro `events_of`, with the property columns of `offered`. Files with the same columns are read together; what a file has no column for is read out
 * of the JSON of its rows alone, and the engine leaves out whatever a question does not use.
 * Where persons were split or merges undone (`are_led`), events of the ids concerned are those of whoever has the id now.
 * The files are spelled out: a change of the list and of the tail must become visible in one transaction.
 */
export function eventsMacro(
  files: readonly FileRow[],
  pathOf: (file: FileRow) => string,
  offered: readonly PropertyColumn[],
  are_led = false,
): string {
  const groups = Map.groupBy(files, (file) => file.columns)
  const legs = [...groups].map(([columns, alike]) =>
    leg(`read_parquet(${textList(alike.map(pathOf))})`, offered, readColumns(columns)),
  )
  legs.push(leg('tail', offered, []))
  const stored = legs.join(' union all ')
  return `create or replace macro events_of(p) as table ${are_led ? ledTo(stored) : stored}`
}

/** The property columns that a compiled question names. Anything else of this form only costs a little time. */
export function columnsNamed(sql: string): readonly string[] {
  return [...new Set([...sql.matchAll(/"(p_[0-9a-f]{32})"/g)].map(([, name = '']) => name))]
}

/** A project in which nobody was ever split does not pay for this. */
function ledTo(stored: string): string {
  return `select e.* replace (coalesce(l.person_id, e.person_id) as person_id)
from (${stored}) as e
left join distinct_id_overrides as l on l.distinct_id = e.distinct_id`
}

function leg(
  relation: string,
  offered: readonly PropertyColumn[],
  stored: readonly PropertyColumn[],
): string {
  const names = new Set(stored.map(columnName))
  const own = EVENT_COLUMNS.map(([name]) => `"${name}"`)
  const properties = offered.map((column) => {
    const name = columnName(column)
    return names.has(name) ? `"${name}"` : `${fromJson(column)} as "${name}"`
  })
  return `select ${[...own, ...properties].join(', ')} from ${relation} where p = project_id()`
}
