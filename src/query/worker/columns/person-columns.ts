/** Materialized columns for the properties of persons and groups that queries name. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { type ColumnOwner, type NeededColumn, neededColumnName } from '../../../column-names.ts'
import type { CopySource } from '../../../storage/files/copy.ts'
import { fromJson, type PropertyColumn } from '../../../storage/files/property-columns.ts'
import { type Replica, withColumns } from '../../../storage/files/replication-sources.ts'
import { SlotsFull } from '../file-slots.ts'

/** Maximum number of columns per table; a project that needs more is reopened with the columns in demand then. */
const COLUMNS_MAX = 128

const TABLES: Readonly<Record<string, ColumnOwner>> = { groups: 'group', persons: 'person' }
const TYPES: Readonly<Record<PropertyColumn['kind'], string>> = {
  boolean: 'boolean',
  number: 'double',
  text: 'varchar',
}

/** The column of a property, and its name in SQL. */
export type PersonColumn = { readonly name: string; readonly property: PropertyColumn }

type PersonTableColumn = PersonColumn & { readonly value: string; readonly type: string }

/** The materialized columns of one instance's tables. */
export class PersonColumns {
  /** By table: as of the last commit, and within the current transaction. */
  #committed: ReadonlyMap<string, readonly PersonTableColumn[]> = new Map()
  #added: ReadonlyMap<string, readonly PersonTableColumn[]> = new Map()

  /** Call after the transaction has committed. */
  commit(): void {
    this.#committed = this.#added
  }

  /** Call after the transaction was rolled back. */
  rollback(): void {
    this.#added = this.#committed
  }

  /** Adds missing columns and fills them for existing rows. Throws SlotsFull when there would be too many. */
  async add(connection: DuckDBConnection, needed: readonly NeededColumn[]): Promise<void> {
    for (const [table, owner] of Object.entries(TABLES)) {
      const added = this.#added.get(table) ?? []
      const names = new Set(added.map(({ name }) => name))
      const missing = needed
        .filter((column) => column.owner === owner)
        .flatMap(columnOf)
        .filter(({ name }) => !names.has(name))
      if (missing.length === 0) continue
      // A new instance accepts any number: another new one would not have more room.
      if (added.length > 0 && added.length + missing.length > COLUMNS_MAX) throw new SlotsFull()
      for (const { name, type } of missing) {
        await connection.run(`alter table ${table} add column "${name}" ${type}`)
      }
      const values = missing.map(({ name, value }) => `"${name}" = ${value}`)
      await connection.run(`update ${table} set ${values.join(', ')}`)
      this.#added = new Map([...this.#added, [table, [...added, ...missing]]])
    }
  }

  /** The columns that a table has in the current transaction. */
  of(table: string): readonly PersonColumn[] {
    return this.#added.get(table) ?? []
  }

  /** The copy source of a replica, extended by its table's columns. */
  sourceOf(replica: Replica, is_fresh: boolean): CopySource {
    return withColumns(replica, this.#added.get(replica.table) ?? [], is_fresh)
  }
}

function columnOf(column: NeededColumn): readonly PersonTableColumn[] {
  const name = neededColumnName(column)
  const { kind } = column
  if (name === undefined || kind === 'json' || kind === 'whole_or_real') return []
  const property = { kind, name: column.name }
  return [{ name, property, value: fromJson(property), type: TYPES[kind] }]
}
