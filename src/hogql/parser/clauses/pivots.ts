/** PIVOT and UNPIVOT clauses. */

import type {
  Expr,
  JoinExpr,
  PivotColumn,
  PivotExpr,
  UnpivotColumn,
  UnpivotExpr,
} from '../../syntax/ast.ts'
import { tuple } from '../../syntax/nodes.ts'
import {
  advance,
  at,
  type Cursor,
  commaList,
  expect,
  placeFrom,
  refuseSpan,
  take,
  takePair,
} from '../cursor.ts'
import { readExprs, readItem } from '../expressions/lists.ts'
import { POWER } from '../expressions/powers.ts'
import { atListEnd } from '../words.ts'

/** `PIVOT (aggregates FOR column IN (values) … GROUP BY …)`; the current token is the keyword. */
export function readPivot(cursor: Cursor, table: JoinExpr): PivotExpr {
  advance(cursor)
  expect(cursor, '(', 'after PIVOT')
  const aggregates = commaList(cursor, readItem, (inner) => at(inner, 'FOR'))
  expect(cursor, 'FOR', 'after the aggregates of PIVOT')
  const columns = [readPivotColumn(cursor)]
  while (!at(cursor, ')') && !at(cursor, 'GROUP')) columns.push(readPivotColumn(cursor))
  const group_by = takePair(cursor, 'GROUP', 'BY') ? readExprs(cursor) : []
  expect(cursor, ')', 'after PIVOT')
  const place = placeFrom(cursor, table.start)
  return { kind: 'PivotExpr', ...place, table, aggregates, columns, group_by }
}

/** `column IN (values)`. */
function readPivotColumn(cursor: Cursor): PivotColumn {
  const { start } = cursor.token
  const column = readColumns(cursor)
  const values = readValuesIn(cursor)
  return { kind: 'PivotColumn', ...placeFrom(cursor, start), column, values }
}

/** `UNPIVOT (values FOR names IN (columns), …)`; the current token is the keyword. */
export function readUnpivot(cursor: Cursor, table: JoinExpr): UnpivotExpr {
  advance(cursor)
  const include_nulls = takePair(cursor, 'INCLUDE', 'NULLS')
  if (!include_nulls) takePair(cursor, 'EXCLUDE', 'NULLS')
  expect(cursor, '(', 'after UNPIVOT')
  const columns = commaList(cursor, readUnpivotColumn, (inner) => at(inner, ')'))
  expect(cursor, ')', 'after UNPIVOT')
  return { kind: 'UnpivotExpr', ...placeFrom(cursor, table.start), table, columns, include_nulls }
}

/** `values FOR names IN (columns)`. */
function readUnpivotColumn(cursor: Cursor): UnpivotColumn {
  const { start } = cursor.token
  const value_columns = readColumns(cursor)
  expect(cursor, 'FOR', 'after the value columns of UNPIVOT')
  const name_columns = readColumns(cursor)
  const unpivot_values = readValuesIn(cursor)
  const place = placeFrom(cursor, start)
  return { kind: 'UnpivotColumn', ...place, value_columns, name_columns, unpivot_values }
}

/** One column, or several in brackets; brackets always make a tuple. */
function readColumns(cursor: Cursor): Expr {
  const { start } = cursor.token
  if (!take(cursor, '(')) return readColumn(cursor)
  const exprs = commaList(cursor, readColumn, atListEnd)
  expect(cursor, ')', 'after the columns')
  return tuple(exprs, placeFrom(cursor, start))
}

function readColumn(cursor: Cursor): Expr {
  const column = cursor.rules.expr(cursor, POWER.compare + 1)
  if (column.kind === 'Field' || column.kind === 'Call') return column
  throw refuseSpan(cursor, column, 'expected the name of a column.')
}

function readValuesIn(cursor: Cursor): Expr[] {
  expect(cursor, 'IN', 'before the values')
  expect(cursor, '(', 'before the values')
  const values = readExprs(cursor)
  expect(cursor, ')', 'after the values')
  return values
}
