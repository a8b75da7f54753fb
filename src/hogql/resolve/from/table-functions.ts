/** Table functions numbers() and generateSeries(), ARRAY JOIN, and SAMPLE. */

import type { Join, ResolvedExpr } from '../../sql/ir.ts'
import { applyFragment, bindBool, bindInt, constantInt } from '../../sql/sql-fragments.ts'
import type * as ast from '../../syntax/ast.ts'
import { superType } from '../../types/type-unify.ts'
import {
  arrayType,
  elementType,
  STRING,
  TRUTH,
  tupleType,
  UINT64,
  withNull,
} from '../../types/types.ts'
import { refuse, suggestName } from '../refusals.ts'
import type { NamedColumn, NameScope, Resolver, ScopeEntry } from '../scope.ts'
import { openColumns } from './sources.ts'

/** Maximum rows of a table function. */
const SERIES_ROWS_MAX = 10_000_000n

/** A table function counts no further than the engine's integers do. */
const NUMBER_MAX = 2n ** 62n

type TableFunctionContext = { readonly scope: NameScope; readonly resolver: Resolver }

/** The right side of a join with how it is joined. */
export type JoinedSide = Pick<Join, 'join' | 'on' | 'right'>

/** Functions of constant whole numbers that are computed before any row is read. A line adds one. */
const FOLDS: Readonly<Record<string, (a: bigint, b: bigint) => bigint | null>> = {
  plus: (a, b) => a + b,
  minus: (a, b) => a - b,
  multiply: (a, b) => a * b,
  intDiv: (a, b) => (b === 0n ? null : a / b),
  modulo: (a, b) => (b === 0n ? null : a % b),
  least: (a, b) => (a < b ? a : b),
  greatest: (a, b) => (a > b ? a : b),
}

/** The whole number that a constant expression is, null for any other. */
function foldInt(expr: ResolvedExpr): bigint | null {
  if (expr.kind !== 'apply') return constantInt(expr)
  const [left, right] = expr.args.map(foldInt)
  const fold = Object.hasOwn(FOLDS, expr.name) ? FOLDS[expr.name] : undefined
  if (fold === undefined || expr.args.length !== 2) return null
  if (left === undefined || left === null || right === undefined || right === null) return null
  const folded = fold(left, right)
  return folded === null || folded > NUMBER_MAX || folded < -NUMBER_MAX ? null : folded
}

/**
 * numbers(n), numbers(from, n), generateSeries(from, to[, step]): constant arguments, a limited
 * number of rows.
 */
export function openSeries(
  node: ast.JoinExpr,
  table: ast.Field,
  { scope, resolver }: TableFunctionContext,
): ScopeEntry {
  const name = table.chain.join('.')
  const series = name === 'generateSeries' || name === 'generate_series'
  if (name !== 'numbers' && !series) {
    const hint = suggestName(name, ['numbers', 'generateSeries'])
    throw refuse(`Unknown table function \`${name}\`${hint === '' ? '.' : hint}`, table)
  }
  const bounds = (node.table_args ?? []).map((arg) => foldInt(resolver.expr(arg, scope)))
  const given = bounds.filter((bound) => bound !== null)
  const row_count = series
    ? bounds.length === 2 || bounds.length === 3
    : bounds.length === 1 || bounds.length === 2
  if (given.length !== bounds.length || !row_count) {
    throw refuse(`Table function '${name}' takes whole numbers as constants`, node)
  }
  const [a = 0n, b = 0n, step = 1n] = given
  const [first, stop] = series ? [a, b + 1n] : given.length === 1 ? [0n, a] : [a, a + b]
  if (step <= 0n) throw refuse(`Table function '${name}' needs a positive step`, node)
  if ((stop - first) / step > SERIES_ROWS_MAX) {
    throw refuse(`Table function '${name}' makes at most ${SERIES_ROWS_MAX} rows`, node)
  }
  resolver.next.relation += 1
  const args = [bindInt(first, true), bindInt(stop, true), bindInt(step, true)] as const
  const column = {
    name: node.column_aliases?.[0] ?? (series ? 'generate_series' : 'number'),
    id: 1,
    type: UINT64,
  }
  return openColumns(node.alias ?? name, [column], {
    kind: 'series',
    id: resolver.next.relation,
    args,
  })
}

/** A sample contains users whole: rows are chosen by a hash of the distinct id. */
export function sampleRelation(sample: ast.SampleExpr, entry: ScopeEntry): readonly ResolvedExpr[] {
  const ratio = ratioOf(sample.sample_value)
  if (ratio >= 1) return []
  const id = entry.find('distinct_id')
  if (id?.kind !== 'value') throw refuse('SAMPLE needs a table with distinct_id', sample)
  const offset = sample.offset_value === null ? 0 : ratioOf(sample.offset_value)
  const first = bindInt(Math.round(offset * 1_000_000), true)
  const last = bindInt(Math.round((offset + ratio) * 1_000_000), true)
  const bucket = applyFragment('sampleBucket', [id.expr], UINT64)
  return [
    applyFragment('greaterOrEquals', [bucket, first], TRUTH),
    applyFragment('less', [bucket, last], TRUTH),
  ]
}

function ratioOf(value: ast.Placeholder | ast.RatioExpr): number {
  if (value.kind === 'Placeholder') throw refuse('Unresolved placeholder', value)
  return Number(value.left.value) / Number(value.right?.value ?? 1)
}

/** ARRAY JOIN: each array is unnested side by side; its name then refers to the element. */
export function arrayJoin(
  select: ast.SelectQuery,
  { scope, resolver }: TableFunctionContext,
): JoinedSide {
  const lists: ResolvedExpr[] = []
  const columns: NamedColumn[] = []
  const is_left = select.array_join_op === 'LEFT ARRAY JOIN'
  for (const item of select.array_join_list) {
    const name =
      item.kind === 'Alias' ? item.alias : item.kind === 'Field' ? (item.chain.at(-1) ?? '') : ''
    const list = entriesOf(resolver.expr(item.kind === 'Alias' ? item.expr : item, scope))
    const of = elementType(list.type)
    const is_list = list.type.kind === 'array'
    const opened = is_list
      ? list
      : applyFragment(
          'asType',
          [list],
          withNull(arrayType(superType([of, STRING])), list.type.nullable),
        )
    lists.push(is_left && is_list ? fillEmptyList(opened) : opened)
    columns.push({ name, id: lists.length, type: of })
  }
  resolver.next.relation += 1
  const relation = { kind: 'unnest', id: resolver.next.relation, lists } as const
  const entry = openColumns(null, columns, relation)
  // A value that is not a list may be NULL, which gives one row with NULL.
  if (is_left && lists.some((list) => list.type.nullable)) entry.loosen()
  // The name refers to the element from here on, no longer to the array.
  for (const column of columns) for (const known of scope.entries) known.merged.add(column.name)
  scope.entries.push(entry)
  return { join: is_left ? 'LEFT' : 'CROSS', right: relation, on: is_left ? bindBool(true) : null }
}

/** A map is unnested as the list of its keys and values. */
export function entriesOf(list: ResolvedExpr): ResolvedExpr {
  const { type } = list
  if (type.kind !== 'map') return list
  const keys = applyFragment('mapKeys', [list], arrayType(type.key))
  const values = applyFragment('mapValues', [list], arrayType(type.value))
  return applyFragment('arrayZip', [keys, values], arrayType(tupleType([type.key, type.value])))
}

/** An empty list becomes one default of its type: LEFT ARRAY JOIN shows it as one row. */
function fillEmptyList(list: ResolvedExpr): ResolvedExpr {
  const count = applyFragment(
    'greatest',
    [applyFragment('length', [list], UINT64), bindInt(1)],
    UINT64,
  )
  return applyFragment('arrayResize', [list, count], list.type)
}
