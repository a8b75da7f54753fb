/** The tables that queries can name, with fields and types as the API's editors show them. */
import { compileSelect } from '../../hogql/compile.ts'
import { printHogQL } from '../../hogql/print-hogql/print-hogql.ts'
import { SCHEMA_TABLES } from '../../hogql/resolve/from/schema.ts'
import { field } from '../../hogql/syntax/nodes.ts'
import type { TableFields } from '../../hogql/tables/definition.ts'
import { RESOURCE_NAMES } from '../../hogql/tables/resources.ts'
import { TABLES } from '../../hogql/tables/tables.ts'
import { select } from '../../hogql/template.ts'

/** The field types of the API. */
type FieldType =
  | 'array'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'decimal'
  | 'field_traverser'
  | 'float'
  | 'integer'
  | 'json'
  | 'lazy_table'
  | 'string'
  | 'unknown'
  | 'virtual_table'

export type CatalogField = {
  readonly name: string
  readonly type: FieldType
  /** The table of a joined row (`person`); null for values. */
  readonly table: string | null
  /** The field names of a nested row; empty for values. */
  readonly field_names: readonly string[]
  /** The field that this one is another name of; null for others. */
  readonly chain: readonly string[] | null
  /** Reads the fields of a nested row; lazy, because rows nest in a circle. */
  readonly readFields: () => CatalogFields
}

export type CatalogFields = ReadonlyMap<string, CatalogField>

const NO_FIELDS = {
  table: null,
  field_names: [],
  chain: null,
  readFields: () => new Map(),
} as const

/** Fields that are joined rows, by their table; other nested fields are part of the same row. */
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

/** The names of all tables, in the catalog's order. */
export function tableNames(): readonly string[] {
  return [...TABLES.keys(), ...RESOURCE_NAMES, ...SCHEMA_TABLES]
}

/** The project's group types: each name is a field of events, another name of `group_0` and so on. */
export type EventGroupTypes = ReadonlyMap<string, number>

/** Finds the fields of a table; null for an unknown table. */
export function findTableFields(name: string, group_types: EventGroupTypes): CatalogFields | null {
  const fields = findOwnFields(name)
  return fields !== null && name === 'events' ? withGroupTypes(fields, group_types) : fields
}

/**
 * The fields of every table that was asked for, since no project changes them: the schema of all tables takes 1 ms of
 * processor time instead of 107, and an editor asks for it each time that it opens.
 */
const fields_by_table = new Map<string, CatalogFields>()

function findOwnFields(name: string): CatalogFields | null {
  const known = fields_by_table.get(name)
  if (known !== undefined) return known
  const table = TABLES.get(name)
  if (table === undefined && !tableNames().includes(name)) return null
  const fields =
    table === undefined ? starFields(name) : readFields(table.fields, { table: name, path: [] })
  fields_by_table.set(name, fields)
  return fields
}

/** Adds the group types whose names are free, as the compiler resolves them. */
function withGroupTypes(fields: CatalogFields, group_types: EventGroupTypes): CatalogFields {
  const named = new Map(fields)
  for (const [name, index] of group_types) {
    const row = fields.get(`group_${index}`)
    if (row === undefined || fields.has(name)) continue
    named.set(name, { ...row, name, type: 'field_traverser', chain: [row.name] })
  }
  return named
}

/** True for a field of the table. */
export function hasTableField(table: string, name: string, group_types: EventGroupTypes): boolean {
  const definition = TABLES.get(table)
  if (definition === undefined) return findTableFields(table, group_types)?.has(name) ?? false
  return Object.hasOwn(definition.fields, name) || (table === 'events' && group_types.has(name))
}

/** Reads the fields of a table from the columns of `select *`. */
function starFields(name: string): CatalogFields {
  const all = select`select * from ${field(name.split('.'))}`
  const { columns, types } = compileSelect(all, TYPING_CONTEXT)
  return new Map(
    columns.map((column, index) => {
      const type = fieldType(column, types[index] ?? '')
      return [column, { name: column, type, ...NO_FIELDS }]
    }),
  )
}

type CatalogPosition = { readonly table: string; readonly path: readonly string[] }

function readFields(fields: TableFields, { table, path }: CatalogPosition): CatalogFields {
  const values = Object.keys(fields).filter((name) => fields[name]?.kind === 'value')
  const types = typesOf(values, { table, path })
  const read = Object.entries(fields).map(([name, definition]): [string, CatalogField] => {
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
        chain: null,
        readFields: () => readFields(definition.fields, { table, path: [...path, name] }),
      },
    ]
  })
  return new Map(read)
}

/** A context for compiling without running: types depend on no project's data and no time. */
const TYPING_CONTEXT = {
  project_id: 1,
  timezone: 'UTC',
  week_start_day: 0,
  hidden_tables: [],
  now_us: 0n,
  property_types: new Map(),
} as const

/** The types that the compiler finds. */
function typesOf(
  names: readonly string[],
  { table, path }: CatalogPosition,
): ReadonlyMap<string, FieldType> {
  if (names.length === 0) return new Map()
  const fields = names.map((name) => field([...path, name]))
  const { types } = compileSelect(select`select ${fields} from ${field([table])}`, TYPING_CONTEXT)
  return new Map(names.map((name, index) => [name, fieldType(name, types[index] ?? '')]))
}

/** A ClickHouse type in the words of editors. */
function fieldType(name: string, type: string): FieldType {
  // A text for the engine, whose members have names.
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
