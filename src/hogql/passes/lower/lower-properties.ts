/**
 * Pass lowerProperties: a property is read with the type of its definition, from its Parquet column
 * where there is one, else from JSON.
 *
 *   properties.price
 *   → t1.p_n_7072696365, or try_cast(json_extract_string(t1.properties, 'price') AS DOUBLE)
 */

import {
  type ColumnOwner,
  type NeededColumn,
  neededColumnName,
  REST_COLUMN,
} from '../../../column-names.ts'
import type { CompileContext } from '../../context.ts'
import { lowerProperty } from '../../functions/text/json.ts'
import type { ColumnExpr, Property, ResolvedExpr } from '../../sql/ir.ts'
import { sql } from '../../sql/sql-fragments.ts'
import { asInstant } from '../../types/convert.ts'
import { STRING, type Type, withNull } from '../../types/types.ts'
import { mapStatement, type Pass } from '../walk.ts'

/** Lowers every property access. */
export const lowerProperties: Pass = (statement, context) =>
  mapStatement(statement, {
    expr: (expr) => (expr.kind === 'property' ? readTyped(expr, context) : expr),
  })

function readTyped(property: Property, context: CompileContext): ResolvedExpr {
  const { is_real = false, type } = property
  const { float, bool, text } = readsOf(property, context)
  if (type.kind === 'float') {
    // As in property columns (storage/files/property-columns.ts): -0 is 0.
    const number = float ?? sql`(try_cast(${text} AS DOUBLE) + 0.0)`(type)
    return is_real ? sql`ch_real(${number})`(type) : number
  }
  if (type.kind === 'bool')
    return bool ?? sql`CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`(type)
  return type.kind === 'datetime' ? asInstant(text, type.timezone, context) : text
}

/** The columns of a property, by type. Text is always available; numbers and booleans only from a column. */
function readsOf(
  property: Property,
  { has_property_columns = false }: CompileContext,
): {
  readonly float: ResolvedExpr | null
  readonly bool: ResolvedExpr | null
  readonly text: ResolvedExpr
} {
  const { path, type, may_be_whole = false } = property
  const [name, ...deeper] = path
  const stored = has_property_columns ? storedColumnOf(property) : null
  if (stored === null || typeof name !== 'string')
    return { float: null, bool: null, text: lowerProperty(property) }
  if (deeper.length > 0) {
    // Lists and objects of events are always in `p_rest`; JSON of persons and groups is whole.
    const of: ResolvedExpr =
      stored.owner === 'event' ? { ...stored.column, name: REST_COLUMN } : stored.column
    return { float: null, bool: null, text: lowerProperty({ ...property, of }) }
  }
  const find = (kind: Exclude<NeededColumn['kind'], 'json'>, as: Type): ResolvedExpr | null => {
    const column = { owner: stored.owner, kind, name }
    const column_name = neededColumnName(column)
    if (column_name === undefined) return null
    const { relation } = stored.column
    return { kind: 'column', relation, name: column_name, type: as, property: column }
  }
  return {
    float: find(may_be_whole && stored.owner === 'event' ? 'whole_or_real' : 'number', type),
    bool: find('boolean', type),
    text: find('text', withNull(STRING)) ?? lowerProperty(property),
  }
}

/** The JSON column that a property is stored in, and whose property it is. */
type StoredPropertyColumn = {
  readonly column: ColumnExpr
  readonly owner: ColumnOwner
}

/** The stored JSON a property is read from; null when it is computed. */
function storedColumnOf({ of }: Property): StoredPropertyColumn | null {
  if (of.kind !== 'column' || of.name !== 'properties' || of.type.kind !== 'json') return null
  const { owner } = of.type
  if (owner === 'event' || owner === 'person') return { column: of, owner }
  return GROUP.test(owner) ? { column: of, owner: 'group' } : null
}

const GROUP = /^group(?:_[0-4])?$/
