/** ARRAYS: array functions without lambdas. */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import {
  bind,
  bindBool,
  bindInt,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { convert, defaultOf, orDefault } from '../../types/convert.ts'
import { superType, widerInteger } from '../../types/type-unify.ts'
import {
  arrayType,
  elementType,
  FLOAT64,
  INT64,
  isNumeric,
  TRUTH,
  type Type,
  tupleType,
  UINT32,
  UINT64,
  UNKNOWN,
  withNull,
} from '../../types/types.ts'
import { LIST_AGGREGATES, listAggregateType } from '../aggregates/aggregates.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  arrayOf,
  asDeclared,
  type FunctionDef,
  firstElement,
  type Lowering,
  nonNull,
  sameAsAll,
  sameAsFirst,
  scalar,
  type TypeRule,
  typeOf,
  typeOfFirst,
} from '../definition.ts'

const truth = asDeclared(TRUTH)
const index = asDeclared(UINT64)

const array: TypeRule = ({ args }) => arrayType(superType(args.map(typeOf)))

const lowerArray: Lowering = (call, context) => {
  const of = elementType(call.type)
  return joinFragments(
    ['[', ', ', ']'],
    call.args.map((arg) => convert(arg, of, context)),
    call.type,
  )
}

/** The arrays, converted to one common type. */
function convertToCommonType(
  call: Apply,
  context: Parameters<Lowering>[1],
): readonly ResolvedExpr[] {
  const common = superType(call.args.map((arg) => arg.type))
  return call.args.map((arg) => convert(arg, common, context))
}

const concat: Lowering = (call, context) =>
  joinFragments(['list_concat(', ', ', ')'], convertToCommonType(call, context), call.type)

const intersect: Lowering = (call, context) => {
  const [head, ...rest] = convertToCommonType(call, context)
  let common = head ?? NULL_VALUE
  for (const next of rest)
    common =
      mayContainNull(common) && mayContainNull(next)
        ? sql`list_filter(${common}, lambda e: list_contains(${next}, e) OR e IS NULL AND ch_has_null(${next}))`(
            call.type,
          )
        : sql`list_filter(${common}, lambda e: list_contains(${next}, e))`(call.type)
  return sql`ch_array_distinct(${common})`(call.type)
}

const mayContainNull = (list: ResolvedExpr): boolean =>
  list.type.kind === 'array' && list.type.of.nullable

/** NULL is an item like any other; the engine reads over it. */
const hasAny: Lowering = (call, context) => {
  const [one = NULL_VALUE, other = NULL_VALUE] = convertToCommonType(call, context)
  if (!mayContainNull(one) || !mayContainNull(other))
    return sql`list_has_any(${one}, ${other})`(call.type)
  return sql`(list_has_any(${one}, ${other}) OR ch_has_null(${one}) AND ch_has_null(${other}))`(
    call.type,
  )
}

const hasAll: Lowering = (call, context) => {
  const [list = NULL_VALUE, items = NULL_VALUE] = convertToCommonType(call, context)
  if (!mayContainNull(items)) return sql`list_has_all(${list}, ${items})`(call.type)
  return sql`(list_has_all(${list}, ${items}) AND (ch_has_null(${list}) OR NOT ch_has_null(${items})))`(
    call.type,
  )
}

const hasSubstr: Lowering = (call, context) =>
  joinFragments(['ch_has_substr(', ', ', ')'], convertToCommonType(call, context), call.type)

/** The searched value of `has`, `indexOf`, converted to the element type. */
function needle(
  call: Apply,
  context: Parameters<Lowering>[1],
): readonly [ResolvedExpr, ResolvedExpr] {
  const [list = NULL_VALUE, wanted = NULL_VALUE] = call.args
  const of = elementType(list.type)
  const same = of.kind === wanted.type.kind || wanted.type.kind === 'null' || of.kind === 'null'
  if (same || (isNumeric(of) && isNumeric(wanted.type))) return [list, wanted]
  return [list, convert(wanted, withNull(of, wanted.type.nullable), context)]
}

const has: Lowering = (call, context) => {
  const [list, wanted] = needle(call, context)
  if (list.type.kind === 'map') return sql`map_contains(${list}, ${wanted})`(call.type)
  const found = sql`coalesce(list_contains(${list}, ${wanted}), false)`(TRUTH)
  if (!wanted.type.nullable) return found
  const null_there = sql`(len(list_filter(${list}, lambda e: e IS NULL)) > 0)`(TRUTH)
  return sql`CASE WHEN ${wanted} IS NULL THEN ${null_there} ELSE ${found} END`(call.type)
}

const indexOf: Lowering = (call, context) => {
  const [list, wanted] = needle(call, context)
  return sql`coalesce(list_position(${list}, ${wanted}), 0)::BIGINT`(call.type)
}

const countEqual: Lowering = (call, context) => {
  const [list, wanted] = needle(call, context)
  return sql`len(list_filter(${list}, lambda e: e IS NOT DISTINCT FROM ${wanted}))`(call.type)
}

/** Out of range ClickHouse returns the type's default, the engine NULL. */
const element: Lowering = (call) => {
  const [list = NULL_VALUE, at = NULL_VALUE] = call.args
  return orDefault(sql`(${list})[${at}]`(call.type), call.type)
}

const elementRule: TypeRule = ({ args }) => {
  const type = typeOf(args[0])
  if (type.kind === 'array' || type.kind === 'map') return elementType(type)
  return withNull(UNKNOWN)
}

/** `arrayReduce('sum', xs)`: the aggregate named by a constant, over the elements. */
const reduceType: TypeRule = (call) => {
  const name = constantText(call.args[0]) ?? ''
  const elements = call.args.slice(1).map((arg) => ({ ...arg, type: elementType(arg.type) }))
  return listAggregateType(name, { ...call, args: elements }) ?? UNKNOWN
}

const reduce: Lowering = (call) => {
  const over = LIST_AGGREGATES.get(constantText(call.args[0]) ?? '')
  if (over === undefined) return refuseArguments('arrayReduce does not know this aggregate')
  return over(call.args[1] ?? NULL_VALUE, { params: [], type: call.type })
}

const zipType: TypeRule = ({ args }) =>
  arrayType(tupleType(args.map((arg) => elementType(arg.type))))

const zip: Lowering = (call) => {
  const lists = joinFragments(['list_zip(', ', ', ')'], call.args, UNKNOWN)
  const row: ResolvedExpr = { kind: 'local', id: -99, type: UNKNOWN }
  const items = call.args.map(
    (arg, at): ResolvedExpr => ({
      kind: 'item',
      of: row,
      position: at + 1,
      type: elementType(arg.type),
    }),
  )
  const tuple: ResolvedExpr = { kind: 'tuple', items, type: elementType(call.type) }
  return sql`list_transform(${lists}, lambda ${row}: ${tuple})`(call.type)
}

const sumType: TypeRule = ({ args }) => {
  const of = elementType(typeOf(args[0]))
  return of.kind === 'int' ? (of.signed ? INT64 : UINT64) : FLOAT64
}

const cumulative: TypeRule = (call) => arrayType(sumType(call))

const differences: TypeRule = ({ args }) => {
  const of = elementType(typeOf(args[0]))
  return arrayType(of.kind === 'int' ? withNull(widerInteger(of.bits, true), of.nullable) : of)
}

/** The bound allows repeating elements of small arrays; larger results are refused. */
const resize: Lowering = (call, context) => {
  const [list = NULL_VALUE, size = NULL_VALUE, filler] = call.args
  const of = elementType(list.type)
  const none = of.nullable ? bind(null, of) : defaultOf(of)
  const fill = filler === undefined ? none : convert(filler, of, context)
  return sql`ch_array_resize(${list}, ${size}, ${fill})`(call.type)
}

const slice: Lowering = (call) => {
  const [list = NULL_VALUE, from = NULL_VALUE, length] = call.args
  return length === undefined
    ? sql`ch_array_from(${list}, ${from})`(call.type)
    : sql`ch_array_slice(${list}, ${from}, ${length})`(call.type)
}

/** NULL is omitted. */
const distinctType: TypeRule = ({ args }) =>
  arrayType(withNull(elementType(typeOf(args[0])), false))

const flattenType: TypeRule = ({ args }) => {
  let of = typeOf(args[0])
  while (of.kind === 'array' && of.of.kind === 'array') of = of.of
  return of
}

const flatten: Lowering = (call) => {
  let list = call.args[0] ?? NULL_VALUE
  while (list.type.kind === 'array' && list.type.of.kind === 'array') {
    list = sql`flatten(${list})`(list.type.of)
  }
  return list
}

const range: Lowering = (call) => {
  const [a = bindInt(0), b, c] = call.args
  if (b === undefined) return sql`ch_range(0, ${a}, 1)`(call.type)
  return sql`ch_range(${a}, ${b}, ${c ?? bindInt(1)})`(call.type)
}

/** Bitmaps are represented as sorted lists of numbers. */
const bitmap = arrayType(UINT64)

/** Array functions. Adding one means adding a line. */
export const ARRAYS: readonly FunctionDef[] = [
  scalar('~array', '0+', array, lowerArray),
  scalar('~range', '1-3', arrayOf(sameAsAll), range),
  scalar('arrayConcat', '1+', sameAsAll, concat),
  scalar('arrayElement', '2', elementRule, element),
  scalar('has', '2', nonNull(TRUTH), has),
  scalar('hasAll', '2', truth, hasAll),
  scalar('hasAny', '2', truth, hasAny),
  scalar('hasSubstr', '2', truth, hasSubstr),
  scalar('indexOf', '2', nonNull(UINT64), indexOf),
  scalar('countEqual', '2', nonNull(UINT64), countEqual),
  scalar('arrayEnumerate', '1', nonNull(arrayType(UINT32)), 'range(1, len($1) + 1)'),
  scalar('arrayEnumerateUniq', '1', nonNull(arrayType(UINT32)), 'ch_enumerate_uniq($1)'),
  scalar('arrayEnumerateDense', '1', nonNull(arrayType(UINT32)), 'ch_enumerate_dense($1)'),
  scalar('arrayPopBack', '1', typeOfFirst, '($1)[:-2]'),
  scalar('arrayPopFront', '1', typeOfFirst, '($1)[2:]'),
  scalar('arrayPushBack', '2', pushedType, (call, context) =>
    sql`list_append(${push(call, context).list}, ${push(call, context).item})`(call.type),
  ),
  scalar('arrayPushFront', '2', pushedType, (call, context) =>
    sql`list_prepend(${push(call, context).item}, ${push(call, context).list})`(call.type),
  ),
  scalar('arrayResize', '2-3', typeOfFirst, resize),
  scalar('arraySlice', '2-3', typeOfFirst, slice),
  scalar('arrayUniq', '1+', nonNull(UINT32), (call) =>
    call.args.length === 1
      ? sql`len(ch_array_distinct(${call.args[0] ?? NULL_VALUE}))`(call.type)
      : sql`len(list_distinct(${joinFragments(['list_zip(', ', ', ')'], call.args, UNKNOWN)}))`(
          call.type,
        ),
  ),
  scalar(
    'arrayDistinct',
    '1',
    distinctType,
    'ch_array_distinct(list_filter($1, lambda e: e IS NOT NULL))',
  ),
  scalar('arrayIntersect', '1+', sameAsAll, intersect),
  scalar('arrayReduce', '2', reduceType, reduce),
  scalar('arrayReverse', '1', typeOfFirst, 'list_reverse($1)'),
  scalar('arrayFlatten|flatten', '1', flattenType, flatten),
  scalar('arrayCompact', '1', typeOfFirst, 'ch_array_compact($1)'),
  scalar('arrayZip', '1+', zipType, zip),
  scalar(
    'arrayWithConstant',
    '2',
    ({ args }) => arrayType(typeOf(args[1])),
    'list_transform(ch_range(0, $1, 1), lambda e: $2)',
  ),
  scalar('arrayRotateLeft', '2', typeOfFirst, 'ch_array_rotate($1, $2)'),
  scalar('arrayRotateRight', '2', typeOfFirst, 'ch_array_rotate($1, -($2))'),
  scalar('arrayCumSumNonNegative', '1', cumulative, 'ch_cumsum_nonneg($1)'),
  scalar('arrayDifference', '1', differences, 'ch_array_difference($1)'),
  scalar('arrayProduct', '1', nonNull(FLOAT64), 'coalesce(list_product($1), 1)::DOUBLE'),
  scalar('bitmapBuild', '1', nonNull(bitmap), 'list_sort(list_distinct($1))'),
  scalar('bitmapToArray', '1', sameAsFirst, '$1'),
  scalar('bitmapCardinality', '1', index, 'len($1)'),
  scalar('bitmapContains', '2', truth, 'list_contains($1, $2)'),
  scalar('bitmapHasAny', '2', truth, 'list_has_any($1, $2)'),
  scalar('bitmapHasAll', '2', truth, 'list_has_all($1, $2)'),
  scalar('bitmapMin', '1', firstElement, 'list_min($1)'),
  scalar('bitmapMax', '1', firstElement, 'list_max($1)'),
  scalar('bitmapAnd', '2', sameAsFirst, 'list_sort(list_intersect($1, $2))'),
  scalar('bitmapOr', '2', sameAsFirst, 'list_sort(list_distinct(list_concat($1, $2)))'),
  scalar('bitmapXor', '2', sameAsFirst, 'ch_bitmap_xor($1, $2)'),
  scalar('bitmapAndnot', '2', sameAsFirst, 'list_filter($1, lambda e: NOT list_contains($2, e))'),
  scalar('bitmapAndCardinality', '2', index, 'len(list_intersect($1, $2))'),
  scalar('bitmapOrCardinality', '2', index, 'len(list_distinct(list_concat($1, $2)))'),
  scalar('bitmapXorCardinality', '2', index, 'len(ch_bitmap_xor($1, $2))'),
  scalar(
    'bitmapAndnotCardinality',
    '2',
    index,
    'len(list_filter($1, lambda e: NOT list_contains($2, e)))',
  ),
  scalar('bitmapSubsetInRange', '3', sameAsFirst, 'list_filter($1, lambda e: e >= $2 AND e < $3)'),
  scalar('bitmapSubsetLimit', '3', sameAsFirst, 'list_filter($1, lambda e: e >= $2)[:$3]'),
  scalar('subBitmap', '3', sameAsFirst, '($1)[($2 + 1):($2 + $3)]'),
]

function pushedType({ args }: { readonly args: readonly ResolvedExpr[] }): Type {
  return superType([typeOf(args[0]), arrayType(typeOf(args[1]))])
}

function push(
  call: Apply,
  context: Parameters<Lowering>[1],
): { list: ResolvedExpr; item: ResolvedExpr } {
  const [list = NULL_VALUE, item = bindBool(false)] = call.args
  return {
    list: convert(list, call.type, context),
    item: convert(item, elementType(call.type), context),
  }
}
