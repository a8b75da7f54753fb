/**
 * Pass narrowJsonReads (projection pruning): JSON functions that read one property get a column
 * with that member alone, so that `properties` is not assembled.
 *
 *   JSONExtractArrayRaw(properties, 'items')
 *   → JSONExtractArrayRaw(p_6974656d73, 'items')
 */

import { type NeededColumn, neededColumnName } from '../../../column-names.ts'
import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { constantText } from '../../sql/sql-fragments.ts'
import { mapStatement, type Pass } from '../walk.ts'

/** Functions of JSON and a path of keys. */
const BY_PATH: ReadonlySet<string> = new Set([
  'JSONExtractArrayRaw',
  'JSONExtractBool',
  'JSONExtractFloat',
  'JSONExtractInt',
  'JSONExtractKeys',
  'JSONExtractKeysAndValuesRaw',
  'JSONExtractRaw',
  'JSONExtractString',
  'JSONExtractUInt',
  'JSONHas',
  'JSONLength',
  'JSONType',
])
/** The same, with a type name as last argument. */
const BY_PATH_AND_TYPE: ReadonlySet<string> = new Set(['JSONExtract', 'JSONExtractKeysAndValues'])

/** Narrows the JSON argument of such calls, where the first key is a constant with a column. */
export const narrowJsonReads: Pass = (statement, context) =>
  context.has_property_columns === true
    ? mapStatement(statement, {
        expr: (expr) => (expr.kind === 'apply' ? narrowCall(expr) : expr),
      })
    : statement

function narrowCall(call: Apply): ResolvedExpr {
  const [json, key, ...rest] = call.args
  const has_path =
    BY_PATH.has(call.name) || (BY_PATH_AND_TYPE.has(call.name) && call.args.length > 2)
  if (!has_path || json?.kind !== 'column' || json.name !== 'properties') return call
  if (json.type.kind !== 'json' || json.type.owner !== 'event') return call
  const name = constantText(key)
  if (name === null || key === undefined) return call
  const property: NeededColumn = { kind: 'json', name }
  const column = neededColumnName(property)
  if (column === undefined) return call
  return { ...call, args: [{ ...json, name: column, property }, key, ...rest] }
}
