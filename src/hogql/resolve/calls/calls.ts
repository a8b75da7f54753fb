/**
 * Calls of functions and operators: looked up in the registry, argument counts checked, arguments
 * resolved, typed.
 */

import { withPlace } from '../../functions/argument-errors.ts'
import { unitNamed } from '../../functions/dates/date-parts.ts'
import { subsecondUnit } from '../../functions/dates/subsecond-units.ts'
import type { FunctionDef } from '../../functions/definition.ts'
import { lambdaParameters } from '../../functions/lists/higher-order.ts'
import { findFunction, functionNames } from '../../functions/registry.ts'
import { isUnsupported } from '../../functions/unsupported.ts'
import { someExpr } from '../../passes/walk.ts'
import type { AggregateInput, Apply, ResolvedExpr } from '../../sql/ir.ts'
import type * as ast from '../../syntax/ast.ts'
import { starOf } from '../columns.ts'
import { nearestName, refuse } from '../refusals.ts'
import type { NameScope, Resolver } from '../scope.ts'
import { resolveOrder, resolveOver, windowOf } from '../windows.ts'
import { requireArity, term } from './arity.ts'
import { macroNames } from './hogql-macros.ts'
import { resolveLambda } from './lambdas.ts'
import { resolveSpecial } from './special-calls.ts'
import { withZone } from './zone-arguments.ts'

type CallContext = {
  readonly scope: NameScope
  readonly resolver: Resolver
  readonly node: ast.SourceSpan
}

/** Resolves a call by name. */
export function resolveCall(node: ast.Call, scope: NameScope, resolver: Resolver): ResolvedExpr {
  const special = resolveSpecial(node, scope, resolver)
  if (special !== null) return special
  const def = requireFunction(node.name, node)
  if (def.role === 'window') throw refuse(`Function '${node.name}' needs an OVER clause`, node)
  return callOf(def, node, { scope, resolver, node })
}

/** Resolves an operator of the grammar as a call; its function may be internal. */
export function resolveOperator(
  name: string,
  operands: readonly ast.Expr[],
  at: CallContext,
): Apply {
  const def = findFunction(name)
  if (def === null) throw new Error(`no function of the operator ${name}`)
  const args = operands.map((operand) => at.resolver.expr(operand, at.scope))
  return buildApply(def, name, { args, params: [], aggregate: null }, at)
}

/** A typed call of a registered function with resolved arguments. */
export function applyFunction(name: string, args: readonly ResolvedExpr[], at: CallContext): Apply {
  return buildApply(requireFunction(name, at.node), name, { args, params: [], aggregate: null }, at)
}

function requireFunction(name: string, node: ast.SourceSpan): FunctionDef {
  const def = findFunction(name)
  // Nodes of a text have a source span; nodes built by this program have none and may call internal
  // functions.
  if (def !== null && (def.is_internal !== true || node.end === 0)) return def
  if (isUnsupported(name)) throw refuse(`Function '${name}' is not supported`, node)
  const nearest = nearestName(name, [...functionNames(), ...macroNames()])
  const hint = nearest === null ? '' : `. Perhaps you meant '${nearest}(...)'?`
  throw refuse(`Unsupported function call '${name}(...)'${hint}`, node)
}

/** The parts of a call besides its name. */
type ApplyParts = Pick<Apply, 'aggregate' | 'args' | 'params'>

function buildApply(
  def: FunctionDef,
  name: string,
  parts: ApplyParts,
  { resolver, node }: Pick<CallContext, 'node' | 'resolver'>,
): Apply {
  const { start, end } = node
  const type = withPlace({ start, end }, () =>
    def.returns({ name, args: parts.args, params: parts.params, context: resolver.context }),
  )
  return { kind: 'apply', name, ...parts, type, at: { start, end } }
}

function callOf(def: FunctionDef, node: ast.Call, at: CallContext): Apply {
  const { scope, resolver } = at
  const arg_nodes = withoutStar(node.name, node.args)
  // Several arguments of a DISTINCT count as one tuple.
  requireArity(def, node, node.distinct ? Math.min(arg_nodes.length, 1) : arg_nodes.length)
  const params = (node.params ?? []).map((param) => resolver.expr(param, scope))
  if (
    node.params !== null &&
    node.params.length > 0 &&
    (def.params === null || def.params.max < params.length)
  ) {
    throw refuse(`${term(def)} '${node.name}' does not accept parameters`, node)
  }
  const given = resolveArguments(node.name, arg_nodes, at)
  // A star may have become more arguments than the function takes.
  if (given.length > arg_nodes.length && !node.distinct) requireArity(def, node, given.length)
  const args = withZone(node.name, given, node, (instant, zone) =>
    applyFunction('toTimeZone', [instant, zone], at),
  )
  const aggregate = def.role === 'aggregate' ? aggregateInput(node, at) : null
  if (def.role === 'aggregate') requireFlat(node, args)
  else if (node.distinct)
    throw refuse(`DISTINCT only goes with aggregations, not with '${node.name}'`, node)
  return buildApply(def, node.name, { args, params, aggregate }, at)
}

function aggregateInput(node: ast.Call, { scope, resolver }: CallContext): AggregateInput {
  return {
    distinct: node.distinct,
    filter: node.filter_expr === null ? null : resolver.expr(node.filter_expr, scope),
    order_by: node.order_by.map((order) => resolveOrder(order, scope, resolver)),
  }
}

/** `count(*)` counts rows: the star is no argument. */
function withoutStar(name: string, args: readonly ast.Expr[]): readonly ast.Expr[] {
  const [only] = args
  const star = args.length === 1 && only !== undefined && isStar(only)
  return star && name.toLowerCase() === 'count' ? [] : args
}

function resolveArguments(
  name: string,
  arg_nodes: readonly ast.Expr[],
  { scope, resolver }: CallContext,
): readonly ResolvedExpr[] {
  const plain = arg_nodes.map((arg, index) => {
    if (arg.kind === 'Lambda') return []
    if (isStar(arg))
      return starOf(arg.chain.slice(0, -1), scope, { resolver, node: arg }).map(
        (column) => column.expr,
      )
    const is_unit = index === 0 && arg_nodes.length >= unitArity(name)
    return [resolver.expr(is_unit ? unitOrSelf(arg) : arg, scope)]
  })
  const types = plain.flat().map((arg) => arg.type)
  return arg_nodes.flatMap((arg, index) => {
    if (arg.kind !== 'Lambda') return plain[index] ?? []
    return [resolveLambda(arg, lambdaParameters(name, types), { scope, resolver })]
  })
}

function isStar(arg: ast.Expr): arg is ast.Field {
  return arg.kind === 'Field' && arg.chain.at(-1) === '*'
}

const UNIT_FIRST =
  /^(date_?diff|date_?trunc|date_?add|date_?sub|timestamp_?diff|timestamp_?add|timestamp_?sub|age|date_part|datename)$/i

const UNIT_SHIFT = /(?:add|sub)$/i

/** The least arguments with which the first is a unit: `dateAdd(day, interval 1 hour)` begins with a time. */
function unitArity(name: string): number {
  if (!UNIT_FIRST.test(name)) return Number.POSITIVE_INFINITY
  return UNIT_SHIFT.test(name) ? 3 : 2
}

/** `dateDiff(day, a, b)`: a bare unit where one is expected is not a field. */
function unitOrSelf(arg: ast.Expr): ast.Expr {
  const [word] = arg.kind === 'Field' && arg.chain.length === 1 ? arg.chain : []
  if (word === undefined) return arg
  if (unitNamed(word) === null && subsecondUnit(word) === null) return arg
  return { kind: 'Constant', value: word, start: arg.start, end: arg.end }
}

function requireFlat(node: ast.Call, args: readonly ResolvedExpr[]): void {
  for (const arg of args) {
    someExpr(arg, (expr) => {
      if (expr.kind !== 'apply' || expr.aggregate === null) return false
      const detail = `Aggregation '${expr.name}' cannot be nested inside another aggregation '${node.name}'.`
      throw refuse(detail, node)
    })
  }
}

/** Resolves `f(…) OVER (…)`. */
export function resolveWindow(
  node: ast.WindowFunction,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  const def = requireFunction(node.name, node)
  if (def.role === 'scalar')
    throw refuse(`Function '${node.name}' cannot have an OVER clause`, node)
  const at: CallContext = { scope, resolver, node }
  const arg_nodes = withoutStar(node.name, node.args ?? node.exprs)
  requireArity(def, node, arg_nodes.length)
  const params = node.args === null ? [] : node.exprs.map((param) => resolver.expr(param, scope))
  const args = resolveArguments(node.name, arg_nodes, at)
  const filter = node.filter_expr === null ? null : resolver.expr(node.filter_expr, scope)
  const call = buildApply(
    def,
    node.name,
    { args, params, aggregate: { distinct: false, filter, order_by: [] } },
    at,
  )
  const over = resolveOver(windowOf(node, scope), scope, resolver)
  return { kind: 'window', call, over, type: call.type }
}
