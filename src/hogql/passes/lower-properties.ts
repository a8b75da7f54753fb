/** Pass: properties are read as the type their definition says: from their column where files have one, else out of their JSON. */

import type { CompileContext } from '../context.ts'
import { asInstant } from '../convert.ts'
import { lowerProperty } from '../functions/json.ts'
import type { ColumnExpr, Property, ResolvedExpr } from '../ir.ts'
import { sql } from '../sql-fragments.ts'
import { STRING, type Type, withNull } from '../types.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Spells every property access. */
export const lowerProperties: Pass = (statement, context) =>
  mapStatement(statement, {
    expr: (expr) => (expr.kind === 'property' ? typed(expr, context) : expr),
  })

function typed(property: Property, context: CompileContext): ResolvedExpr {
  const { type } = property
  const { float, bool, text } = columnsOf(property, context)
  // As columns hold them (storage/files/property-columns.ts): -0 is 0.
  if (type.kind === 'float') return float ?? sql`(try_cast(${text} AS DOUBLE) + 0.0)`(type)
  if (type.kind === 'bool')
    return bool ?? sql`CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`(type)
  return type.kind === 'datetime' ? asInstant(text, type.timezone, context) : text
}

/** Digits stand for the name of the property: whatever else came here, no text of a user is spelled. */
const COLUMN_NAME = /^p_(?:[gp]?[bnt]_)?[0-9a-f]*$/
/** The JSON of what a file keeps in no column: lists, objects, and whatever is rare. */
const REST = 'p_rest'

/** The ways to read a property. Its text is always there; numbers and truth values only from a column that holds them. */
function columnsOf(
  property: Property,
  { property_columns }: CompileContext,
): {
  readonly float: ResolvedExpr | null
  readonly bool: ResolvedExpr | null
  readonly text: ResolvedExpr
} {
  const { path, type } = property
  const [name, ...deeper] = path
  const stored = property_columns === undefined ? null : storedOf(property)
  if (stored === null || typeof name !== 'string')
    return { float: null, bool: null, text: lowerProperty(property) }
  if (deeper.length > 0) {
    // Lists and objects are never taken out of the JSON of events; that of others is whole.
    const of: ResolvedExpr = stored.owner === '' ? { ...stored.column, name: REST } : stored.column
    return { float: null, bool: null, text: lowerProperty({ ...property, of }) }
  }
  const find = (kind: 'boolean' | 'number' | 'text', as: Type): ResolvedExpr | null => {
    const column = property_columns?.get(`${stored.owner}${kind}:${name}`)
    if (column === undefined) return null
    if (!COLUMN_NAME.test(column)) throw new Error(`a property column is called ${column}`)
    return { kind: 'column', relation: stored.column.relation, name: column, type: as }
  }
  return {
    float: find('number', type),
    bool: find('boolean', type),
    text: find('text', withNull(STRING)) ?? lowerProperty(property),
  }
}

/** A column that stands beside JSON, and whose columns these are. */
type StoredPropertyColumn = {
  readonly column: ColumnExpr
  readonly owner: '' | 'group/' | 'person/'
}

/** The JSON that the property is read out of, where it is a stored one. */
function storedOf({ of }: Property): StoredPropertyColumn | null {
  if (of.kind !== 'column' || of.name !== 'properties' || of.type.kind !== 'json') return null
  const { owner } = of.type
  if (owner === 'event') return { column: of, owner: '' }
  if (owner === 'person') return { column: of, owner: 'person/' }
  return GROUP.test(owner) ? { column: of, owner: 'group/' } : null
}

const GROUP = /^group(?:_[0-4])?$/
