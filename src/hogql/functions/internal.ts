/** What the resolver and the catalogue call and no text can: conversions to a type, slices, members by computed keys, the buckets of SAMPLE. */

import { convert } from '../convert.ts'
import type { ResolvedExpr } from '../ir.ts'
import { NULL_VALUE, sql } from '../sql-fragments.ts'
import { STRING, UINT64, withNull } from '../types.ts'
import {
  type FunctionDef,
  type Lowering,
  nonNull,
  sameAsFirst,
  scalar,
  typeOf,
} from './definition.ts'

/** The argument as the type of the call itself. */
const asType: Lowering = (call, context) => ({
  ...convert(call.args[0] ?? NULL_VALUE, call.type, context),
  type: call.type,
})

/** Both ends included; without an end up to the last one. */
const slice: Lowering = (call) => {
  const [list = NULL_VALUE, from = NULL_VALUE, to]: readonly ResolvedExpr[] = call.args
  return to === undefined
    ? sql`(${list})[${from}:]`(call.type)
    : sql`(${list})[${from}:${to}]`(call.type)
}

const inner = (name: string, arity: string, ...rest: [FunctionDef['returns'], Lowering | string]) =>
  ({ ...scalar(name, arity, ...rest), is_internal: true }) as const

/** Calls that only this program makes; each prints in its own way for every engine. */
export const INNER: readonly FunctionDef[] = [
  inner('asType', '1', ({ args }) => typeOf(args[0]), asType),
  inner('sliceOf', '2-3', sameAsFirst, slice),
  // The event's own columns of ClickHouse hold '' where there is nothing.
  inner('orEmpty', '1', nonNull(STRING), "coalesce($1, '')"),
  // A member of JSON by a key that only the row knows.
  inner(
    'memberOf',
    '2',
    nonNull(withNull(STRING)),
    'json_extract_string($1, ch_pointer_part(($2)::VARCHAR))',
  ),
  // A sample takes people whole: the same id always falls into the same bucket of a million.
  inner('sampleBucket', '1', nonNull(UINT64), '(hash($1) % 1000000)'),
]
