/** One table of FROM: its source, then alias, PIVOT, FINAL and SAMPLE. */

import type {
  Constant,
  Expr,
  JoinExpr,
  Placeholder,
  RatioExpr,
  SampleExpr,
  TableExpr,
  ValuesQuery,
} from '../../syntax/ast.ts'
import { field, joinOf } from '../../syntax/nodes.ts'
import {
  advance,
  at,
  atPair,
  type Cursor,
  commaList,
  descend,
  expect,
  expectName,
  placeFrom,
  refuseUnexpected,
  requireDepth,
  take,
} from '../cursor.ts'
import { readBraces } from '../expressions/brackets.ts'
import { readColumnNames, readExprs } from '../expressions/lists.ts'
import { atNumber, readNumber } from '../expressions/literals.ts'
import { atTag, readTag } from '../tags.ts'
import { atBareAlias, atSelect, requireFreeName } from '../words.ts'
import { readPivot, readUnpivot } from './pivots.ts'

type ReadJoins = (cursor: Cursor) => readonly JoinExpr[]

/** A table with its suffixes, or the tables of joins in brackets. */
export function readTable(cursor: Cursor, readJoins: ReadJoins): readonly JoinExpr[] {
  const { start } = cursor.token
  if (!at(cursor, '(')) return [readTableSuffixes(cursor, readSource(cursor), start)]
  descend(cursor)
  advance(cursor)
  const table = readBracketedTable(cursor)
  const joins = table === null ? readJoins(cursor) : []
  const whole = table ?? tableAlone(cursor, joins)
  expect(cursor, ')', 'after the table')
  cursor.depth -= 1
  if (whole === null) return joins
  return [readTableSuffixes(cursor, joinOf(whole, placeFrom(cursor, start)), start)]
}

function readBracketedTable(cursor: Cursor): TableExpr | null {
  if (atSelect(cursor)) return cursor.rules.select(cursor)
  if (!atPair(cursor, 'VALUES', '(')) return null
  const values = readValues(cursor)
  return at(cursor, ')') ? values : cursor.rules.selectAfter(cursor, values)
}

/**
 * In `((SELECT …) UNION ALL …)` and `({placeholder})` the brackets contain one select, which may
 * continue.
 */
function tableAlone(cursor: Cursor, joins: readonly JoinExpr[]): TableExpr | null {
  const [only] = joins
  if (only === undefined || joins.length > 1 || only.alias !== null) return null
  const { table, table_final, sample } = only
  const is_select =
    table.kind === 'SelectQuery' || table.kind === 'SelectSetQuery' || table.kind === 'Placeholder'
  if (table_final || sample !== null) return null
  if (is_select) return at(cursor, ')') ? table : cursor.rules.selectAfter(cursor, table)
  return table.kind === 'ValuesQuery' ? table : null
}

/** A name, a table function, a placeholder or a tag. */
function readSource(cursor: Cursor): JoinExpr {
  const { start } = cursor.token
  if (atTag(cursor)) return joinOf(readTag(cursor), placeFrom(cursor, start))
  if (at(cursor, '{')) {
    const placeholder = readBraces(cursor)
    if (placeholder.kind !== 'Placeholder')
      throw refuseUnexpected(cursor, 'a table, not a dictionary')
    return joinOf(placeholder, placeFrom(cursor, start))
  }
  const chain = [expectName(cursor, 'a table')]
  if (at(cursor, '(')) return readTableFunction(cursor, chain, start)
  while (take(cursor, '.')) chain.push(expectName(cursor, 'a name after "."'))
  return joinOf(field(chain, placeFrom(cursor, start)), placeFrom(cursor, start))
}

function readTableFunction(cursor: Cursor, chain: readonly string[], start: number): JoinExpr {
  const table = field(chain, placeFrom(cursor, start))
  advance(cursor)
  const table_args = at(cursor, ')') ? [] : readExprs(cursor)
  expect(cursor, ')', 'after the arguments of the table function')
  return { ...joinOf(table, placeFrom(cursor, start)), table_args }
}

/** VALUES; the current token is the keyword. */
export function readValues(cursor: Cursor): ValuesQuery {
  const { start } = advance(cursor)
  const rows = commaList(cursor, readRow, () => false)
  return { kind: 'ValuesQuery', ...placeFrom(cursor, start), rows }
}

function readRow(cursor: Cursor): Expr[] {
  expect(cursor, '(', 'before the values of a row')
  const row = readExprs(cursor)
  expect(cursor, ')', 'after the values of a row')
  return row
}

function readTableSuffixes(cursor: Cursor, source: JoinExpr, start: number): JoinExpr {
  let join = readAlias(cursor, source)
  let pivots = 0
  while (atPair(cursor, 'PIVOT', '(') || at(cursor, 'UNPIVOT')) {
    pivots += 1
    requireDepth(cursor, pivots)
    const table = at(cursor, 'PIVOT') ? readPivot(cursor, join) : readUnpivot(cursor, join)
    join = readAlias(cursor, joinOf(table, placeFrom(cursor, start)))
  }
  const table_final = take(cursor, 'FINAL')
  const sample = readSample(cursor)
  return { ...join, ...placeFrom(cursor, start), table_final, sample }
}

function readAlias(cursor: Cursor, join: JoinExpr): JoinExpr {
  const { token } = cursor
  const explicit = take(cursor, 'AS')
  if (!explicit && (!atBareAlias(cursor) || at(cursor, 'FINAL'))) return join
  const alias = expectName(cursor, 'a name after AS')
  requireFreeName(cursor, token, alias)
  return { ...join, alias, column_aliases: at(cursor, '(') ? readColumnNames(cursor) : null }
}

/** `SAMPLE 1/10 OFFSET 1/2`. */
function readSample(cursor: Cursor): SampleExpr | null {
  const { start } = cursor.token
  if (!take(cursor, 'SAMPLE')) return null
  const sample_value = readRatio(cursor)
  const offset_value = take(cursor, 'OFFSET') ? readRatio(cursor) : null
  return { kind: 'SampleExpr', ...placeFrom(cursor, start), sample_value, offset_value }
}

/** `1/10`, `0.1`, a placeholder. A percent sign is refused because dialects disagree about its meaning. */
function readRatio(cursor: Cursor): RatioExpr | Placeholder {
  const { start } = cursor.token
  if (at(cursor, '{')) {
    const placeholder = readBraces(cursor)
    if (placeholder.kind !== 'Placeholder')
      throw refuseUnexpected(cursor, 'a number or a placeholder')
    return placeholder
  }
  const left = readSigned(cursor)
  const right = take(cursor, '/') ? readSigned(cursor) : null
  return { kind: 'RatioExpr', ...placeFrom(cursor, start), left, right }
}

function readSigned(cursor: Cursor): Constant {
  const { start } = cursor.token
  const negative = take(cursor, '-')
  if (!negative) take(cursor, '+')
  if (!atNumber(cursor, cursor.token)) throw refuseUnexpected(cursor, 'a number')
  return readNumber(cursor, negative ? -1 : 1, start)
}
