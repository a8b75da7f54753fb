/** IPv6 addresses and ranges. Addresses are text in canonical form; the engine has no raw bytes to show. */

import type { Expr } from '../ir.ts'
import { bindInt, constantText, NULL_VALUE, sql } from '../spell.ts'
import { STRING, TRUTH, type Type, tupleType } from '../types.ts'
import { always, type FunctionDef, given, type Lowering, maybe, scalar } from './definition.ts'
import { refuseUse } from './refuse-use.ts'

const RANGE: Type = tupleType([STRING, STRING])

function cidrOf(expr: Expr | undefined): { readonly net: string; readonly bits: number } {
  const text = constantText(expr)
  const match = text === null ? null : /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text)
  const [, net = '', bits = ''] = match ?? []
  if (match === null)
    return refuseUse('isIPAddressInRange needs a constant range such as 10.0.0.0/8')
  if (Number(bits) > (net.includes(':') ? 128 : 32)) return refuseUse(`${bits} bits are too many`)
  return { net, bits: Number(bits) }
}

const inRange: Lowering = (call) => {
  const { net, bits } = cidrOf(call.args[1])
  const [address = NULL_VALUE] = call.args
  return sql`coalesce(ch_in_range(${address}, ${{ kind: 'value', value: net, type: STRING }}, ${bindInt(bits, true)}), error('The address is neither IPv4 nor IPv6')::BOOLEAN)`(
    call.type,
  )
}

/** IPv6 addresses and ranges of addresses. */
export const NETWORKS: readonly FunctionDef[] = [
  scalar('isIPAddressInRange', '2', given(TRUTH), inRange),
  scalar('isIPv6String', '1', given(TRUTH), '(ch_ipv6_number($1) IS NOT NULL)'),
  scalar('IPv4ToIPv6', '1', given(STRING), "concat('::ffff:', $1)"),
  scalar('toIPv6|IPv6StringToNum', '1', given(STRING), 'ch_ipv6_text(ch_ip_number($1))'),
  scalar(
    'toIPv6OrNull|IPv6StringToNumOrNull',
    '1',
    maybe(STRING),
    'ch_ipv6_text(ch_ip_number($1))',
  ),
  scalar(
    'toIPv6OrZero|toIPv6OrDefault|IPv6StringToNumOrDefault',
    '1',
    always(STRING),
    "coalesce(ch_ipv6_text(ch_ip_number($1)), '::')",
  ),
  scalar('IPv6NumToString', '1', given(STRING), '$1'),
  scalar(
    'IPv4CIDRToRange',
    '2',
    always(RANGE),
    "{'1': ch_ipv4_text((ch_ipv4_number($1) >> (32 - $2)) << (32 - $2)), '2': ch_ipv4_text(ch_ipv4_number($1) | ((1::BIGINT << (32 - $2)) - 1))}",
  ),
  scalar(
    'IPv6CIDRToRange',
    '2',
    always(RANGE),
    "{'1': ch_ipv6_text(ch_ip_low(ch_ip_number($1), $2)), '2': ch_ipv6_text(ch_ip_low(ch_ip_number($1), $2) + ((1::UHUGEINT << (128 - $2)::UHUGEINT) - 1::UHUGEINT))}",
  ),
  scalar(
    'cutIPv6',
    '3',
    given(STRING),
    'list_transform([ch_ip_number($1)], lambda n: ch_ipv6_text(ch_ip_low(n, 128 - 8 * (CASE WHEN (n >> 32::UHUGEINT) = 65535::UHUGEINT THEN $3 ELSE $2 END))))[1]',
  ),
  scalar(
    'extractIPv4Substrings',
    '1',
    always({ kind: 'array', of: STRING, nullable: false }),
    "list_filter(regexp_extract_all($1, '[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}'), lambda e: ch_is_ipv4(e))",
  ),
]
