/** How large a query grows when its aliases and WITH expressions are put in: doubling names must not double for ever. */

import type { SourceSpan } from '../ast.ts'
import { BudgetExceeded, type CompileBudget, FULL_BUDGET } from '../budget.ts'
import type { CompileContext } from '../context.ts'
import type { Relation, ResolvedExpr, ResolvedQuery, Statement } from '../ir.ts'
import { mapChildren, mapRelation, mapSelect } from '../passes/walk.ts'
import type { Type } from '../types.ts'
import { refuse } from './refusals.ts'

/** Nodes one alias may stand for. */
const ALIAS_NODES_MAX = 10_000
/** Characters of the names of one select's columns: a star repeats those of its table. */
const NAMES_LENGTH_MAX = 1_048_576
/** Characters of a printed name that count as one part. */
const NAME_CHARACTERS_PER_PART = 32
/** Parts of one type. */
const TYPE_PARTS_MAX = 5_000
/** Columns of one select, stars expanded. */
const COLUMNS_MAX = 5_000
/** Nodes that passes may make of one of the statement's; a comparison of times becomes twelve. */
const LOWERED_PER_NODE_MAX = 10
/** Times WITH expressions may be put in. */
export const EXPANSIONS_MAX = 2_000

/** Sizes known so far: shared parts are counted wherever they stand, but looked at once. */
export type Sizes = WeakMap<object, number>

/** Charges work to the statement before, or while, it is done. Refuses what goes beyond the budget. */
export type Spend = (parts: number, at: SourceSpan) => void

/** A statement's account of work. */
export function openAccount({ work_max }: CompileBudget): Spend {
  let left = work_max
  return (parts, at) => {
    left -= parts
    if (left < 0) throw overBudget(at)
  }
}

function overBudget({ start, end }: SourceSpan): BudgetExceeded {
  return new BudgetExceeded(end > start ? { span: { start, end } } : {})
}

/** Counts the columns of one select while they are made. Refuses too many, and names that are too long together. */
export function openColumnCount(): (name: string, at: SourceSpan) => void {
  let columns = 0
  let length = 0
  return (name, at) => {
    columns += 1
    length += name.length
    if (columns > COLUMNS_MAX) throw refuse(`A select has at most ${COLUMNS_MAX} columns`, at)
    if (length > NAMES_LENGTH_MAX) {
      const detail = `The names of a select's columns have at most ${NAMES_LENGTH_MAX} characters`
      throw refuse(detail, at)
    }
  }
}

/** The budget's part that a name takes which is printed from the tree. */
export function partsOfName(name: string): number {
  return Math.ceil(name.length / NAME_CHARACTERS_PER_PART)
}

/** Refuses an alias that stands for too much. */
export function requireSmallAlias(expr: ResolvedExpr, sizes: Sizes, at: SourceSpan): void {
  if (sizeOfExpr(expr, sizes) > ALIAS_NODES_MAX) {
    throw refuse('The expression grows too large when its aliases are put in', at)
  }
}

/** Refuses a statement that is too large once everything is put in. */
export function requireSmallQuery(query: ResolvedQuery, resolver: Measured, at: SourceSpan): void {
  const { nodes_max } = resolver.context.budget ?? FULL_BUDGET
  if (sizeOfQuery(query, resolver.sizes) > nodes_max) throw overBudget(at)
}

/**
 * Refuses a statement of which a pass has made too much. Engines have no name for an argument that a function needs
 * twice, so it is printed twice, and functions inside one another double it at each level: `between` 30 times over would
 * be a billion nodes. They share their parts, so what is measured here costs as much as there are different ones.
 */
export function requireSmallLowered(
  { ctes, query }: Statement,
  sizes: Sizes,
  { nodes_max }: CompileBudget = FULL_BUDGET,
): void {
  const parts = [query, ...ctes.map((cte) => cte.query)]
  const size = parts.reduce((sum, part) => sum + sizeOfQuery(part, sizes), 0)
  if (size > LOWERED_PER_NODE_MAX * nodes_max) throw new BudgetExceeded({})
}

type Measured = { readonly context: Pick<CompileContext, 'budget'>; readonly sizes: Sizes }

function sizeOfExpr(expr: ResolvedExpr, sizes: Sizes): number {
  return sizes.get(expr) ?? measured(expr, sizes)
}

function measured(expr: ResolvedExpr, sizes: Sizes): number {
  let size = 1
  mapChildren(
    expr,
    (child) => {
      size += sizeOfExpr(child, sizes)
      return child
    },
    (query) => {
      size += sizeOfQuery(query, sizes)
      return query
    },
  )
  sizes.set(expr, size)
  return size
}

function sizeOfQuery(query: ResolvedQuery, sizes: Sizes): number {
  const known = sizes.get(query)
  if (known !== undefined) return known
  let size = 1
  const count = (expr: ResolvedExpr): ResolvedExpr => {
    size += sizeOfExpr(expr, sizes)
    return expr
  }
  if (query.kind === 'select') {
    const inRelation = (relation: Relation): Relation => {
      if (relation.kind === 'derived') size += sizeOfQuery(relation.query, sizes)
      return mapRelation(relation, count, inRelation)
    }
    mapSelect(query, count, inRelation)
  } else {
    for (const leg of [query.first, ...query.rest.map((rest) => rest.query)]) {
      size += sizeOfQuery(leg, sizes)
    }
  }
  sizes.set(query, size)
  return size
}

/** Sizes of types known so far. A tuple of one thing twice is twice as large, though what it holds is one object. */
const type_sizes = new WeakMap<Type, number>()

/** Refuses a type of too many parts: selects in selects would double it at each level. */
export function requireSmallType(type: Type, at: SourceSpan): void {
  if (sizeOfType(type) > TYPE_PARTS_MAX) throw refuse('The type of the expression is too large', at)
}

function sizeOfType(type: Type): number {
  const parts = partsOfType(type)
  if (parts.length === 0) return 1
  const known = type_sizes.get(type)
  if (known !== undefined) return known
  const size = parts.reduce((sum, part) => sum + sizeOfType(part), 1)
  type_sizes.set(type, size)
  return size
}

function partsOfType(type: Type): readonly Type[] {
  if (type.kind === 'tuple') return type.items
  if (type.kind === 'array') return [type.of]
  if (type.kind === 'map') return [type.key, type.value]
  if (type.kind === 'state') return type.args
  return type.kind === 'lambda' ? [type.returns] : []
}
