/** LOGIC: comparison, boolean logic, conditionals and NULL handling. */

import type { CompileContext } from '../context.ts'
import type { Apply, ResolvedExpr } from '../sql/ir.ts'
import { caseFragment, joinFragments, NULL_VALUE, sql } from '../sql/sql-fragments.ts'
import { asCondition, asText, convert } from '../types/convert.ts'
import { superType } from '../types/type-unify.ts'
import {
  hasNullableItem,
  isNumeric,
  NULL,
  STRING,
  TRUTH,
  type Type,
  withNull,
} from '../types/types.ts'
import { refuseArguments } from './argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  isNullable,
  type Lowering,
  nonNull,
  sameAsFirst,
  scalar,
  type TypeRule,
  typeOf,
} from './definition.ts'

const conditions =
  (between: ' AND ' | ' OR '): Lowering =>
  (call) =>
    joinFragments(['(', between, ')'], call.args.map(asCondition), call.type)

/** The branches of `if(c, a, b)` and `multiIf(c1, a1, c2, a2, …, d)`. */
function branches(args: readonly ResolvedExpr[]): readonly ResolvedExpr[] {
  return args.filter((_, index) => index % 2 === 1 || index === args.length - 1)
}

const branchType: TypeRule = ({ args }) => superType(branches(args).map(typeOf))

const lowerIf: Lowering = (call, context) => {
  const otherwise = convert(call.args.at(-1) ?? NULL_VALUE, call.type, context)
  const pairs = pairsOf(call.args.slice(0, -1)).map(
    ([when, then]) => [asCondition(when), convert(then, call.type, context)] as const,
  )
  return { ...caseFragment(null, pairs, otherwise), type: call.type }
}

function pairsOf(
  args: readonly ResolvedExpr[],
): readonly (readonly [ResolvedExpr, ResolvedExpr])[] {
  const pairs: (readonly [ResolvedExpr, ResolvedExpr])[] = []
  for (let index = 0; index + 1 < args.length; index += 2) {
    pairs.push([args[index] ?? NULL_VALUE, args[index + 1] ?? NULL_VALUE])
  }
  return pairs
}

/** `_caseWithExpression(x, k1, v1, …, default)`: the parsed form of CASE x WHEN k1 THEN v1 …. */
const caseType: TypeRule = ({ args }) => {
  if (args.length % 2 === 1) refuseArguments('CASE needs a result for each value, and a default')
  return superType(
    [...args.slice(1).filter((_, index) => index % 2 === 1), args.at(-1)].map(typeOf),
  )
}

const lowerCase: Lowering = (call, context) => {
  const [value = NULL_VALUE, ...rest] = call.args
  const otherwise = convert(rest.at(-1) ?? NULL_VALUE, call.type, context)
  const pairs = pairsOf(rest.slice(0, -1)).map(
    ([key, then]) => [convertKey(value, key, context), convert(then, call.type, context)] as const,
  )
  const is_plain = !isNullable(value) || !pairs.some(([key]) => isNullable(key))
  if (is_plain) return { ...caseFragment(value, pairs, otherwise), type: call.type }
  // NULL is an ordinary key.
  const conditions_by_key = pairs.map(
    ([key, then]) => [sql`(${value} IS NOT DISTINCT FROM ${key})`(TRUTH), then] as const,
  )
  return { ...caseFragment(null, conditions_by_key, otherwise), type: call.type }
}

/** The key as a value of the other's type; numbers stay as they are, since 1.5 is not the whole number 2. */
function convertKey(value: ResolvedExpr, key: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const is_as_it_is = key.type.kind === 'null' || (isNumeric(key.type) && isNumeric(value.type))
  return is_as_it_is ? key : convert(key, withNull(value.type, key.type.nullable), context)
}

/** `transform(x, [from], [to], default)`. */
const lowerTransform: Lowering = (call, context) => {
  const [value, from, to, otherwise] = call.args
  if (value === undefined || from === undefined || to === undefined) throw new Error('transform')
  const rest = convert(otherwise ?? value, call.type, context)
  const shown = withNull(STRING)
  const [key, keys] = [asTextual(value, context), asTextual(from, context)]
  const at = sql`list_position(${keys}, ${key})`(shown)
  const target = to.type.kind === 'array' ? convert(to, { ...to.type, of: call.type }, context) : to
  return sql`CASE WHEN ${at} IS NULL THEN ${rest} ELSE (${target})[${at}] END`(call.type)
}

/** Keys of `transform` are compared as text, because their types may differ. */
function asTextual(expr: ResolvedExpr, context: CompileContext): ResolvedExpr {
  if (expr.type.kind !== 'array') return asText(expr, context)
  return convert(expr, { kind: 'array', of: STRING, nullable: false }, context)
}

const transformType: TypeRule = ({ args }) => {
  const of = args[2]?.type.kind === 'array' ? args[2].type.of : NULL
  return superType([of, typeOf(args[3] ?? args[0])])
}

const coalesceType: TypeRule = ({ args }) => {
  const type = superType(args.map(typeOf))
  return withNull(type, args.every(isNullable))
}

const lowerCoalesce: Lowering = (call, context) =>
  joinFragments(
    ['coalesce(', ', ', ')'],
    call.args.map((arg) => convert(arg, call.type, context)),
    call.type,
  )

const lowerExtremum =
  (name: 'greatest' | 'least'): Lowering =>
  (call: Apply, context) =>
    joinFragments(
      [`${name}(`, ', ', ')'],
      call.args.map((arg) => convert(arg, call.type, context)),
      call.type,
    )

const nullIfType: TypeRule = ({ args }) => withNull(typeOf(args[0]))

/** NULL only between tuples whose items may be NULL: all other comparisons are null-safe. */
const comparedType: TypeRule = ({ args }) =>
  withNull(
    TRUTH,
    args.every((arg) => arg.type.kind === 'tuple') && args.some((arg) => hasNullableItem(arg.type)),
  )

/**
 * Logic functions; adding one means adding a line. The passes before have given comparisons one
 * type and null-safe operators.
 */
export const LOGIC: readonly FunctionDef[] = [
  scalar('equals', '2', comparedType, '($1 = $2)'),
  scalar('notEquals', '2', comparedType, '($1 <> $2)'),
  scalar('less', '2', comparedType, '($1 < $2)'),
  scalar('greater', '2', comparedType, '($1 > $2)'),
  scalar('lessOrEquals', '2', comparedType, '($1 <= $2)'),
  scalar('greaterOrEquals', '2', comparedType, '($1 >= $2)'),
  scalar('isNotDistinctFrom', '2', nonNull(TRUTH), '($1 IS NOT DISTINCT FROM $2)'),
  scalar('isDistinctFrom', '2', nonNull(TRUTH), '($1 IS DISTINCT FROM $2)'),
  scalar('~and', '2+', asDeclared(TRUTH), conditions(' AND ')),
  scalar('~or', '2+', asDeclared(TRUTH), conditions(' OR ')),
  scalar('~xor', '2', asDeclared(TRUTH), (call) =>
    joinFragments(['(', ' <> ', ')'], call.args.map(asCondition), call.type),
  ),
  scalar('~not', '1', asDeclared(TRUTH), (call) =>
    sql`(NOT ${asCondition(call.args[0] ?? NULL_VALUE)})`(call.type),
  ),
  scalar('~if', '3', branchType, lowerIf),
  scalar('~multiIf', '3+', branchType, lowerIf),
  scalar('_caseWithExpression|caseWithExpression', '3+', caseType, lowerCase),
  scalar('transform', '3-4', transformType, lowerTransform),
  scalar('~isNull', '1', nonNull(TRUTH), '($1 IS NULL)'),
  scalar('~isNotNull', '1', nonNull(TRUTH), '($1 IS NOT NULL)'),
  scalar('~coalesce', '1+', coalesceType, lowerCoalesce),
  scalar('~ifNull', '2', coalesceType, lowerCoalesce),
  scalar('~nullIf', '2', nullIfType, (call, context) => lowerNullIf(call, context)),
  scalar('assumeNotNull', '1', ({ args }) => withNull(typeOf(args[0]), false), '$1'),
  scalar('toNullable', '1', nullIfType, '$1'),
  scalar('~least', '1+', leastType, lowerExtremum('least')),
  scalar('~greatest', '1+', leastType, lowerExtremum('greatest')),
  scalar('isZeroOrNull', '1', nonNull(TRUTH), 'coalesce($1 = 0, true)'),
  scalar('indexHint', '1+', nonNull(TRUTH), 'true'),
  scalar('identity|materialize', '1', sameAsFirst, '$1'),
]

function leastType(call: { readonly args: readonly ResolvedExpr[] }): Type {
  return withNull(superType(call.args.map(typeOf)), call.args.some(isNullable))
}

function lowerNullIf(call: Apply, context: CompileContext): ResolvedExpr {
  const [value, missing] = [call.args[0] ?? NULL_VALUE, call.args[1] ?? NULL_VALUE]
  return sql`nullif(${value}, ${convertKey(value, missing, context)})`(call.type)
}
