/**
 * -Array, -ForEach, -Map, -ArgMax and -ArgMin: rows are aggregated to a list, and the base
 * aggregate runs over parts of it.
 */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { aggregateFragment, bindBool, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { arrayType, elementType, type Type, tupleType, UNKNOWN } from '../../types/types.ts'
import type { FunctionDef, OverList, TypedCall } from '../definition.ts'

/** All values of a call's rows, with NULLs. */
function rowsOf(call: Apply, value: ResolvedExpr): ResolvedExpr {
  const how = call.aggregate ?? { distinct: false, filter: null, order_by: [] }
  const type = arrayType(value.type)
  return sql`coalesce(${aggregateFragment('list', [value], type, { ...how, distinct: false })}, [])`(
    type,
  )
}

/** The type of the base aggregate over other argument types. */
function baseType(base: FunctionDef, call: TypedCall, types: readonly Type[]): Type {
  return base.returns({ ...call, args: types.map((type) => ({ ...NULL_VALUE, type })) })
}

type CombinatorTarget = { readonly base: FunctionDef; readonly over: OverList }

/** A combinator for aggregates that have `over_list`; null for others. */
function onLists(
  build: (lists: CombinatorTarget) => FunctionDef,
): (base: FunctionDef) => FunctionDef | null {
  return (base) => (base.over_list === null ? null : build({ base, over: base.over_list }))
}

/** `sumArray(xs)`: over the elements of all arrays. */
export const overArray = onLists(({ base, over }) => ({
  ...base,
  args: { min: 1, max: 1 },
  returns: (call) => baseType(base, call, [elementType(call.args[0]?.type ?? UNKNOWN)]),
  lower: (call) => {
    const [arrays = NULL_VALUE] = call.args
    return over(sql`flatten(${rowsOf(call, arrays)})`(arrays.type), call)
  },
  over_list: null,
}))

/** `sumForEach(xs)`: position by position. */
export const forEach = onLists(({ base, over }) => {
  const over_list: OverList = (rows, call) => {
    const at: ResolvedExpr = { kind: 'local', id: -60, type: UNKNOWN }
    const arrays = elementType(rows.type)
    const row: ResolvedExpr = { kind: 'local', id: -61, type: arrays }
    const column =
      sql`list_transform(list_filter(${rows}, lambda ${row}: len(${row}) >= ${at}), lambda ${row}: ${row}[${at}])`(
        arrays,
      )
    const one = over(column, { ...call, type: elementType(call.type) })
    const longest = sql`coalesce(list_max(list_transform(${rows}, lambda ${row}: len(${row}))), 0)`(
      UNKNOWN,
    )
    return sql`list_transform(range(1, ${longest} + 1), lambda ${at}: ${one})`(call.type)
  }
  return {
    ...base,
    args: { min: 1, max: 1 },
    returns: (call) =>
      arrayType(baseType(base, call, [elementType(call.args[0]?.type ?? UNKNOWN)])),
    lower: (call) => over_list(rowsOf(call, call.args[0] ?? NULL_VALUE), call),
    over_list,
  }
})

/** `sumMap(map)` returns a map, `sumMap(keys, values)` a tuple of keys and values: per key. */
export const perKey = onLists(({ base, over }) => {
  const over_list: OverList = (maps, call) => {
    const { key, value } = keyAndValue([{ ...NULL_VALUE, type: elementType(maps.type) }])
    const map: ResolvedExpr = { kind: 'local', id: -62, type: UNKNOWN }
    const name: ResolvedExpr = { kind: 'local', id: -63, type: key }
    const keys =
      sql`list_sort(list_distinct(flatten(list_transform(${maps}, lambda ${map}: map_keys(${map})))))`(
        arrayType(key),
      )
    const values =
      sql`list_filter(list_transform(${maps}, lambda ${map}: ${map}[${name}]), lambda e: e IS NOT NULL)`(
        arrayType(value),
      )
    const of = valueOf(call.type, value)
    const entry = sql`{'k': ${name}, 'v': ${over(values, { ...call, type: of })}}`(UNKNOWN)
    const all = sql`map_from_entries(list_transform(${keys}, lambda ${name}: ${entry}))`(call.type)
    if (call.type.kind !== 'tuple') return all
    return sql`list_transform([${all}], lambda ${map}: {'1': map_keys(${map}), '2': map_values(${map})})[1]`(
      call.type,
    )
  }
  return {
    ...base,
    args: { min: 1, max: 2 },
    returns: (call) => {
      const { key, value } = keyAndValue(call.args)
      const of = baseType(base, call, [value])
      if (call.args.length === 2) return tupleType([arrayType(key), arrayType(of)])
      return { kind: 'map', key, value: of, nullable: false }
    },
    lower: (call) => over_list(rowsOf(call, mapOf(call.args)), call),
    over_list,
  }
})

/** The map of a row: the argument, or made of its keys and values. */
export function mapOf(args: readonly ResolvedExpr[]): ResolvedExpr {
  const [first = NULL_VALUE, second] = args
  const { key, value } = keyAndValue(args)
  const type: Type = { kind: 'map', key, value, nullable: false }
  return second === undefined ? first : sql`map(${first}, ${second})`(type)
}

/** The type of a map's values. */
function valueOf(type: Type, otherwise: Type): Type {
  if (type.kind === 'map') return type.value
  return type.kind === 'tuple' ? elementType(type.items[1] ?? UNKNOWN) : otherwise
}

function keyAndValue(args: readonly ResolvedExpr[]): { key: Type; value: Type } {
  const [first, second] = args
  if (first?.type.kind === 'map') return { key: first.type.key, value: first.type.value }
  return {
    key: elementType(first?.type ?? UNKNOWN),
    value: elementType(second?.type ?? UNKNOWN),
  }
}

/** `sumArgMax(x, key)`: over the rows with the greatest key. */
export function atExtremum(
  name: 'list_max' | 'list_min',
): (base: FunctionDef) => FunctionDef | null {
  return onLists(({ base, over }) => ({
    ...base,
    args: { min: base.args.min + 1, max: base.args.max + 1 },
    returns: (call) => base.returns({ ...call, args: call.args.slice(0, -1) }),
    lower: (call) => {
      const key = call.args.at(-1) ?? NULL_VALUE
      // A count without an argument counts rows.
      const value = call.args.length > 1 ? (call.args[0] ?? NULL_VALUE) : bindBool(true)
      const pair: ResolvedExpr = { kind: 'tuple', items: [key, value], type: UNKNOWN }
      const rows = rowsOf(call, pair)
      const row: ResolvedExpr = { kind: 'local', id: -64, type: UNKNOWN }
      const at = (position: number): ResolvedExpr => ({
        kind: 'item',
        of: row,
        position,
        type: UNKNOWN,
      })
      const keys = sql`list_transform(${rows}, lambda ${row}: ${at(1)})`(UNKNOWN)
      const best =
        name === 'list_max' ? sql`list_max(${keys})`(UNKNOWN) : sql`list_min(${keys})`(UNKNOWN)
      const remaining = sql`list_filter(${rows}, lambda ${row}: ${at(1)} = ${best})`(UNKNOWN)
      return over(
        sql`list_transform(${remaining}, lambda ${row}: ${at(2)})`(arrayType(value.type)),
        call,
      )
    },
    over_list: null,
  }))
}
