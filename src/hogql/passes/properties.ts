/** Pass: properties are read as the type their definition says: from their column where files have one, else out of their JSON. */

import type { CompileContext } from '../context.ts'
import { asInstant } from '../convert.ts'
import { lowerProperty } from '../functions/json.ts'
import type { Expr, Property } from '../ir.ts'
import { sql } from '../spell.ts'
import { STRING, type Type, withNull } from '../types.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Spells every property access. */
export const properties: Pass = (statement, context) =>
  mapStatement(statement, {
    expr: (expr) => (expr.kind === 'property' ? typed(expr, context) : expr),
  })

function typed(property: Property, context: CompileContext): Expr {
  const { type } = property
  const { float, bool, text } = columnsOf(property, context)
  if (type.kind === 'float') return float ?? sql`try_cast(${text} AS DOUBLE)`(type)
  if (type.kind === 'bool')
    return bool ?? sql`CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`(type)
  return type.kind === 'datetime' ? asInstant(text, type.timezone, context) : text
}

/** A name that only a hash can be: whatever else came here, no text of a user is spelled. */
const COLUMN_NAME = /^p_[0-9a-f]{32}$/

/** The ways to read a property. Its text is always there; numbers and truth values only from a column that holds them. */
function columnsOf(
  property: Property,
  { property_columns }: CompileContext,
): { readonly float: Expr | null; readonly bool: Expr | null; readonly text: Expr } {
  const { of, path, type } = property
  const [name] = path
  const find = (kind: 'boolean' | 'number' | 'text', as: Type): Expr | null => {
    if (of.kind !== 'column' || of.name !== 'properties' || path.length !== 1) return null
    if (of.type.kind !== 'json' || of.type.owner !== 'event' || typeof name !== 'string')
      return null
    const column = property_columns?.get(`${kind}:${name}`)
    if (column === undefined) return null
    if (!COLUMN_NAME.test(column)) throw new Error(`a property column is called ${column}`)
    return { kind: 'column', relation: of.relation, name: column, type: as }
  }
  return {
    float: find('number', type),
    bool: find('boolean', type),
    text: find('text', withNull(STRING)) ?? lowerProperty(property),
  }
}
