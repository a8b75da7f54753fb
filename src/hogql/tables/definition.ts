/** Definitions of catalog tables: fields, the joins that fields add, and views over other tables. */

import { memoizeValue } from '../../memoize.ts'
import type { CompileContext } from '../context.ts'
import { parseExpr } from '../parser/parser.ts'
import type { ColumnExpr, PhysicalColumn, RelationName, ResolvedExpr } from '../sql/ir.ts'
import { applyFragment, bindInt } from '../sql/sql-fragments.ts'
import type { Expr as Tree } from '../syntax/ast.ts'
import { dateTimeType, STRING, TRUTH, type Type } from '../types/types.ts'

/** One row of a table in FROM, as field definitions see it. */
export type TableSource = {
  readonly project_id: number
  readonly timezone: string
  column(name: PhysicalColumn, type: Type): ColumnExpr
  /** A column of a view, computed when first used. */
  computed(name: string): ResolvedExpr
  /** The row joined under a name of the table's `joins`; the join is added once, when first used. */
  join(name: string): TableSource
}

/** A field is a value, or (`person`, `pdi`, `group_0`) a row whose fields follow after a dot. */
export type FieldDef =
  | { readonly kind: 'row'; readonly fields: TableFields }
  | {
      readonly kind: 'value'
      readonly is_starred: boolean
      readonly build: (source: TableSource) => ResolvedExpr
    }
export type TableFields = Readonly<Record<string, FieldDef>>

/** A left join, added when a field needs it. */
export type JoinDef = {
  readonly table: TableDef
  readonly on: (parent: TableSource, joined: TableSource) => ResolvedExpr
  /** An instant of the parent's row that lies within the joined group. */
  readonly near?: PhysicalColumn
}
/** A relation of the engine. */
export type ScanDef = {
  readonly kind: 'scan'
  readonly relation: RelationName
  readonly fields: TableFields
  readonly joins: Readonly<Record<string, JoinDef>>
}
/** Rows computed from another table; only used columns are computed. */
export type ViewDef = {
  readonly kind: 'view'
  readonly fields: TableFields
  readonly joins: Readonly<Record<string, JoinDef>>
  readonly of: ScanDef
  /** Each column as HogQL over the rows of `of` and the other columns; parsed when a query first reads the view. */
  readonly columns: () => ReadonlyMap<string, Tree>
  readonly where: (context: CompileContext) => Tree | null
  readonly group_by: readonly string[]
  /** For groups that span a few days at most: their columns that are instants of one of the rows. */
  readonly instants: readonly string[]
}
export type TableDef = ScanDef | ViewDef

/** Parses the columns of a view at their first use. The texts are constants of this program. */
export function viewColumns(texts: Readonly<Record<string, string>>): ViewDef['columns'] {
  return memoizeValue(
    () => new Map(Object.entries(texts).map(([name, text]) => [name, parseExpr(text)])),
  )
}

/** The fields of a view: its columns. */
export function viewFields(texts: Readonly<Record<string, string>>): TableFields {
  return Object.fromEntries(
    Object.keys(texts).map((name) => [name, computedField((source) => source.computed(name))]),
  )
}

const instantType = (source: TableSource): Type => dateTimeType(source.timezone)

export function plainColumn(name: PhysicalColumn, type: Type): FieldDef {
  return { kind: 'value', is_starred: true, build: (source) => source.column(name, type) }
}

export function time(name: PhysicalColumn): FieldDef {
  return {
    kind: 'value',
    is_starred: true,
    build: (source) => source.column(name, instantType(source)),
  }
}

export function json(owner: string): FieldDef {
  return plainColumn('properties', { kind: 'json', owner, nullable: false })
}

export function computedField(
  build: (source: TableSource) => ResolvedExpr,
  is_starred = true,
): FieldDef {
  return { kind: 'value', is_starred, build }
}

export const TEAM_ID = computedField((source) => bindInt(source.project_id, true), false)

/** The same fields, read from a joined row. */
export function joinedFields(join: string, fields: TableFields): FieldDef {
  const reached = Object.entries(fields).map(([name, field]): [string, FieldDef] =>
    field.kind === 'row'
      ? [name, joinedFields(join, field.fields)]
      : [name, { ...field, build: (source) => field.build(source.join(join)) }],
  )
  return { kind: 'row', fields: Object.fromEntries(reached) }
}

export function equal(left: ResolvedExpr, right: ResolvedExpr): ResolvedExpr {
  return applyFragment('equals', [left, right], TRUTH)
}

/** ClickHouse stores '' in an event's own text columns where there is no value. */
export function orEmpty(text: ResolvedExpr): ResolvedExpr {
  return applyFragment('orEmpty', [text], STRING)
}
