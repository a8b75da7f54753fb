/** BITS: bit functions of integers, within the width of their type. */

import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import { bindInt, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { convert } from '../../types/convert.ts'
import {
  INT64,
  type IntBits,
  intType,
  type Type,
  UINT8,
  UINT64,
  withNull,
} from '../../types/types.ts'
import {
  asDeclared,
  type FunctionDef,
  isNullable,
  type Lowering,
  sameAsFirst,
  scalar,
  type TypedCall,
} from '../definition.ts'
import { argument, numberType, sameNumber } from './arithmetic.ts'

function bits(names: string, arity: string, text: string): FunctionDef {
  return scalar(names, arity, (call) => withNull(bitType(call), call.args.some(isNullable)), text)
}

function bitType({ args }: TypedCall): Type {
  const types = args.map(numberType)
  const widths = types.map((type) => (type.kind === 'int' ? type.bits : 0))
  if (widths.includes(0)) return UINT64
  const signed = types.some((type) => type.kind === 'int' && type.signed)
  return intType(Math.max(...widths) as IntBits, signed)
}

/** Bits beyond the first argument's width are dropped. */
function shiftLeft(call: Apply): ResolvedExpr {
  const shifted = sql`ch_shift_left(${argument(call, 0)}, ${argument(call, 1)})`(call.type)
  const { type } = call
  if (type.kind !== 'int' || type.signed || type.bits >= 64) return shifted
  return sql`(${shifted} & ${bindInt((1n << BigInt(type.bits)) - 1n, true)})`(type)
}

/** The complement within the width of an unsigned argument. */
function bitNot(call: Apply, wide: (expr: ResolvedExpr) => ResolvedExpr): ResolvedExpr {
  const value = wide(argument(call, 0))
  const { type } = call
  if (type.kind !== 'int' || type.signed) return sql`(~${value})`(type)
  if (type.bits === 8) return sql`(255 - ${value})`(type)
  if (type.bits === 16) return sql`(65535 - ${value})`(type)
  if (type.bits === 32) return sql`(4294967295 - ${value})`(type)
  return sql`(18446744073709551615::HUGEINT - ${value})`(type)
}

/** Tests bits by position, counted from the lowest. */
function testBits(how: 'all' | 'any'): Lowering {
  return (call) => {
    const [value = NULL_VALUE, ...positions] = call.args
    const bits_at = positions.map((at) => sql`(1::BIGINT << (${at})::BIGINT)`(UINT64))
    const mask = joinFragments(['(', ' | ', ')'], bits_at, UINT64)
    return how === 'all'
      ? sql`((${value} & ${mask}) = ${mask})::BIGINT`(call.type)
      : sql`((${value} & ${mask}) <> 0)::BIGINT`(call.type)
  }
}

/** The width of the first argument, for rotations. */
function widthOf(call: Apply): ResolvedExpr {
  const { type } = argument(call, 0)
  return bindInt(type.kind === 'int' && type.bits <= 64 ? type.bits : 64)
}

/** Bit functions. Adding one means adding a line. */
export const BITS: readonly FunctionDef[] = [
  bits('bitAnd', '2', '($1 & $2)'),
  bits('bitOr', '2', '($1 | $2)'),
  bits('bitXor', '2', 'xor($1, $2)'),
  scalar('bitNot', '1', sameNumber, (call, context) =>
    bitNot(call, (e) => convert(e, INT64, context)),
  ),
  scalar('bitShiftLeft', '2', sameAsFirst, shiftLeft),
  scalar('bitShiftRight', '2', sameAsFirst, '($1 >> ($2)::BIGINT)'),
  scalar('bitRotateLeft', '2', sameAsFirst, (call) =>
    sql`ch_rotl(${argument(call, 0)}, ${argument(call, 1)}, ${widthOf(call)})`(call.type),
  ),
  scalar('bitRotateRight', '2', sameAsFirst, (call) =>
    sql`ch_rotr(${argument(call, 0)}, ${argument(call, 1)}, ${widthOf(call)})`(call.type),
  ),
  scalar('bitTest', '2', asDeclared(UINT8), '(($1 >> ($2)::BIGINT) & 1)'),
  scalar('bitCount', '1', asDeclared(UINT8), 'bit_count($1)::BIGINT'),
  scalar('bitHammingDistance', '2', asDeclared(UINT8), 'bit_count(xor($1, $2))::BIGINT'),
  scalar('bitTestAll', '2+', asDeclared(UINT8), testBits('all')),
  scalar('bitTestAny', '2+', asDeclared(UINT8), testBits('any')),
]
