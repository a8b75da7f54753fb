/** HIGHER_ORDER: functions with a lambda as first argument, one parameter per array. */

import { mapExpr } from '../../passes/walk.ts'
import type { Apply, LocalExpr, ResolvedExpr, ResolvedLambda } from '../../sql/ir.ts'
import { bind, bindInt, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { asCondition, orDefault } from '../../types/convert.ts'
import {
  arrayType,
  elementType,
  FLOAT64,
  INT64,
  isBoolean,
  TRUTH,
  type Type,
  UINT32,
  UINT64,
  UNKNOWN,
  withNull,
} from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  type FunctionDef,
  type Lowering,
  nonNull,
  scalar,
  type TypedCall,
  type TypeRule,
} from '../definition.ts'
import { fold, foldType } from '../fold.ts'

/** The lambda of a call and its arrays; without a lambda, the identity. */
type LambdaArguments = {
  readonly lambda: ResolvedLambda | null
  readonly lists: readonly ResolvedExpr[]
}

function partsOf(args: readonly ResolvedExpr[]): LambdaArguments {
  const [head, ...rest] = args
  return head?.kind === 'lambda' ? { lambda: head, lists: rest } : { lambda: null, lists: args }
}

/** The lambda applied to the elements, as an array. */
function mapElements(call: Apply): ResolvedExpr {
  const { lambda, lists } = partsOf(call.args)
  const [list = NULL_VALUE] = lists
  if (lambda === null) return list
  const type = arrayType(lambda.body.type)
  if (lists.length === 1) return sql`list_transform(${list}, ${lambda})`(type)
  const zipped = joinFragments(['list_zip(', ', ', ')'], lists, UNKNOWN)
  return sql`list_transform(${zipped}, ${overRow(lambda, lists)})`(type)
}

/** The same with boolean results; NULL counts as false. */
function mask(call: Apply): ResolvedExpr {
  const { lambda } = partsOf(call.args)
  const all = mapElements(call)
  const of = lambda === null ? elementType(all.type) : lambda.body.type
  if (isBoolean(of) && !of.nullable) return all
  const each: LocalExpr = { kind: 'local', id: -98, type: of }
  return sql`list_transform(${all}, lambda ${each}: coalesce(${asCondition(each)}, false))`(
    arrayType(TRUTH),
  )
}

/** Converts a lambda of several parameters to one over zipped rows. */
function overRow(lambda: ResolvedLambda, lists: readonly ResolvedExpr[]): ResolvedLambda {
  const row: LocalExpr = { kind: 'local', id: lambda.locals[0]?.id ?? -97, type: UNKNOWN }
  const positions = new Map(lambda.locals.map((local, index) => [local.id, index + 1]))
  const body = mapExpr(lambda.body, {
    expr: (expr) => {
      const position = expr.kind === 'local' ? positions.get(expr.id) : undefined
      if (position === undefined) return expr
      const of = elementType(lists[position - 1]?.type ?? UNKNOWN)
      return { kind: 'item', of: row, position, type: of }
    },
  })
  return { ...lambda, locals: [row], body }
}

/** The first array. */
function subject(call: Apply): ResolvedExpr {
  return partsOf(call.args).lists[0] ?? NULL_VALUE
}

const returnedType: TypeRule = (call) => {
  const { lambda, lists } = partsOf(call.args)
  return lambda === null ? elementType(lists[0]?.type ?? UNKNOWN) : lambda.body.type
}
const firstList: TypeRule = (call) => partsOf(call.args).lists[0]?.type ?? UNKNOWN
const keptElement: TypeRule = (call) => elementType(firstList(call))
const nestedType: TypeRule = (call) => arrayType(firstList(call))

function filter(call: Apply): ResolvedExpr {
  const { lists } = partsOf(call.args)
  const list = subject(call)
  if (lists.length <= 1) {
    const { lambda } = partsOf(call.args)
    const condition = lambda === null ? null : { ...lambda, body: asCondition(lambda.body) }
    return condition === null ? list : sql`list_filter(${list}, ${condition})`(call.type)
  }
  return sql`ch_array_keep(${list}, ${mask(call)})`(call.type)
}

const atFirst: Lowering = (call) => orDefault(sql`(${filter(call)})[1]`(call.type), call.type)
const atLast: Lowering = (call) => orDefault(sql`(${filter(call)})[-1]`(call.type), call.type)

const sumType: TypeRule = (call) => {
  const of = returnedType(call)
  return of.kind === 'int' || isBoolean(of)
    ? of.kind === 'int' && of.signed
      ? INT64
      : UINT64
    : FLOAT64
}

/** The results as numbers. */
function numbersOf(call: Apply): ResolvedExpr {
  const all = mapElements(call)
  if (!isBoolean(elementType(all.type))) return all
  return sql`list_transform(${all}, lambda e: e::BIGINT)`(arrayType(INT64))
}

const sum: Lowering = (call) => {
  const zero = call.type.kind === 'int' ? bindInt(0, true) : bind(0, FLOAT64)
  const total = sql`list_sum(${numbersOf(call)})`(call.type)
  return call.type.kind === 'int'
    ? sql`coalesce(${total}, ${zero})::BIGINT`(call.type)
    : sql`coalesce(${total}, ${zero})`(call.type)
}

const extreme =
  (name: 'list_max' | 'list_min'): Lowering =>
  (call) =>
    orDefault(
      joinFragments([`${name}(`, ', ', ')'], [mapElements(call)], withNull(call.type)),
      call.type,
    )

const callWithMask =
  (name: string): Lowering =>
  (call) =>
    joinFragments([`${name}(`, ', ', ')'], [subject(call), mask(call)], call.type)

const sortElements =
  (reverse: boolean): Lowering =>
  (call) => {
    const { lambda } = partsOf(call.args)
    const list = subject(call)
    if (lambda === null) {
      return reverse
        ? sql`list_reverse_sort(${list}, 'NULLS LAST')`(call.type)
        : sql`list_sort(${list})`(call.type)
    }
    const keys = mapElements(call)
    if (!reverse) return sql`ch_sort_by(${list}, ${keys})`(call.type)
    // NULL and NaN are last in both directions, and the sort is stable.
    if (lambda.body.type.kind !== 'float') return sql`ch_sort_by_down(${list}, ${keys})`(call.type)
    const numbers = sql`list_transform(${keys}, lambda k: CASE WHEN isnan(k) THEN NULL ELSE k END)`
    return sql`ch_sort_by_down(${list}, ${numbers(UNKNOWN)})`(call.type)
  }

/** The parameter types of a call's lambda: elements of its arrays, for a fold the accumulator first. */
export function lambdaParameters(name: string, args: readonly Type[]): readonly Type[] {
  if (name === 'arrayFold') return [args.at(-1) ?? UNKNOWN, ...args.slice(0, -1).map(elementType)]
  const [first] = args
  if (first?.kind === 'map') return [first.key, first.value]
  return args.map(elementType)
}

/** The entries of a map filtered by a lambda of key and value. */
const mapEntries =
  (build: (entries: ResolvedExpr, lambda: ResolvedLambda, call: Apply) => ResolvedExpr): Lowering =>
  (call) => {
    const [lambda, map = NULL_VALUE] = call.args
    if (lambda?.kind !== 'lambda') return refuseArguments('a lambda is needed')
    const entries = sql`map_entries(${map})`(UNKNOWN)
    const types = map.type.kind === 'map' ? [map.type.key, map.type.value] : []
    return build(
      entries,
      overRow(
        lambda,
        types.map((type) => ({ ...NULL_VALUE, type: arrayType(type) })),
      ),
      call,
    )
  }

/** A lambda of key and value that returns a new key and a new value. */
const appliedType: TypeRule = ({ args }) => {
  const [lambda] = args
  const made = lambda?.kind === 'lambda' ? lambda.body.type : UNKNOWN
  if (made.kind !== 'tuple' || made.items.length !== 2)
    return refuseArguments('mapApply needs a lambda that gives a key and a value')
  const [key = UNKNOWN, value = UNKNOWN] = made.items
  return { kind: 'map', key, value, nullable: false }
}

const second: TypeRule = ({ args }: TypedCall) => args[1]?.type ?? UNKNOWN

/** Higher-order functions; many also work without a lambda. Adding one means adding a line. */
export const HIGHER_ORDER: readonly FunctionDef[] = [
  scalar('arrayMap', '2+', (call) => arrayType(returnedType(call)), mapElements),
  scalar('arrayFilter', '2+', firstList, filter),
  scalar('arrayCount', '1+', nonNull(UINT32), (call) =>
    sql`len(list_filter(${mask(call)}, lambda e: e))`(call.type),
  ),
  scalar('arrayExists', '1+', nonNull(TRUTH), (call) =>
    sql`coalesce(list_bool_or(${mask(call)}), false)`(call.type),
  ),
  scalar('arrayAll', '1+', nonNull(TRUTH), (call) =>
    sql`coalesce(list_bool_and(${mask(call)}), true)`(call.type),
  ),
  scalar('arrayFirst', '2+', keptElement, atFirst),
  scalar('arrayLast', '2+', keptElement, atLast),
  scalar('arrayFirstIndex', '2+', nonNull(UINT32), (call) =>
    sql`coalesce(list_position(${mask(call)}, true), 0)::BIGINT`(call.type),
  ),
  scalar('arrayLastIndex', '2+', nonNull(UINT32), (call) =>
    sql`ch_last_index(${mask(call)})::BIGINT`(call.type),
  ),
  scalar('arrayMin', '1+', returnedType, extreme('list_min')),
  scalar('arrayMax', '1+', returnedType, extreme('list_max')),
  scalar('arraySum', '1+', sumType, sum),
  scalar('arrayAvg', '1+', nonNull(FLOAT64), (call) =>
    sql`coalesce(list_avg(${numbersOf(call)}), ${bind(0, FLOAT64)})`(call.type),
  ),
  scalar(
    'arrayCumSum',
    '1+',
    (call) => arrayType(sumType(call)),
    (call) => sql`ch_cumsum(${numbersOf(call)})`(call.type),
  ),
  scalar('arraySort', '1+', firstList, sortElements(false)),
  scalar('arrayReverseSort', '1+', firstList, sortElements(true)),
  scalar('arrayFill', '2+', firstList, callWithMask('ch_array_fill')),
  scalar('arrayReverseFill', '2+', firstList, callWithMask('ch_array_rfill')),
  scalar('arraySplit', '2+', nestedType, callWithMask('ch_array_split')),
  scalar('arrayReverseSplit', '2+', nestedType, callWithMask('ch_array_rsplit')),
  scalar('arrayFold', '3+', foldType, fold),
  scalar(
    'mapFilter',
    '2',
    second,
    mapEntries((entries, lambda, call) =>
      sql`map_from_entries(list_filter(${entries}, ${lambda}))`(call.type),
    ),
  ),
  scalar(
    'mapApply',
    '2',
    appliedType,
    mapEntries((entries, lambda, call) =>
      sql`map_from_entries(list_transform(${entries}, ${lambda}))`(call.type),
    ),
  ),
  scalar(
    'mapExists',
    '2',
    nonNull(TRUTH),
    mapEntries((entries, lambda, call) =>
      sql`(len(list_filter(${entries}, ${lambda})) > 0)`(call.type),
    ),
  ),
]
