/** Resolves expressions: a handler per kind of syntax node. */

import { type Apply, queryColumns, type ResolvedExpr } from '../sql/ir.ts'
import {
  applyFragment,
  bind,
  bindBool,
  bindInt,
  bindText,
  constantText,
  NULL_VALUE,
} from '../sql/sql-fragments.ts'
import type * as ast from '../syntax/ast.ts'
import { spineOf } from '../syntax/walk.ts'
import { parseInstant } from '../times/time-text.ts'
import { clickhouseName, FLOAT64, TRUTH, type TypeKind, withNull } from '../types/types.ts'
import { resolveCall, resolveOperator, resolveWindow } from './calls/calls.ts'
import { resolveCast } from './calls/casts.ts'
import { resolveInCohort } from './calls/cohorts.ts'
import {
  resolveArray,
  resolveDict,
  resolveIn,
  resolveIndex,
  resolveSlice,
  resolveTag,
  resolveTuple,
} from './collections-and-in.ts'
import { accessMember, resolveAlias, resolveField } from './fields.ts'
import { refuse } from './refusals.ts'
import type { NameScope, Resolver } from './scope.ts'

type ExpressionContext = { readonly scope: NameScope; readonly resolver: Resolver }
type Handlers = {
  readonly [Kind in ast.Expr['kind']]: (
    node: Extract<ast.Expr, { kind: Kind }>,
    at: ExpressionContext,
  ) => ResolvedExpr
}

/** The resolver of each kind of expression. Adding a kind of node means adding a line. */
const HANDLERS: Handlers = {
  Constant: (node) => literal(node.value),
  Field: (node, { scope, resolver }) => resolveField(node, scope, resolver),
  Alias: (node, at) => resolveNamed(node, at),
  Call: (node, { scope, resolver }) => resolveCall(node, scope, resolver),
  WindowFunction: (node, { scope, resolver }) => resolveWindow(node, scope, resolver),
  And: (node, at) => resolveOperator('and', node.exprs, { ...at, node }),
  Or: (node, at) => resolveOperator('or', node.exprs, { ...at, node }),
  Not: (node, at) => resolveOperator('not', [node.expr], { ...at, node }),
  ArithmeticOperation: (node, at) => arithmetic(node, at),
  CompareOperation: (node, at) => compare(node, at),
  IsDistinctFrom: (node, at) => distinctFrom(node, at),
  BetweenExpr: (node, at) => between(node, at),
  Array: (node, { scope, resolver }) => resolveArray(node, scope, resolver),
  Tuple: (node, { scope, resolver }) => resolveTuple(node, scope, resolver),
  Dict: (node, { scope, resolver }) => resolveDict(node, scope, resolver),
  ArrayAccess: (node, { scope, resolver }) => resolveIndex(node, scope, resolver),
  ArraySlice: (node, { scope, resolver }) => resolveSlice(node, scope, resolver),
  TupleAccess: (node, { scope, resolver }) =>
    accessMember(resolver.expr(node.tuple, scope), node.index, { node, resolver }),
  TypeCast: (node, { scope, resolver }) => resolveCast(node, scope, resolver),
  TryCast: (node, { scope, resolver }) => resolveCast(node, scope, resolver),
  SelectQuery: (node, at) => scalarQuery(node, at),
  SelectSetQuery: (node, at) => scalarQuery(node, at),
  ExprCall: (node, at) => exprCall(node, at),
  Lambda: refuseMisplaced(() => 'A lambda can only be an argument of a function'),
  Placeholder: refuseMisplaced(() => 'Unresolved placeholder'),
  NamedArgument: refuseMisplaced((node) => `Named arguments are not supported: ${node.name}`),
  ColumnsExpr: refuseMisplaced(() => 'COLUMNS can only stand in the select list'),
  PositionalRef: refuseMisplaced(
    (node) => `#${node.index} can only stand in GROUP BY and ORDER BY`,
  ),
  HogQLXTag: (node, { scope, resolver }) => resolveTag(node, scope, resolver),
}

/** Resolves any expression; refuses nodes that have no meaning in a query. */
export function resolveExpr(node: ast.Expr, scope: NameScope, resolver: Resolver): ResolvedExpr {
  const handler = HANDLERS[node.kind] as (node: ast.Expr, at: ExpressionContext) => ResolvedExpr
  return handler(node, { scope, resolver })
}

function refuseMisplaced<Node extends ast.Expr>(
  detail: (node: Node) => string,
): (node: Node) => ResolvedExpr {
  return (node) => {
    throw refuse(detail(node), node)
  }
}

function distinctFrom(node: ast.IsDistinctFrom, at: ExpressionContext): ResolvedExpr {
  const name = node.negated ? 'isNotDistinctFrom' : 'isDistinctFrom'
  return resolveOperator(name, [node.left, node.right], { ...at, node })
}

/** The engine's parser recurses per element of a chain, and fails at 1,000. */
const CHAIN_LENGTH_MAX = 500

function arithmetic(node: ast.ArithmeticOperation, at: ExpressionContext): ResolvedExpr {
  if (spineOf(node).length > CHAIN_LENGTH_MAX) {
    throw refuse(`A chain of more than ${CHAIN_LENGTH_MAX} operators is too long`, node)
  }
  return resolveOperator(ARITHMETIC[node.op], [node.left, node.right], { ...at, node })
}

function literal(value: ast.ConstantValue): ResolvedExpr {
  if (value === null) return NULL_VALUE
  if (typeof value === 'boolean') return bindBool(value)
  if (typeof value === 'bigint') return bindInt(value)
  return typeof value === 'number' ? bind(value, FLOAT64) : bindText(value)
}

/** An alias inside an expression is visible in the rest of the select. */
function resolveNamed(node: ast.Alias, { scope, resolver }: ExpressionContext): ResolvedExpr {
  const slot = scope.aliases.get(node.alias)
  if (slot !== undefined && slot.node === node.expr && slot.state !== 'busy') {
    return resolveAlias(slot, scope, resolver)
  }
  return resolver.expr(node.expr, scope)
}

const ARITHMETIC = {
  '+': 'plus',
  '-': 'minus',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
} as const satisfies Record<ast.ArithmeticOperator, string>

const COMPARISONS = {
  '==': 'equals',
  '!=': 'notEquals',
  '<': 'less',
  '<=': 'lessOrEquals',
  '>': 'greater',
  '>=': 'greaterOrEquals',
  like: 'like',
  'not like': 'notLike',
  ilike: 'ilike',
  'not ilike': 'notILike',
  '=~': 'matches',
  '!~': 'notMatch',
  '=~*': 'matchCaseInsensitive',
  '!~*': 'notMatchCaseInsensitive',
} as const satisfies Partial<Record<ast.CompareOperator, string>>

function compare(node: ast.CompareOperation, at: ExpressionContext): ResolvedExpr {
  const { op } = node
  if (op === 'in' || op === 'not in') return resolveIn(node, at.scope, at.resolver)
  if (op === 'in cohort' || op === 'not in cohort')
    return resolveInCohort(node, at.scope, at.resolver)
  if (node.is_null_comparison_style) {
    return resolveOperator(op === '==' ? 'isNull' : 'isNotNull', [node.left], { ...at, node })
  }
  const compared = resolveOperator(COMPARISONS[op], [node.left, node.right], { ...at, node })
  requireReadable(compared, node)
  return compared
}

/** Refuses a constant that cannot be compared with the other side here, where its source span is known. */
function requireReadable({ args }: Apply, node: ast.CompareOperation): void {
  const [left, right] = args
  if (left === undefined || right === undefined) return
  for (const [constant, other, at] of [
    [left, right, node.left],
    [right, left, node.right],
  ] as const) {
    const text = constantText(constant)
    if (text === null || isReadable(text, other.type.kind)) continue
    const shortened = text.length > 60 ? `${text.slice(0, 60)}…` : text
    throw refuse(
      `Cannot parse '${shortened}' as ${clickhouseName(withNull(other.type, false))}`,
      at,
    )
  }
}

function isReadable(text: string, kind: TypeKind): boolean {
  if (kind === 'datetime' || kind === 'date') return parseInstant(text) !== null
  return kind !== 'bool' || /^(true|false|0|1)$/i.test(text)
}

/** NULL is neither inside nor outside a range: both comparisons are false. */
function between(node: ast.BetweenExpr, at: ExpressionContext): ResolvedExpr {
  const [below, above, joined] = node.negated
    ? (['less', 'greater', 'or'] as const)
    : (['greaterOrEquals', 'lessOrEquals', 'and'] as const)
  const low = resolveOperator(below, [node.expr, node.low], { ...at, node })
  const high = resolveOperator(above, [node.expr, node.high], { ...at, node })
  return applyFragment(
    joined,
    [low, high],
    withNull(TRUTH, low.type.nullable || high.type.nullable),
  )
}

function scalarQuery(
  node: ast.SelectQuery | ast.SelectSetQuery,
  { scope, resolver }: ExpressionContext,
): ResolvedExpr {
  const { query } = resolver.query(node, scope)
  const columns = queryColumns(query).map((column) => column.type)
  const [type] = columns
  if (columns.length !== 1 || type === undefined) {
    throw refuse('A sub-select used as a value must have exactly one column', node)
  }
  return { kind: 'subquery', form: 'scalar', query, type: withNull(type) }
}

/** `x::Nullable(String)` parses as a call of a cast. */
function exprCall(node: ast.ExprCall, { scope, resolver }: ExpressionContext): ResolvedExpr {
  const [inner] = node.args
  if (
    node.expr.kind === 'TypeCast' &&
    node.expr.type_name === 'nullable' &&
    inner?.kind === 'Field'
  ) {
    const cast = { ...node.expr, type_name: `nullable(${inner.chain.join('.').toLowerCase()})` }
    return resolveCast(cast, scope, resolver)
  }
  throw refuse('Only functions can be called', node)
}
