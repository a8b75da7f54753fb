/** `system.information_schema`: the catalog as tables. */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { bindInt, bindText } from '../../sql/sql-fragments.ts'
import type { FieldDef } from '../../tables/definition.ts'
import { RESOURCE_NAMES, type ResourceName, resourceColumns } from '../../tables/resources.ts'
import { TABLES } from '../../tables/tables.ts'
import { INT64, STRING, type Type, type TypeKind } from '../../types/types.ts'
import { type NamedColumn, type Resolver, type ScopeEntry } from '../scope.ts'
import { resourceType } from './resources.ts'
import { openColumns, openTable } from './sources.ts'

/** The tables and the names of their columns. */
const SYSTEM = {
  tables: ['table_schema', 'table_name', 'table_type'],
  columns: [
    'table_schema',
    'table_name',
    'column_name',
    'ordinal_position',
    'data_type',
    'is_nullable',
  ],
  relationships: ['source_table', 'source_column', 'target_table', 'target_column'],
} as const
type SystemTable = keyof typeof SYSTEM

type SchemaCell = bigint | string
type SchemaRows = readonly (readonly SchemaCell[])[]

const SYSTEM_NAMES = Object.keys(SYSTEM) as readonly SystemTable[]

/** Names of these tables in FROM. */
export const SCHEMA_TABLES: readonly string[] = SYSTEM_NAMES.map(systemName)

function systemName(table: string): string {
  return `system.information_schema.${table}`
}

/** Opens the table of that name; null when it is none of these. */
export function openSchema(
  name: string,
  alias: string | null,
  resolver: Resolver,
): ScopeEntry | null {
  const table = SYSTEM_NAMES.find((known) => systemName(known) === name)
  if (table === undefined) return null
  resolver.next.relation += 1
  const rows = ROWS[table](resolver)
  const column_names = SYSTEM[table].map(
    (column, index): NamedColumn => ({
      name: column,
      id: index + 1,
      type: typeof rows[0]?.[index] === 'bigint' ? INT64 : STRING,
    }),
  )
  const bound = rows.map((row) => row.map(bindCell))
  return openColumns(alias, column_names, { kind: 'rows', id: resolver.next.relation, rows: bound })
}

function bindCell(cell: SchemaCell): ResolvedExpr {
  return typeof cell === 'bigint' ? bindInt(cell, true) : bindText(cell)
}

const ROWS = {
  tables: () => [
    ...[...TABLES.keys()].map((name) => ['public', name, 'posthog']),
    ...RESOURCE_NAMES.map((name) => schemaOf(name)),
    ...SYSTEM_NAMES.map((name) => ['information_schema', name, 'information_schema']),
  ],
  columns: (resolver) => [
    ...[...TABLES].flatMap(([name, table]) => {
      const types = typesOf(name, resolver)
      return Object.entries(table.fields).map(([column, field], index) => [
        'public',
        name,
        column,
        BigInt(index + 1),
        ...describeField(field, types.get(column)),
      ])
    }),
    ...RESOURCE_NAMES.flatMap((name) => resourceRows(name, resolver)),
    ...SYSTEM_NAMES.flatMap((name) =>
      SYSTEM[name].map((column, index) => [
        'information_schema',
        name,
        column,
        BigInt(index + 1),
        column === 'ordinal_position' ? 'Integer' : 'String',
        'NO',
      ]),
    ),
  ],
  relationships: () =>
    [...TABLES].flatMap(([name, table]) =>
      Object.entries(table.fields).flatMap(([column, field]) => {
        const target = field.kind === 'row' ? targetOf(column) : null
        return target === null ? [] : [[name, column, ...target]]
      }),
    ),
} as const satisfies Record<SystemTable, (resolver: Resolver) => SchemaRows>

/** The table a row-valued column refers to, and the column it is joined by. */
function targetOf(column: string): readonly [string, string] | null {
  if (column.startsWith('group_')) return ['groups', 'key']
  return Object.hasOwn(TARGETS, column) ? (TARGETS[column] ?? null) : null
}

const TARGETS: Readonly<Record<string, readonly [string, string]>> = {
  pdi: ['person_distinct_ids', 'distinct_id'],
  person: ['persons', 'id'],
  session: ['sessions', 'session_id'],
}

function schemaOf(name: ResourceName): readonly [string, string, string] {
  return name.startsWith('system.') ? ['system', name, 'system'] : ['public', name, 'posthog']
}

function resourceRows(name: ResourceName, { context }: Resolver): SchemaRows {
  const [schema] = schemaOf(name)
  const kinds = Object.entries(resourceColumns(name) ?? {})
  const resource_columns = kinds.map(([column, kind], index) => {
    const { kind: type } = resourceType(kind, context.timezone)
    return [schema, name, column, BigInt(index + 1), NAMES[type] ?? 'String', 'YES']
  })
  return [
    ...resource_columns,
    [schema, name, 'team_id', BigInt(resource_columns.length + 1), 'Integer', 'NO'],
  ]
}

/** The type of every column, found by resolving a select of the table that is never run. */
function typesOf(name: string, resolver: Resolver): ReadonlyMap<string, Type> {
  const table = TABLES.get(name)
  if (table === undefined) throw new Error(`there is no table ${name}`)
  const context = { ...resolver.context, hidden_tables: [] }
  const never_run: Resolver = {
    ...resolver,
    context,
    ctes: [],
    reads: new Set(),
    next: { ...resolver.next },
  }
  const entry = openTable(table, null, never_run)
  return new Map(
    Object.entries(table.fields).flatMap(([column, field]): [string, Type][] => {
      const member = field.kind === 'value' ? entry.find(column) : null
      return member?.kind === 'value' ? [[column, member.expr.type]] : []
    }),
  )
}

function describeField(field: FieldDef, type: Type | undefined): readonly [string, string] {
  if (field.kind === 'row' || type === undefined) return ['Struct', 'YES']
  return [NAMES[type.kind] ?? 'String', type.nullable ? 'YES' : 'NO']
}

/** The names of types in `data_type`; of all others `String`. */
const NAMES: Readonly<Partial<Record<TypeKind, string>>> = {
  array: 'Array',
  bool: 'Boolean',
  date: 'Date',
  datetime: 'DateTime',
  decimal: 'Decimal',
  float: 'Float',
  int: 'Integer',
  json: 'JSON',
  map: 'Struct',
  truth: 'Boolean',
  tuple: 'Struct',
  uuid: 'UUID',
}
