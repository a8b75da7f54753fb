/**
 * JAVASCRIPT_SCALARS: functions whose work is done by scalars in TypeScript: hashes, base 58, character sets,
 * decimals.
 */

import type { CompileContext } from '../context.ts'
import type { Apply, ResolvedExpr } from '../sql/ir.ts'
import {
  bindInt,
  bindText,
  constantInt,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../sql/sql-fragments.ts'
import { convert } from '../types/convert.ts'
import {
  arrayType,
  clickhouseName,
  FLOAT64,
  INT64,
  isBoolean,
  isText,
  STRING,
  UINT64,
  UUID,
  withNull,
} from '../types/types.ts'
import { refuseArguments } from './argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  nonNull,
  scalar,
  type TypeRule,
} from './definition.ts'

/** Hashes of several arguments are combined in order. */
const cityHash: Lowering = (call, context) => {
  const [first = NULL_VALUE, ...rest] = call.args.map((arg) => hashOf(arg, context))
  return rest.reduce((left, right) => sql`js_join_hashes(${left}, ${right})`(call.type), first)
}

function hashOf(arg: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const type = withNull(UINT64, arg.type.nullable)
  if (isText(arg.type)) return sql`js_city_hash(${arg})`(type)
  if (arg.type.kind === 'uuid') return sql`js_city_hash_id(${arg}::VARCHAR)`(type)
  // A narrow integer is hashed by its own bits, zero-extended whatever its sign.
  if (arg.type.kind === 'int' && arg.type.bits < 64)
    return sql`js_spread_bits(${arg} & ${bindInt(2n ** BigInt(arg.type.bits) - 1n, true)})`(type)
  if (arg.type.kind === 'int' || arg.type.kind === 'date' || isBoolean(arg.type))
    return sql`js_spread_bits(${convert(arg, INT64, context)})`(type)
  if (arg.type.kind === 'null') return sql`NULL::HUGEINT`(type)
  return refuseArguments(
    `cityHash64 takes texts, ids, whole numbers and dates, not ${clickhouseName(arg.type)}`,
  )
}

const sliceBits: Lowering = (call) => {
  const [text = NULL_VALUE, position = NULL_VALUE, length] = call.args
  const count = length ?? bindInt(2n ** 40n, true)
  return sql`js_slice_bits(${text}, (${position})::BIGINT, (${count})::BIGINT)`(call.type)
}

/** Reinterprets the bits of a number, or the first bytes of a text, as a float. */
const asFloat32: Lowering = (call) => {
  const [value = NULL_VALUE] = call.args
  return isText(value.type)
    ? sql`js_float_of_bytes(${value})`(call.type)
    : sql`js_float_of_bits((${value})::BIGINT)`(call.type)
}

const asFloat64: Lowering = (call) => {
  const [value = NULL_VALUE] = call.args
  if (value.type.kind === 'float') return value
  return isText(value.type)
    ? sql`js_double_of_bytes(${value})`(call.type)
    : sql`js_double_of_bits((${value})::BIGINT)`(call.type)
}

const asId: Lowering = (call) => {
  const [value = NULL_VALUE] = call.args
  if (!isText(value.type)) return refuseArguments('reinterpretAsUUID takes a text')
  return sql`js_id_of_bytes(${value})::UUID`(call.type)
}

/** The scale of a decimal or integer. */
function scaleOf({ type }: ResolvedExpr): number {
  if (type.kind === 'decimal') return type.scale
  if (type.kind === 'int') return 0
  return refuseArguments('Decimals are computed from decimals and whole numbers')
}

/** `multiplyDecimal(a, b, scale)`: digits beyond the scale are truncated. */
const decimalType: TypeRule = ({ args }) => {
  const [left = NULL_VALUE, right = NULL_VALUE, scale] = args
  const digits = scale === undefined ? null : constantInt(scale)
  if (scale !== undefined && (digits === null || digits < 0n || digits > DIGITS_MAX))
    return refuseArguments(`The scale must be a constant from 0 to ${DIGITS_MAX}`)
  return {
    kind: 'decimal',
    precision: DIGITS_MAX,
    scale: Number(digits ?? Math.max(scaleOf(left), scaleOf(right))),
    nullable: args.some((arg) => arg.type.nullable),
  }
}

/** Maximum digits of the engine's decimals. */
const DIGITS_MAX = 38

const decimals =
  (
    build: (left: ResolvedExpr, right: ResolvedExpr, scale: ResolvedExpr) => ResolvedExpr,
  ): Lowering =>
  (call) => {
    const [left = NULL_VALUE, right = NULL_VALUE] = call.args
    const scale = call.type.kind === 'decimal' ? call.type.scale : 0
    const text = build(
      sql`(${left})::VARCHAR`(STRING),
      sql`(${right})::VARCHAR`(STRING),
      bindInt(scale, true),
    )
    // The engine requires a decimal's scale in the type's text.
    return joinFragments(['(', '', `)::DECIMAL(38, ${scale})`], [text], call.type)
  }

/** The type of an argument, as a constant. */
const typeOfArgument = (call: Apply): ResolvedExpr =>
  bindText(clickhouseName(withNull((call.args[0] ?? NULL_VALUE).type, false)))

/** Calls of TypeScript scalars. Adding one means adding a line. */
export const JAVASCRIPT_SCALARS: readonly FunctionDef[] = [
  scalar('cityHash64', '1+', asDeclared(UINT64), cityHash),
  scalar('base58Encode', '1', asDeclared(STRING), 'js_base58_encode($1)'),
  scalar('base58Decode', '1', asDeclared(STRING), 'js_base58_decode($1)'),
  scalar('tryBase58Decode', '1', asDeclared(STRING), 'js_base58_try($1)'),
  scalar('bitSlice', '2-3', asDeclared(STRING), sliceBits),
  scalar('convertCharset', '3', asDeclared(STRING), 'js_convert_charset($1, $2, $3)'),
  scalar(
    'reinterpretAsFloat32',
    '1',
    asDeclared({ kind: 'float', bits: 32, nullable: false }),
    asFloat32,
  ),
  scalar('reinterpretAsFloat64', '1', asDeclared(FLOAT64), asFloat64),
  scalar('reinterpretAsUUID', '1', asDeclared(UUID), asId),
  scalar(
    'geohashesInBox',
    '5',
    ({ args }) =>
      withNull(
        arrayType(STRING),
        args.some((arg) => arg.type.nullable),
      ),
    'js_geohashes_in_box(($1)::DOUBLE, ($2)::DOUBLE, ($3)::DOUBLE, ($4)::DOUBLE, ($5)::BIGINT)',
  ),
  scalar(
    'multiplyDecimal',
    '2-3',
    decimalType,
    decimals((a, b, scale) => sql`js_multiply_decimals(${a}, ${b}, ${scale})`(STRING)),
  ),
  scalar(
    'divideDecimal',
    '2-3',
    (call) => withNull(decimalType(call)),
    decimals((a, b, scale) => sql`js_divide_decimals(${a}, ${b}, ${scale})`(STRING)),
  ),
  scalar(
    'rowNumberInBlock|rowNumberInAllBlocks',
    '0',
    nonNull(UINT64),
    '(row_number() OVER () - 1)',
  ),
  scalar('dynamicType', '1', asDeclared(STRING), typeOfArgument),
]
