/** `system.information_schema`: what the catalogue has, as rows of two tables. */

import type { Expr } from '../ir.ts'
import { bindInt, bindText } from '../spell.ts'
import type { FieldDef } from '../tables/definition.ts'
import { TABLES } from '../tables.ts'
import { INT64, STRING, type Type, type TypeKind } from '../types.ts'
import { type Entry, type NamedColumn, type Resolver } from './scope.ts'
import { openColumns, openTable } from './sources.ts'

const OF_TABLES = ['table_schema', 'table_name', 'table_type']
const OF_COLUMNS = [
  'table_schema',
  'table_name',
  'column_name',
  'ordinal_position',
  'data_type',
  'is_nullable',
]

type Schema = { readonly columns: readonly string[]; readonly rows: readonly (readonly Cell[])[] }
type Cell = bigint | string

const SYSTEM = ['tables', 'columns'] as const
type SystemTable = (typeof SYSTEM)[number]

/** The names these tables have in FROM. */
export const SCHEMA_TABLES: readonly string[] = SYSTEM.map(systemName)

function systemName(table: string): string {
  return `system.information_schema.${table}`
}

/** The table of that name, null when it is none of these. */
export function openSchema(name: string, alias: string | null, resolver: Resolver): Entry | null {
  const table = SYSTEM.find((known) => systemName(known) === name)
  if (table === undefined) return null
  const { columns, rows } = table === 'tables' ? listTables() : listColumns(resolver)
  resolver.next.relation += 1
  const named = columns.map(
    (column, index): NamedColumn => ({
      name: column,
      id: index + 1,
      type: typeof rows[0]?.[index] === 'bigint' ? INT64 : STRING,
    }),
  )
  const bound = rows.map((row) => row.map(bindCell))
  return openColumns(alias, named, { kind: 'rows', id: resolver.next.relation, rows: bound })
}

function bindCell(cell: Cell): Expr {
  return typeof cell === 'bigint' ? bindInt(cell, true) : bindText(cell)
}

function listTables(): Schema {
  const own = [...TABLES.keys()].map((name) => ['public', name, 'posthog'])
  const system = SYSTEM.map((name) => ['information_schema', name, 'information_schema'])
  return { columns: OF_TABLES, rows: [...own, ...system] }
}

const OF_SYSTEM: Readonly<Record<SystemTable, readonly string[]>> = {
  tables: OF_TABLES,
  columns: OF_COLUMNS,
}

function listColumns(resolver: Resolver): Schema {
  const own = [...TABLES].flatMap(([name, table]) => {
    const types = typesOf(name, resolver)
    return Object.entries(table.fields).map(([column, field], index): readonly Cell[] => [
      'public',
      name,
      column,
      BigInt(index + 1),
      ...described(field, types.get(column)),
    ])
  })
  const system = SYSTEM.flatMap((name) =>
    OF_SYSTEM[name].map((column, index): readonly Cell[] => [
      'information_schema',
      name,
      column,
      BigInt(index + 1),
      column === 'ordinal_position' ? 'Integer' : 'String',
      'NO',
    ]),
  )
  return { columns: OF_COLUMNS, rows: [...own, ...system] }
}

/** The type of every column, found by opening the table in a question that nobody asks. */
function typesOf(name: string, resolver: Resolver): ReadonlyMap<string, Type> {
  const table = TABLES.get(name)
  if (table === undefined) throw new Error(`there is no table ${name}`)
  const unasked: Resolver = { ...resolver, ctes: [], reads: new Set(), next: { ...resolver.next } }
  const entry = openTable(table, null, unasked)
  return new Map(
    Object.entries(table.fields).flatMap(([column, field]): [string, Type][] => {
      const found = field.kind === 'value' ? entry.find(column) : null
      return found?.kind === 'value' ? [[column, found.expr.type]] : []
    }),
  )
}

function described(field: FieldDef, type: Type | undefined): readonly [string, string] {
  if (field.kind === 'row' || type === undefined) return ['Struct', 'YES']
  return [NAMES[type.kind] ?? 'String', type.nullable ? 'YES' : 'NO']
}

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
