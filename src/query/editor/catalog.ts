/** The tables that queries may name, with their fields and types, as editors show them. */
import { compileSelect } from '../../hogql/compile.ts'
import { field, joinOf, selectOf } from '../../hogql/nodes.ts'
import { printHogQL } from '../../hogql/print-hogql.ts'
import { SCHEMA_TABLES } from '../../hogql/resolve/schema.ts'
import type { TableFields } from '../../hogql/tables/definition.ts'
import { RESOURCE_NAMES } from '../../hogql/tables/resources.ts'
import { TABLES } from '../../hogql/tables.ts'

/** What a field is, in the words of editors of this interface. */
export type FieldType =
  | 'array'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'decimal'
  | 'float'
  | 'integer'
  | 'json'
  | 'lazy_table'
  | 'string'
  | 'unknown'
  | 'virtual_table'

export type CatalogueField = {
  readonly name: string
  readonly type: FieldType
  /** The table that a row of its own (`person`) belongs to; null of values. */
  readonly table: string | null
  /** The names of the fields of a row of its own; none of values. */
  readonly field_names: readonly string[]
  /** Those fields, worked out when asked for. */
  readonly readFields: () => CatalogueFields
}

export type CatalogueFields = ReadonlyMap<string, CatalogueField>

const NO_FIELDS = { table: null, field_names: [], readFields: () => new Map() } as const

/** Rows that are joined when a query names them, by the table they are of; others lie in the same row. */
const JOINED_TABLES: Readonly<Record<string, string>> = {
  pdi: 'person_distinct_ids',
  person: 'persons',
  session: 'sessions',
  group_0: 'groups',
  group_1: 'groups',
  group_2: 'groups',
  group_3: 'groups',
  group_4: 'groups',
}

/** The names of all tables, in the order of the catalogue. */
export function tableNames(): readonly string[] {
  return [...TABLES.keys(), ...RESOURCE_NAMES, ...SCHEMA_TABLES]
}

/** The fields of a table; null when there is no such table. */
export function findTableFields(name: string): CatalogueFields | null {
  const table = TABLES.get(name)
  if (table !== undefined) return readFields(table.fields, { table: name, path: [] })
  return tableNames().includes(name) ? starFields(name) : null
}

/** True of a field that can be asked for by its own name. */
export function hasTableField(table: string, name: string): boolean {
  const known = TABLES.get(table)
  if (known !== undefined) return Object.hasOwn(known.fields, name)
  return findTableFields(table)?.has(name) ?? false
}

/** The fields of a table that has no more than `*` answers. */
function starFields(name: string): CatalogueFields {
  const select = { ...selectOf([field(['*'])]), select_from: joinOf(field(name.split('.'))) }
  const { columns, types } = compileSelect(select, NOWHERE_CONTEXT)
  return new Map(
    columns.map((column, index) => {
      const type = fieldType(column, types[index] ?? '')
      return [column, { name: column, type, ...NO_FIELDS }]
    }),
  )
}

type CatalogPosition = { readonly table: string; readonly path: readonly string[] }

function readFields(fields: TableFields, { table, path }: CatalogPosition): CatalogueFields {
  const values = Object.keys(fields).filter((name) => fields[name]?.kind === 'value')
  const types = typesOf(values, { table, path })
  const read = Object.entries(fields).map(([name, definition]): [string, CatalogueField] => {
    if (definition.kind === 'value') {
      return [name, { name, type: types.get(name) ?? 'unknown', ...NO_FIELDS }]
    }
    const joined = JOINED_TABLES[name] ?? null
    return [
      name,
      {
        name,
        type: joined === null ? 'virtual_table' : 'lazy_table',
        table: joined,
        field_names: Object.keys(definition.fields),
        readFields: () => readFields(definition.fields, { table, path: [...path, name] }),
      },
    ]
  })
  return new Map(read)
}

/** Only types are asked for, which no project's data and no time change; what is compiled is never run. */
const NOWHERE_CONTEXT = {
  project_id: 1,
  timezone: 'UTC',
  week_start_day: 0,
  now_us: 0n,
  property_types: new Map(),
} as const

/** The types that the compiler finds. */
function typesOf(
  names: readonly string[],
  { table, path }: CatalogPosition,
): ReadonlyMap<string, FieldType> {
  if (names.length === 0) return new Map()
  const select = {
    ...selectOf(names.map((name) => field([...path, name]))),
    select_from: joinOf(field([table])),
  }
  const { types } = compileSelect(select, NOWHERE_CONTEXT)
  return new Map(names.map((name, index) => [name, fieldType(name, types[index] ?? '')]))
}

/** A ClickHouse type in the words of editors. */
function fieldType(name: string, type: string): FieldType {
  // Text to the engine, but what is inside has names.
  if (name === 'properties') return 'json'
  const bare = type.replace(/^(?:Nullable|LowCardinality)\((.*)\)$/, '$1')
  return TYPES.find(([pattern]) => pattern.test(bare))?.[1] ?? 'unknown'
}

const TYPES: readonly (readonly [RegExp, FieldType])[] = [
  [/^(?:String|UUID)/, 'string'],
  [/^U?Int/, 'integer'],
  [/^Float/, 'float'],
  [/^Decimal/, 'decimal'],
  [/^Bool/, 'boolean'],
  [/^DateTime/, 'datetime'],
  [/^Date/, 'date'],
  [/^(?:Array|Tuple)/, 'array'],
  [/^(?:Map|JSON)/, 'json'],
]

/** A name as queries spell it: quoted where it is no plain word. */
export function quotedName(name: string): string {
  return printHogQL(field([name]))
}
