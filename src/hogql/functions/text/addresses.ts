/** IPv4 addresses as text and as numbers. */

import { intType, STRING, TRUTH } from '../../types/types.ts'
import { asDeclared, type FunctionDef, nonNull, nullable, scalar } from '../definition.ts'

/** IPv4 addresses. */
export const ADDRESSES: readonly FunctionDef[] = [
  scalar('isIPv4String', '1', asDeclared(TRUTH), 'ch_is_ipv4($1)'),
  scalar('IPv4NumToString', '1', asDeclared(STRING), 'ch_ipv4_text($1)'),
  scalar(
    'IPv4StringToNum|IPv4StringToNumOrDefault',
    '1',
    asDeclared(intType(32, false)),
    'coalesce(ch_ipv4_number($1), 0)',
  ),
  scalar('IPv4StringToNumOrNull', '1', nullable(intType(32, false)), 'ch_ipv4_number($1)'),
  scalar('toIPv4|toIPv4OrNull', '1', nullable(STRING), 'CASE WHEN ch_is_ipv4($1) THEN $1 END'),
  scalar(
    'toIPv4OrZero|toIPv4OrDefault',
    '1',
    nonNull(STRING),
    "CASE WHEN ch_is_ipv4($1) THEN $1 ELSE '0.0.0.0' END",
  ),
]
