/** Pass: properties are read out of their JSON as the type their definition says. */

import type { CompileContext } from '../context.ts'
import { asInstant } from '../convert.ts'
import { lowerProperty } from '../functions/json.ts'
import type { Expr, Property } from '../ir.ts'
import { sql } from '../spell.ts'
import { mapStatement, type Pass } from './walk.ts'

/** Spells every property access. */
export const properties: Pass = (statement, context) =>
  mapStatement(statement, {
    expr: (expr) => (expr.kind === 'property' ? typed(expr, context) : expr),
  })

function typed(property: Property, context: CompileContext): Expr {
  const text = lowerProperty(property)
  const { type } = property
  if (type.kind === 'float') return sql`try_cast(${text} AS DOUBLE)`(type)
  if (type.kind === 'bool')
    return sql`CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`(type)
  return type.kind === 'datetime' ? asInstant(text, type.timezone, context) : text
}
