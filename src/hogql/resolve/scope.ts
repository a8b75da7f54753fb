/** What names mean at a place of the text: tables, aliases, CTEs, lambda parameters, from the inside out. */

import type * as ast from '../ast.ts'
import type { CompileContext } from '../context.ts'
import type {
  Cte,
  ProjectGuard,
  Relation,
  RelationName,
  ResolvedExpr,
  ResolvedQuery,
  Unnest,
} from '../ir.ts'
import type { FieldDef } from '../tables/definition.ts'
import type { Type } from '../types.ts'
import type { Sizes, Spend } from './size-limits.ts'

/** What a name was found to be: a value, or a row (`person`) of which a field must still be named. */
export type ScopeMember =
  | {
      readonly kind: 'row'
      readonly name: string
      readonly members: readonly string[]
      readonly find: (name: string) => ScopeMember | null
    }
  | { readonly kind: 'value'; readonly expr: ResolvedExpr }

/** One table of FROM under the name it has there. */
export type ScopeEntry = {
  readonly name: string | null
  /** The field of that name, null when there is none. */
  readonly find: (name: string) => ScopeMember | null
  /** What `*` stands for, in order. */
  readonly star: () => readonly NamedExpr[]
  /** The relation with all joins that fields brought in so far. */
  readonly relation: () => Relation
  /** From now on every column may be NULL: the other side of an outer join. */
  readonly loosen: () => void
  /** Fields that `USING` made one with those of an earlier table. */
  readonly merged: Set<string>
  /** What the bare names of fields mean that `USING` made one with those of a later table. */
  readonly united: Map<string, () => ResolvedExpr>
}
export type NamedExpr = { readonly name: string; readonly expr: ResolvedExpr }

/** An alias of the select list: resolved when first used; while it is being resolved its name means the column. */
export type AliasSlot = {
  readonly node: ast.Expr
  state: 'busy' | 'done' | 'waiting'
  expr: ResolvedExpr | null
}

/** A name from WITH: rows (resolved when first used) or an expression put in wherever the name stands. */
export type CteSlot = {
  readonly node: ast.CTE
  readonly scope: NameScope
  rows: CteRows | null
  busy: boolean
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
  /** Arrays that `arrayJoin` opens into rows of the select. */
  readonly unnests: Unnest[]
}

/** A query with the names its columns have for whoever selects from it. */
export type NamedQuery = { readonly query: ResolvedQuery; readonly names: readonly string[] }

/** The resolver of one statement: its parts call each other through it. */
export type Resolver = {
  readonly context: CompileContext
  readonly guard: ProjectGuard
  /** Where nothing but the catalogue is in sight. */
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

/** What the name of a field means by itself: none that is one with a field of an earlier table. */
export function findBare(entry: ScopeEntry, name: string): ScopeMember | null {
  if (entry.merged.has(name)) return null
  const united = entry.united.get(name)
  return united === undefined ? entry.find(name) : { kind: 'value', expr: united() }
}

/** The fields of a table that `*` by itself stands for. */
export function bareColumns(entry: ScopeEntry): readonly NamedExpr[] {
  return entry.star().flatMap(({ name, expr }) => {
    if (entry.merged.has(name)) return []
    return [{ name, expr: entry.united.get(name)?.() ?? expr }]
  })
}

/** What a sub-select in FROM sees of the places around it: the names from WITH, but no rows. */
export function withoutRows(scope: NameScope | null): NameScope | null {
  if (scope === null) return null
  return innerScope(withoutRows(scope.parent), { ctes: scope.ctes })
}

/** The fields of a row that a table's field stands for. */
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
