/** Tables of the catalogue and sub-selects as entries of FROM; the joins a table's fields need are put in once, when used. */

import type { Expr } from '../ir.ts'
import type { PhysicalColumn, Relation } from '../ir-queries.ts'
import type { FieldDef, Source, TableDef } from '../tables.ts'
import { type Type, withNull } from '../types.ts'
import { type Entry, type Found, type NamedColumn, type Resolver, rowOf } from './scope.ts'

/** A table of the catalogue. This is the only place where scans are made. */
export function openTable(table: TableDef, name: string | null, resolver: Resolver): Entry {
  let tree: Relation = scan(table, resolver)
  let loose = false
  const join = (relation: Relation, on: Expr): void => {
    tree = { kind: 'join', join: 'LEFT', left: tree, right: relation, on }
  }
  const source = openSource(table, tree.kind === 'scan' ? tree.id : 0, {
    resolver,
    join,
    isLoose: () => loose,
  })
  const open = (field: FieldDef, field_name: string): Found =>
    field.kind === 'row'
      ? rowOf(field, field_name, open)
      : { kind: 'value', expr: field.build(source) }
  return {
    name,
    merged: new Set(),
    find: (field_name) => {
      const field = Object.hasOwn(table.fields, field_name) ? table.fields[field_name] : undefined
      return field === undefined ? null : open(field, field_name)
    },
    star: () =>
      Object.entries(table.fields).flatMap(([field_name, field]) =>
        field.kind === 'value' && field.starred
          ? [{ name: field_name, expr: field.build(source) }]
          : [],
      ),
    relation: () => tree,
    loosen: () => {
      loose = true
    },
  }
}

function scan(table: TableDef, resolver: Resolver): Relation & { kind: 'scan' } {
  resolver.reads.add(table.relation)
  resolver.next.relation += 1
  return {
    kind: 'scan',
    id: resolver.next.relation,
    table: table.relation,
    project: resolver.guard,
    clocks: [],
  }
}

type Opening = {
  readonly resolver: Resolver
  readonly join: (relation: Relation, on: Expr) => void
  readonly isLoose: () => boolean
}

function openSource(table: TableDef, id: number, opening: Opening): Source {
  const { resolver, join, isLoose } = opening
  const joined = new Map<string, Source>()
  const source: Source = {
    project_id: resolver.context.project_id,
    timezone: resolver.context.timezone,
    column: (name: PhysicalColumn, type: Type) => ({
      kind: 'column',
      relation: id,
      name,
      type: withNull(type, type.nullable || isLoose()),
    }),
    join: (name) => {
      const known = joined.get(name)
      if (known !== undefined) return known
      const def = table.joins[name]
      if (def === undefined) throw new Error(`${table.relation} has no join ${name}`)
      const right = scan(def.table, resolver)
      const opened = openSource(def.table, right.id, { resolver, join, isLoose: () => true })
      joined.set(name, opened)
      // The condition may itself ask for joins: they must stand in the tree before this one.
      const on = def.on(source, opened)
      join(right, on)
      return opened
    },
  }
  return source
}

/** Rows with named columns: a sub-select, a CTE, VALUES, numbers(). */
export function openColumns(
  name: string | null,
  columns: readonly NamedColumn[],
  relation: Relation & { readonly id: number },
): Entry {
  let loose = false
  const read = (column: NamedColumn): Expr => ({
    kind: 'column',
    relation: relation.id,
    name: `c${column.id}`,
    type: withNull(column.type, column.type.nullable || loose),
  })
  return {
    name,
    merged: new Set(),
    find: (field) => {
      const column = columns.find((known) => known.name === field)
      return column === undefined ? null : { kind: 'value', expr: read(column) }
    },
    star: () => columns.map((column) => ({ name: column.name, expr: read(column) })),
    relation: () => relation,
    loosen: () => {
      loose = true
    },
  }
}
