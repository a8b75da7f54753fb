/** `grouping(a, b)`: by which of the keys a group was made, where ROLLUP, CUBE and GROUPING SETS leave some out. */

import { joinFragments } from '../sql-fragments.ts'
import { UINT64 } from '../types.ts'
import { refuseArguments } from './argument-errors.ts'
import { type FunctionDef, type Lowering, nonNull, scalar } from './definition.ts'

/** The call where a select shows its groups. */
export const OF_KEYS = 'groupingOfKeys'

/** One bit for each key, the last one lowest: 1 where the group was made without it. */
const ofKeys: Lowering = ({ args, type }) => {
  // What is grouped by is the local time of an instant.
  const keys = args.map((arg) => (arg.kind === 'instant' ? arg.local : arg))
  return joinFragments(['GROUPING(', ', ', ')::BIGINT'], keys, type)
}

/** Selects turn the calls that mean something into the other. */
const elsewhere: Lowering = () =>
  refuseArguments(
    'grouping takes keys of GROUP BY, where a select shows, orders or keeps its groups',
  )

/** The engine takes at most 63 keys. */
export const KEY_SETS: readonly FunctionDef[] = [
  scalar('~grouping', '1-63', nonNull(UINT64), elsewhere),
  { ...scalar(OF_KEYS, '1-63', nonNull(UINT64), ofKeys), is_internal: true },
]
