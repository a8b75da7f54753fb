/**
 * INTERNAL: internal calls made by the resolver and the catalog, not callable from HogQL: conversions,
 * slices, members by computed keys, SAMPLE buckets.
 */

import type { ResolvedExpr } from '../sql/ir.ts'
import { NULL_VALUE, sql } from '../sql/sql-fragments.ts'
import { castTo } from '../types/convert.ts'
import { STRING, UINT64, withNull } from '../types/types.ts'
import {
  type FunctionDef,
  type Lowering,
  nonNull,
  sameAsFirst,
  scalar,
  typeOf,
} from './definition.ts'

/** The argument, converted to the type of the call. */
const asType: Lowering = (call, context) => ({
  ...castTo(call.args[0] ?? NULL_VALUE, call.type, context),
  type: call.type,
})

/** Both ends included; without an end to the last element. */
const slice: Lowering = (call) => {
  const [list = NULL_VALUE, from = NULL_VALUE, to]: readonly ResolvedExpr[] = call.args
  return to === undefined
    ? sql`(${list})[${from}:]`(call.type)
    : sql`(${list})[${from}:${to}]`(call.type)
}

const internalFunction = (
  name: string,
  arity: string,
  ...rest: [FunctionDef['returns'], Lowering | string]
) => ({ ...scalar(name, arity, ...rest), is_internal: true }) as const

/** Internal calls. Adding one means adding a line. */
export const INTERNAL: readonly FunctionDef[] = [
  internalFunction('asType', '1', ({ args }) => typeOf(args[0]), asType),
  internalFunction('sliceOf', '2-3', sameAsFirst, slice),
  // ClickHouse stores '' in an event's own text columns where there is no value.
  internalFunction('orEmpty', '1', nonNull(STRING), "coalesce($1, '')"),
  // A JSON member by a key that is known per row only.
  internalFunction(
    'memberOf',
    '2',
    nonNull(withNull(STRING)),
    'json_extract_string($1, ch_pointer_part(($2)::VARCHAR))',
  ),
  // A sample contains users whole: an id always has the same bucket of a million.
  internalFunction('sampleBucket', '1', nonNull(UINT64), '(hash($1) % 1000000)'),
]
