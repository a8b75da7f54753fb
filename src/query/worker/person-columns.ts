/** Properties of persons and groups that queries have named are columns of their copies, worked out once. */
import type { DuckDBConnection } from '@duckdb/node-api'
import type { CopySource } from '../../storage/files/copy.ts'
import {
  type ColumnOwner,
  fromJson,
  type NeededColumn,
  neededColumnName,
  type PropertyColumn,
} from '../../storage/files/property-columns.ts'
import { type Replica, withColumns } from '../../storage/files/replication-sources.ts'
import { SlotsFull } from './file-slots.ts'

/** Columns of one table; a project that needs more is opened again, and begins with those that are wanted then. */
const COLUMNS_MAX = 128

const TABLES: Readonly<Record<string, ColumnOwner>> = { groups: 'group', persons: 'person' }
const TYPES: Readonly<Record<PropertyColumn['kind'], string>> = {
  boolean: 'boolean',
  number: 'double',
  text: 'varchar',
}

/** A column of a property, and what queries call it. */
export type PersonColumn = { readonly name: string; readonly property: PropertyColumn }

type PersonTableColumn = PersonColumn & { readonly value: string; readonly type: string }

/** The columns that the tables of one instance have by now. */
export class PersonColumns {
  /** By table, as of the last commit and as of now. */
  #kept: ReadonlyMap<string, readonly PersonTableColumn[]> = new Map()
  #added: ReadonlyMap<string, readonly PersonTableColumn[]> = new Map()

  /** The transaction is committed. */
  keep(): void {
    this.#kept = this.#added
  }

  /** The transaction is rolled back. */
  undo(): void {
    this.#added = this.#kept
  }

  /** Adds what is wanted and is not there, to rows that are there. Throws SlotsFull when there are too many. */
  async add(connection: DuckDBConnection, wanted: readonly NeededColumn[]): Promise<void> {
    for (const [table, owner] of Object.entries(TABLES)) {
      const added = this.#added.get(table) ?? []
      const names = new Set(added.map(({ name }) => name))
      const fresh = wanted
        .filter((column) => column.owner === owner)
        .flatMap(columnOf)
        .filter(({ name }) => !names.has(name))
      if (fresh.length === 0) continue
      // A new instance takes whatever is wanted of it: another one would not have more room.
      if (added.length > 0 && added.length + fresh.length > COLUMNS_MAX) throw new SlotsFull()
      for (const { name, type } of fresh) {
        await connection.run(`alter table ${table} add column "${name}" ${type}`)
      }
      const values = fresh.map(({ name, value }) => `"${name}" = ${value}`)
      await connection.run(`update ${table} set ${values.join(', ')}`)
      this.#added = new Map([...this.#added, [table, [...added, ...fresh]]])
    }
  }

  /** The columns that a table has now. */
  of(table: string): readonly PersonColumn[] {
    return this.#added.get(table) ?? []
  }

  /** How rows are copied into a mirror's table, with the columns that it has. */
  sourceOf(replica: Replica, is_fresh: boolean): CopySource {
    return withColumns(replica, this.#added.get(replica.table) ?? [], is_fresh)
  }
}

function columnOf(column: NeededColumn): readonly PersonTableColumn[] {
  const name = neededColumnName(column)
  const { kind } = column
  if (name === undefined || kind === 'json') return []
  const property = { kind, name: column.name }
  return [{ name, property, value: fromJson(property), type: TYPES[kind] }]
}
