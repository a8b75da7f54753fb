/** Scopes: the tables, aliases, CTEs and lambda parameters that names can refer to, innermost first. */

import type { CompileContext } from '../context.ts'
import type {
  Cte,
  ProjectGuard,
  Relation,
  RelationName,
  ResolvedExpr,
  ResolvedQuery,
  Unnest,
} from '../sql/ir.ts'
import type * as ast from '../syntax/ast.ts'
import type { FieldDef } from '../tables/definition.ts'
import type { Type } from '../types/types.ts'
import type { Sizes, Spend } from './size-limits.ts'

/** The meaning of a name: a value, or a row (`person`) of which a field must follow. */
export type ScopeMember =
  | {
      readonly kind: 'row'
      readonly name: string
      readonly members: readonly string[]
      readonly find: (name: string) => ScopeMember | null
    }
  | { readonly kind: 'value'; readonly expr: ResolvedExpr }

/** One table of FROM, by its name there. */
export type ScopeEntry = {
  readonly name: string | null
  /** The field of that name; null when there is none. */
  readonly find: (name: string) => ScopeMember | null
  /** The columns of `*`, in order. */
  readonly star: () => readonly NamedExpr[]
  /** The relation with all joins that fields have added so far. */
  readonly relation: () => Relation
  /** Makes every column nullable: the table is the outer side of an outer join. */
  readonly loosen: () => void
  /** Fields that `USING` merged with those of an earlier table. */
  readonly merged: Set<string>
  /** The value of bare field names that `USING` merged with those of a later table. */
  readonly united: Map<string, () => ResolvedExpr>
}
export type NamedExpr = { readonly name: string; readonly expr: ResolvedExpr }

/** An alias of the select list, resolved when first used; meanwhile its name refers to the column. */
export type AliasSlot = {
  readonly node: ast.Expr
  state: 'busy' | 'done' | 'waiting'
  expr: ResolvedExpr | null
}

/** A name from WITH: rows (resolved when first used) or an expression that is expanded at each use. */
export type CteSlot = {
  readonly node: ast.CTE
  readonly scope: NameScope
  rows: CteRows | null
  is_busy: boolean
}
export type CteRows = { readonly id: number; readonly columns: readonly NamedColumn[] }
export type NamedColumn = { readonly name: string; readonly id: number; readonly type: Type }

export type NameScope = {
  readonly parent: NameScope | null
  readonly entries: ScopeEntry[]
  readonly aliases: Map<string, AliasSlot>
  readonly ctes: Map<string, CteSlot>
  readonly locals: ReadonlyMap<string, ResolvedExpr>
  readonly windows: Map<string, ast.WindowExpr>
  /** Arrays that `arrayJoin` unnests into rows of the select. */
  readonly unnests: Unnest[]
}

/** A query with the names of its columns. */
export type NamedQuery = { readonly query: ResolvedQuery; readonly names: readonly string[] }

/** The resolver of one statement; its parts call each other through it. */
export type Resolver = {
  readonly context: CompileContext
  readonly guard: ProjectGuard
  /** The scope with nothing but the catalog. */
  readonly root: NameScope
  readonly ctes: Cte[]
  readonly reads: Set<RelationName>
  readonly next: { relation: number; column: number; local: number; cte: number; expansion: number }
  readonly sizes: Sizes
  readonly spend: Spend
  readonly expr: (node: ast.Expr, scope: NameScope) => ResolvedExpr
  readonly query: (node: ast.Select | ast.ValuesQuery, scope: NameScope) => NamedQuery
}

export function innerScope(parent: NameScope | null, changes: Partial<NameScope> = {}): NameScope {
  return {
    parent,
    entries: [],
    aliases: new Map(),
    ctes: new Map(),
    locals: new Map(),
    windows: new Map(),
    unnests: [],
    ...changes,
  }
}

/** The field of an unqualified name; null where USING merged it with an earlier table's. */
export function findBare(entry: ScopeEntry, name: string): ScopeMember | null {
  if (entry.merged.has(name)) return null
  const united = entry.united.get(name)
  return united === undefined ? entry.find(name) : { kind: 'value', expr: united() }
}

/** The fields of a table in an unqualified `*`. */
export function bareColumns(entry: ScopeEntry): readonly NamedExpr[] {
  return entry.star().flatMap(({ name, expr }) => {
    if (entry.merged.has(name)) return []
    return [{ name, expr: entry.united.get(name)?.() ?? expr }]
  })
}

/** The outer scope of a sub-select in FROM: names from WITH, but no rows. */
export function withoutRows(scope: NameScope | null): NameScope | null {
  if (scope === null) return null
  return innerScope(withoutRows(scope.parent), { ctes: scope.ctes })
}

/** The fields of a row-valued field. */
export function rowOf(
  field: FieldDef & { kind: 'row' },
  name: string,
  open: (field: FieldDef, name: string) => ScopeMember,
): ScopeMember {
  return {
    kind: 'row',
    name,
    members: Object.keys(field.fields),
    find: (member) => {
      const match = Object.hasOwn(field.fields, member) ? field.fields[member] : undefined
      return match === undefined ? null : open(match, member)
    },
  }
}
