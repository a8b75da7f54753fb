/** IP_ADDRESSES: IPv4 and IPv6 addresses, and ranges of them. Addresses are canonical text; the engine cannot return raw bytes. */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { bindInt, constantText, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { intType, STRING, TRUTH, type Type, tupleType } from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  nonNull,
  nullable,
  scalar,
} from '../definition.ts'

const RANGE: Type = tupleType([STRING, STRING])

function cidrOf(expr: ResolvedExpr | undefined): { readonly net: string; readonly bits: number } {
  const text = constantText(expr)
  const match = text === null ? null : /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text)
  const [, net = '', bits = ''] = match ?? []
  if (match === null)
    return refuseArguments('isIPAddressInRange needs a constant range such as 10.0.0.0/8')
  if (Number(bits) > (net.includes(':') ? 128 : 32))
    return refuseArguments(`${bits} bits are too many`)
  return { net, bits: Number(bits) }
}

const inRange: Lowering = (call) => {
  const { net, bits } = cidrOf(call.args[1])
  const [address = NULL_VALUE] = call.args
  return sql`coalesce(ch_in_range(${address}, ${{ kind: 'value', value: net, type: STRING }}, ${bindInt(bits, true)}), error('The address is neither IPv4 nor IPv6')::BOOLEAN)`(
    call.type,
  )
}

/** Functions of addresses. Adding one means adding a line. */
export const IP_ADDRESSES: readonly FunctionDef[] = [
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
  scalar('isIPAddressInRange', '2', asDeclared(TRUTH), inRange),
  scalar('isIPv6String', '1', asDeclared(TRUTH), '(ch_ipv6_number($1) IS NOT NULL)'),
  scalar('IPv4ToIPv6', '1', asDeclared(STRING), "concat('::ffff:', $1)"),
  scalar('toIPv6|IPv6StringToNum', '1', asDeclared(STRING), 'ch_ipv6_text(ch_ip_number($1))'),
  scalar(
    'toIPv6OrNull|IPv6StringToNumOrNull',
    '1',
    nullable(STRING),
    'ch_ipv6_text(ch_ip_number($1))',
  ),
  scalar(
    'toIPv6OrZero|toIPv6OrDefault|IPv6StringToNumOrDefault',
    '1',
    nonNull(STRING),
    "coalesce(ch_ipv6_text(ch_ip_number($1)), '::')",
  ),
  scalar('IPv6NumToString', '1', asDeclared(STRING), '$1'),
  scalar(
    'IPv4CIDRToRange',
    '2',
    nonNull(RANGE),
    "{'1': ch_ipv4_text((ch_ipv4_number($1) >> (32 - $2)) << (32 - $2)), '2': ch_ipv4_text(ch_ipv4_number($1) | ((1::BIGINT << (32 - $2)) - 1))}",
  ),
  scalar(
    'IPv6CIDRToRange',
    '2',
    nonNull(RANGE),
    "{'1': ch_ipv6_text(ch_ip_low(ch_ip_number($1), $2)), '2': ch_ipv6_text(ch_ip_low(ch_ip_number($1), $2) + ((1::UHUGEINT << (128 - $2)::UHUGEINT) - 1::UHUGEINT))}",
  ),
  scalar(
    'cutIPv6',
    '3',
    asDeclared(STRING),
    'list_transform([ch_ip_number($1)], lambda n: ch_ipv6_text(ch_ip_low(n, 128 - 8 * (CASE WHEN (n >> 32::UHUGEINT) = 65535::UHUGEINT THEN $3 ELSE $2 END))))[1]',
  ),
  scalar(
    'extractIPv4Substrings',
    '1',
    nonNull({ kind: 'array', of: STRING, nullable: false }),
    "list_filter(regexp_extract_all($1, '[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}'), lambda e: ch_is_ipv4(e))",
  ),
]
