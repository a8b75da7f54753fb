/** TUPLES: tuples, maps and vectors. */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { constantInt, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { convert, tupleItem, tupleOf } from '../../types/convert.ts'
import { superType, widerInteger } from '../../types/type-unify.ts'
import {
  arrayType,
  elementType,
  FLOAT64,
  STRING,
  TRUTH,
  type Type,
  tupleType,
  UINT8,
  withNull,
} from '../../types/types.ts'
import { lowerSum } from '../aggregates/sums.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  nonNull,
  sameAsFirst,
  scalar,
  type TypeRule,
  typeOf,
} from '../definition.ts'

const tuple: TypeRule = ({ args }) => tupleType(args.map(typeOf))

/** Applies the operator of the same name item by item. */
const itemwise: TypeRule = (call) => {
  const [left, right] = call.args
  const type = typeOf(left)
  if (type.kind !== 'tuple') return type
  const items = type.items.map((item, index) => {
    const other = typeOf(right)
    const of = other.kind === 'tuple' ? (other.items[index] ?? item) : other
    return itemOperation(call.name, item, of)
  })
  return tupleType(items)
}

function itemOperation(name: string, left: Type, right: Type): Type {
  if (name.includes('Divide') || left.kind !== 'int') return FLOAT64
  if (name.includes('Negate')) return left.signed ? left : widerInteger(left.bits, true)
  if (right.kind !== 'int') return FLOAT64
  const widest = left.bits > right.bits ? left.bits : right.bits
  return widerInteger(widest, left.signed || right.signed || name.includes('Minus'))
}

const elementOfTuple: TypeRule = ({ args }) => {
  const type = typeOf(args[0])
  return elementOf(type, position(args[1], type))
}

/** The type of the element at a 1-based position; of an array of tuples, an array of the elements. */
export function elementOf(type: Type, at: number): Type {
  if (type.kind === 'array' && isOfTuples(type)) return arrayType(elementOf(type.of, at))
  if (type.kind !== 'tuple') return elementType(type)
  return type.items[at - 1] ?? withNull(STRING)
}

/** Whether a type is an array of tuples, or of arrays of them. */
export function isOfTuples(type: Type): boolean {
  return type.kind === 'array' && (type.of.kind === 'tuple' || isOfTuples(type.of))
}

/** The 1-based position of an element, which a negative index counts from the end. */
function position(index: ResolvedExpr | undefined, of: Type): number {
  const is_text = index?.kind === 'value' && typeof index.value === 'string'
  const at = is_text ? Number(index.value) : Number(constantInt(index) ?? 0n)
  return at < 0 ? at + 1 + tupleWidth(of) : at
}

function tupleWidth(type: Type): number {
  if (type.kind === 'array') return tupleWidth(type.of)
  return type.kind === 'tuple' ? type.items.length : 0
}

function elementsOf(of: ResolvedExpr, at: number, type: Type): ResolvedExpr {
  if (of.type.kind !== 'array' || type.kind !== 'array') return tupleItem(of, at, type)
  // Each level of arrays has its own parameter.
  const id = of.type.of.kind === 'array' ? -78 : -77
  const item: ResolvedExpr = { kind: 'local', id, type: of.type.of }
  return sql`list_transform(${of}, lambda ${item}: ${elementsOf(item, at, type.of)})`(type)
}

const tupleElement: Lowering = (call) => {
  const [of, index] = call.args
  if (of !== undefined && (of.type.kind === 'tuple' || isOfTuples(of.type)))
    return elementsOf(of, position(index, of.type), call.type)
  return sql`(${of ?? NULL_VALUE})[${index ?? NULL_VALUE}]`(call.type)
}

const mapKey = (args: readonly ResolvedExpr[]): Type =>
  superType(args.filter((_, index) => index % 2 === 0).map(typeOf))
const mapValue = (args: readonly ResolvedExpr[]): Type =>
  superType(args.filter((_, index) => index % 2 === 1).map(typeOf))

const mapType: TypeRule = ({ args }) => ({
  kind: 'map',
  key: mapKey(args),
  value: mapValue(args),
  nullable: false,
})

const map: Lowering = (call, context) => {
  const list = (parity: number, type: Type): ResolvedExpr =>
    joinFragments(
      ['[', ', ', ']'],
      call.args
        .filter((_, index) => index % 2 === parity)
        .map((arg) => convert(arg, type, context)),
      arrayType(type),
    )
  return sql`map(${list(0, mapKey(call.args))}, ${list(1, mapValue(call.args))})`(call.type)
}

const keysType: TypeRule = ({ args }) => {
  const type = typeOf(args[0])
  return arrayType(type.kind === 'map' ? type.key : STRING)
}
const valuesType: TypeRule = ({ args }) => arrayType(elementType(typeOf(args[0])))

const fromArrays: TypeRule = ({ args }) => ({
  kind: 'map',
  key: elementType(typeOf(args[0])),
  value: elementType(typeOf(args[1])),
  nullable: false,
})

/** The numbers of a vector, an array or a tuple, as a list. */
function vector(expr: ResolvedExpr | undefined): ResolvedExpr {
  const type = arrayType(FLOAT64)
  if (expr?.type.kind === 'tuple') {
    const { items } = expr.type
    return joinFragments(
      ['[', ', ', ']'],
      items.map((item, index) => tupleItem(expr, index + 1, item)),
      type,
    )
  }
  return sql`${expr ?? NULL_VALUE}`(type)
}

function vectors(build: (a: ResolvedExpr, b: ResolvedExpr, call: Apply) => ResolvedExpr): Lowering {
  return (call) => build(vector(call.args[0]), vector(call.args[1]), call)
}

const hamming: Lowering = (call) => {
  const [a, b] = call.args
  const items = a?.type.kind === 'tuple' ? a.type.items : []
  const differences = items.map((item, index) => {
    const left = tupleItem(a ?? NULL_VALUE, index + 1, item)
    const right = tupleItem(b ?? NULL_VALUE, index + 1, item)
    return sql`(${left} <> ${right})::BIGINT`(UINT8)
  })
  return joinFragments(['(', ' + ', ')'], differences, call.type)
}

/** Tuple functions. Adding one means adding a line. */
export const TUPLES: readonly FunctionDef[] = [
  scalar('~tuple', '0+', tuple, (call) =>
    call.args.length === 0
      ? refuseArguments('An empty tuple can only follow IN')
      : tupleOf(call.args, call.type),
  ),
  scalar('tupleElement', '2-3', elementOfTuple, tupleElement),
  scalar('tuplePlus|tupleMinus|tupleMultiply|tupleDivide', '2', itemwise, lowerSum),
  scalar('tupleMultiplyByNumber|tupleDivideByNumber', '2', itemwise, lowerSum),
  scalar('tupleNegate', '1', itemwise, lowerSum),
  scalar('tupleHammingDistance', '2', asDeclared(UINT8), hamming),
  scalar(
    'dotProduct|scalarProduct',
    '2',
    nonNull(FLOAT64),
    vectors((a, b, c) => sql`list_inner_product((${a})::DOUBLE[], (${b})::DOUBLE[])`(c.type)),
  ),
  scalar(
    'cosineDistance',
    '2',
    nonNull(FLOAT64),
    vectors((a, b, c) => sql`list_cosine_distance((${a})::DOUBLE[], (${b})::DOUBLE[])`(c.type)),
  ),
  scalar(
    'L2Distance|distanceL2',
    '2',
    nonNull(FLOAT64),
    vectors((a, b, c) => sql`list_distance((${a})::DOUBLE[], (${b})::DOUBLE[])`(c.type)),
  ),
  scalar(
    'L1Distance|distanceL1',
    '2',
    nonNull(FLOAT64),
    vectors((a, b, c) =>
      sql`list_sum(list_transform(list_zip(${a}, ${b}), lambda z: abs(z[1] - z[2])))::DOUBLE`(
        c.type,
      ),
    ),
  ),
  scalar(
    'LinfDistance|distanceLinf',
    '2',
    nonNull(FLOAT64),
    vectors((a, b, c) =>
      sql`list_max(list_transform(list_zip(${a}, ${b}), lambda z: abs(z[1] - z[2])))::DOUBLE`(
        c.type,
      ),
    ),
  ),
  scalar(
    'L1Norm|normL1',
    '1',
    nonNull(FLOAT64),
    vectors((a, _, c) => sql`list_sum(list_transform(${a}, lambda e: abs(e)))::DOUBLE`(c.type)),
  ),
  scalar(
    'L2Norm|normL2',
    '1',
    nonNull(FLOAT64),
    vectors((a, _, c) =>
      sql`sqrt(list_sum(list_transform(${a}, lambda e: e * e))::DOUBLE)`(c.type),
    ),
  ),
  scalar(
    'LinfNorm|normLinf',
    '1',
    nonNull(FLOAT64),
    vectors((a, _, c) => sql`list_max(list_transform(${a}, lambda e: abs(e)))::DOUBLE`(c.type)),
  ),
  scalar('LpNorm|normLp', '2', nonNull(FLOAT64), (call) =>
    sql`ch_lp_norm(${vector(call.args[0])}, ${call.args[1] ?? NULL_VALUE})`(call.type),
  ),
  scalar('~map', '0+', mapType, map),
  scalar('mapFromArrays', '2', fromArrays, 'map($1, $2)'),
  scalar('mapContains|mapContainsKey', '2', asDeclared(TRUTH), 'map_contains($1, $2)'),
  scalar('mapKeys', '1', keysType, 'map_keys($1)'),
  scalar('mapValues', '1', valuesType, 'map_values($1)'),
  scalar('mapUpdate|mapConcat', '2', sameAsFirst, 'map_concat($1, $2)'),
  scalar(
    'mapContainsKeyLike',
    '2',
    asDeclared(TRUTH),
    "(len(list_filter(map_keys($1), lambda k: k LIKE ch_like_pattern($2) ESCAPE '\\')) > 0)",
  ),
  scalar(
    'mapExtractKeyLike',
    '2',
    sameAsFirst,
    "map_from_entries(list_filter(map_entries($1), lambda e: struct_extract(e, 'key') LIKE ch_like_pattern($2) ESCAPE '\\'))",
  ),
]
