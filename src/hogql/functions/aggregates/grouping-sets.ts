/** `grouping(a, b)`: which keys ROLLUP, CUBE and GROUPING SETS left out of a group. */

import { joinFragments } from '../../sql/sql-fragments.ts'
import { UINT64 } from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import { type FunctionDef, type Lowering, nonNull, scalar } from '../definition.ts'

/** The resolved form of a call, in a select with such groups. */
export const GROUPING_OF_KEYS = 'groupingOfKeys'

/** One bit per key, the last one lowest: 1 where the group was made without it. */
const lowerGrouping: Lowering = ({ args, type }) => {
  // The group key of an instant is its local time.
  const keys = args.map((arg) => (arg.kind === 'instant' ? arg.local : arg))
  return joinFragments(['GROUPING(', ', ', ')::BIGINT'], keys, type)
}

/** The resolver replaces valid calls by the other function, so any call here is refused. */
const refuseGrouping: Lowering = () =>
  refuseArguments(
    'grouping takes keys of GROUP BY, where a select shows, orders or keeps its groups',
  )

/** The engine takes at most 63 keys. */
export const GROUPING_FUNCTIONS: readonly FunctionDef[] = [
  scalar('~grouping', '1-63', nonNull(UINT64), refuseGrouping),
  { ...scalar(GROUPING_OF_KEYS, '1-63', nonNull(UINT64), lowerGrouping), is_internal: true },
]
