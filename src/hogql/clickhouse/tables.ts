/** The tables in ClickHouse as relations of a statement: rows of one project, their newest version, members of their JSON. */

import { hotColumnName, restPath } from '../../column-names.ts'
import type { ColumnName, RelationName, Scan } from '../sql/ir.ts'
import type { ScanReads } from './scan-reads.ts'
import type { TableState } from './table-state.ts'
import type { ClickHouseValues } from './values.ts'

/** Prints the tables of one project. */
export class ClickHouseTables {
  readonly #state: TableState
  readonly #values: ClickHouseValues

  constructor(state: TableState, values: ClickHouseValues) {
    this.#state = state
    this.#values = values
  }

  /** Whether events are joined with the persons that ids have today. */
  readsIdOverrides(reads: ScanReads): boolean {
    return this.#state.has_id_overrides && reads.columns.has('person_id')
  }

  /** Events as the first relation of a select, whose part each shard computes; its conditions go into WHERE. */
  firstEvents(scan: Scan, reads: ScanReads): { readonly from: string; readonly where: string } {
    const { id, project } = scan
    const { has_id_overrides, has_removed_persons } = this.#state
    const joins = [
      ...(this.readsIdOverrides(reads) || (has_id_overrides && has_removed_persons)
        ? [
            ` LEFT JOIN ${this.#idOverrides(scan)} AS o${id} ON o${id}.distinct_id = t${id}.distinct_id`,
          ]
        : []),
      ...(has_removed_persons ? [removalJoins(scan)] : []),
    ]
    const removed = has_removed_persons ? notRemoved(id, has_id_overrides) : ''
    return {
      from: `events AS t${id}${joins.join('')}`,
      where: `t${id}.project_id = ${project.project_id}${removed}`,
    }
  }

  /** The person of an event of `firstEvents`. */
  personOf(relation: number): string {
    return `ifNull(o${relation}.person_id, t${relation}.person_id)`
  }

  /** Any table as a sub-select with the columns that are read. */
  subSelect(scan: Scan, reads: ScanReads): string {
    const is_events = scan.table === 'events'
    const columns = this.#columnsOf(scan, reads)
    const table = isRelationName(scan.table) ? scan.table : 'events'
    const project = `project_id = ${scan.project.project_id}`
    if (!is_events) return `(SELECT ${columns} FROM \`${table}\` FINAL WHERE ${project})`
    const { from, where } = this.firstEvents(scan, reads)
    return `(SELECT ${columns} FROM ${from} WHERE ${where})`
  }

  #columnsOf(scan: Scan, reads: ScanReads): string {
    const { columns, members } = reads
    const { id } = scan
    const is_events = scan.table === 'events'
    const prefix = is_events ? `t${id}.` : ''
    const names: readonly ColumnName[] = [
      ...columns,
      ...(reads.whole_reads > 0 ? (['properties'] as const) : []),
    ]
    const printed = names.map((name) => `${this.#columnOf(scan, name, reads)} AS \`${name}\``)
    const read = [...members].map(([path, name]) => {
      const keys: readonly (number | string)[] = JSON.parse(path)
      const member = is_events
        ? this.eventMember(id, keys)
        : this.jsonMember(`${prefix}properties`, keys)
      return `${member} AS ${name}`
    })
    const all = [...printed, ...read]
    return all.length === 0 ? '1' : all.join(', ')
  }

  #columnOf({ id, table }: Scan, name: ColumnName, reads: ScanReads): string {
    if (table !== 'events') return `\`${name}\``
    return name === 'person_id' && this.readsIdOverrides(reads)
      ? this.personOf(id)
      : `t${id}.\`${name}\``
  }

  /** A property of an event, as text; NULL where it has none. */
  eventMember(relation: number, [name, ...deeper]: readonly (number | string)[]): string {
    if (typeof name !== 'string') return "CAST(NULL, 'Nullable(String)')"
    // A path of JSON has no empty name.
    if (name === '') return this.jsonMember(`t${relation}.properties`, [name, ...deeper])
    const hot = hotColumnName(name)
    const text =
      hot === null ? `t${relation}.rest.\`${restPath(name)}\`.:String` : `t${relation}.${hot}`
    return deeper.length === 0 ? text : this.jsonMember(`ifNull(${text}, '')`, deeper)
  }

  /** Reads a member of a JSON text as text: other values as their JSON, null as NULL. */
  jsonMember(json: string, path: readonly (number | string)[]): string {
    const keys = path.map((key) => (typeof key === 'string' ? this.#values.text(key) : `${key}`))
    return `JSONExtract(${[json, ...keys, "'Nullable(String)'"].join(', ')})`
  }

  #idOverrides({ project }: Scan): string {
    return `(SELECT distinct_id, person_id FROM distinct_id_overrides FINAL WHERE project_id = ${project.project_id})`
  }
}

/** Joins the removals of distinct ids and of persons, of which there are few. */
function removalJoins({ id, project }: Scan): string {
  const select = (key: string, is_person: 0 | 1): string =>
    `(SELECT ${key} AS id, log_id, up_to_seq FROM removals FINAL WHERE project_id = ${project.project_id} AND is_person = ${is_person})`
  return ` LEFT JOIN ${select('id', 0)} AS ri${id} ON ri${id}.id = t${id}.distinct_id LEFT JOIN ${select('toUUIDOrZero(id)', 1)} AS rp${id} ON rp${id}.id = t${id}.person_id`
}

/** Events stored later stay, and those stored under a removed person whose id has another one today, as in `pending-removals.ts`. */
function notRemoved(id: number, has_id_overrides: boolean): string {
  const isRemoved = (by: string): string =>
    `ifNull(t${id}.log_id <> ${by}.log_id OR t${id}.seq <= ${by}.up_to_seq, false)`
  const is_own = has_id_overrides ? `o${id}.person_id IS NULL AND ` : ''
  return ` AND NOT ${isRemoved(`ri${id}`)} AND NOT (${is_own}${isRemoved(`rp${id}`)})`
}

const isRelationName = (table: Scan['table']): table is RelationName =>
  table !== 'events_counts' && table !== 'events_lean'
