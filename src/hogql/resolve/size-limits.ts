/**
 * Size limits after expansion: aliases and WITH expressions that use each other twice would double
 * the query at each level.
 */

import { Refusal } from '../../errors.ts'
import { BudgetExceeded, type CompileBudget, FULL_BUDGET } from '../budget.ts'
import type { CompileContext } from '../context.ts'
import { mapChildren, mapRelation, mapSelect } from '../passes/walk.ts'
import type { Fragment, Relation, ResolvedExpr, ResolvedQuery, Statement } from '../sql/ir.ts'
import { copiesByFragment } from '../sql/macro-copies.ts'
import type { SourceSpan } from '../syntax/ast.ts'
import type { Type } from '../types/types.ts'
import { refuse } from './refusals.ts'

/** Maximum nodes of one alias. */
const ALIAS_NODES_MAX = 10_000
/** Maximum characters of all column names of one select: a star repeats those of its table. */
const NAMES_LENGTH_MAX = 1_048_576
/** Characters of a printed name that are charged as one part. */
const NAME_CHARACTERS_PER_PART = 32
/** Maximum parts of one type. */
const TYPE_PARTS_MAX = 5_000
/** Maximum columns of one select, stars expanded. */
const COLUMNS_MAX = 5_000
/** Maximum growth by passes, per node of the statement; a comparison of times becomes twelve nodes. */
const LOWERED_PER_NODE_MAX = 10
/** Maximum expansions of WITH expressions. */
export const EXPANSIONS_MAX = 2_000

/**
 * Maximum nodes of a statement after the engine has put its macros in, which copy their arguments: a fixed number, and a
 * number for each node. Some 3,000 copies in one nested expression take it 2 to 10 s; the statements of insights have a
 * tenth of that.
 */
const COPIES_MAX = 3_000
const COPIES_PER_NODE_MAX = 6

/** Memoized sizes: shared parts are counted at each occurrence, but measured once. */
export type Sizes = WeakMap<object, number>

/** A way to count a statement's size: its nodes, or also their copies in macros. */
type Measure = { readonly sizes: Sizes; readonly counts_copies: boolean }

/** Charges work before, or while, it is done. Refuses when the budget is exceeded. */
export type Spend = (parts: number, at: SourceSpan) => void

/** The work account of one statement. */
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

/** Counts the columns of one select while they are made. Refuses too many columns or too long names. */
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

/** The work charged for a printed name. */
export function partsOfName(name: string): number {
  return Math.ceil(name.length / NAME_CHARACTERS_PER_PART)
}

/** Refuses an alias that expands to too many nodes. */
export function requireSmallAlias(expr: ResolvedExpr, sizes: Sizes, at: SourceSpan): void {
  if (sizeOfExpr(expr, { sizes, counts_copies: false }) > ALIAS_NODES_MAX) {
    throw refuse('The expression grows too large when its aliases are put in', at)
  }
}

/** Refuses a statement that is too large after expansion. */
export function requireSmallQuery(
  query: ResolvedQuery,
  resolver: SizeContext,
  at: SourceSpan,
): void {
  const { nodes_max } = resolver.context.budget ?? FULL_BUDGET
  const { sizes } = resolver
  if (sizeOfQuery(query, { sizes, counts_copies: false }) > nodes_max) throw overBudget(at)
}

/**
 * Refuses a statement that a pass has made too large. SQL has no name for an argument that a
 * function needs twice, so it is printed twice, and nested functions double it at each level: 30
 * nested `between` would be a billion nodes. They share their parts, so measuring costs only as
 * much as there are different nodes.
 */
export function requireSmallLowered(
  statement: Statement,
  sizes: Sizes,
  { nodes_max }: CompileBudget = FULL_BUDGET,
): void {
  const size = sizeOfStatement(statement, { sizes, counts_copies: false })
  if (size > LOWERED_PER_NODE_MAX * nodes_max) throw new BudgetExceeded({})
}

/** Refuses a lowered statement of which the engine would make too much: its macros copy their arguments. */
export function requireSmallForEngine(statement: Statement): void {
  const size = sizeOfStatement(statement, { sizes: new WeakMap(), counts_copies: true })
  if (size <= COPIES_MAX) return
  const nodes = sizeOfStatement(statement, { sizes: new WeakMap(), counts_copies: false })
  if (size <= COPIES_MAX + COPIES_PER_NODE_MAX * nodes) return
  throw new Refusal('invalid_input', 'The query is too large', { attr: 'query' })
}

function sizeOfStatement({ ctes, query }: Statement, measure: Measure): number {
  const parts = [query, ...ctes.map((cte) => cte.query)]
  return parts.reduce((sum, part) => sum + sizeOfQuery(part, measure), 0)
}

type SizeContext = { readonly context: Pick<CompileContext, 'budget'>; readonly sizes: Sizes }

function sizeOfExpr(expr: ResolvedExpr, measure: Measure): number {
  return measure.sizes.get(expr) ?? measureExpr(expr, measure)
}

function measureExpr(expr: ResolvedExpr, measure: Measure): number {
  const size =
    expr.kind === 'fragment' && measure.counts_copies
      ? sizeOfCopies(expr, measure)
      : countNodes(expr, measure)
  measure.sizes.set(expr, size)
  return size
}

function countNodes(expr: ResolvedExpr, measure: Measure): number {
  let size = 1
  mapChildren(
    expr,
    (child) => {
      size += sizeOfExpr(child, measure)
      return child
    },
    (query) => {
      size += sizeOfQuery(query, measure)
      return query
    },
  )
  return size
}

function sizeOfCopies(fragment: Fragment, measure: Measure): number {
  const copies = copiesByFragment(fragment)
  return fragment.args.reduce(
    (sum, arg, index) => sum + (copies[index] ?? 1) * sizeOfExpr(arg, measure),
    1,
  )
}

function sizeOfQuery(query: ResolvedQuery, measure: Measure): number {
  const known = measure.sizes.get(query)
  if (known !== undefined) return known
  let size = 1
  const count = (expr: ResolvedExpr): ResolvedExpr => {
    size += sizeOfExpr(expr, measure)
    return expr
  }
  if (query.kind === 'select') {
    const inRelation = (relation: Relation): Relation => {
      if (relation.kind === 'derived') size += sizeOfQuery(relation.query, measure)
      return mapRelation(relation, count, inRelation)
    }
    mapSelect(query, count, inRelation)
  } else {
    for (const leg of [query.first, ...query.rest.map((rest) => rest.query)]) {
      size += sizeOfQuery(leg, measure)
    }
  }
  measure.sizes.set(query, size)
  return size
}

/** Memoized sizes of types. A tuple of one type twice counts twice, although both items are one object. */
const type_sizes = new WeakMap<Type, number>()

/** Refuses a type of too many parts: nested selects could double it at each level. */
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
