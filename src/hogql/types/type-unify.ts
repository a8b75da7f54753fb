/**
 * Type unification: the common type of several expressions, as for the branches of `if`, items of
 * an array, legs of a UNION.
 */

import {
  dateTimeType,
  FLOAT64,
  INT64,
  type IntBits,
  intType,
  isBoolean,
  isNumeric,
  NOTHING,
  STRING,
  type Type,
  withNull,
} from './types.ts'

/**
 * The type to which all of `types` can be converted; NULL for none. Types with nothing in common
 * unify to text.
 */
export function superType(types: readonly Type[]): Type {
  let common: Type = NOTHING
  for (const type of types) common = commonType(common, type)
  return common
}

function commonType(left: Type, right: Type): Type {
  if (left === right) return left
  if (left.kind === 'null' || right.kind === 'null') {
    const known = left.kind === 'null' ? right : left
    return withNull(known, left.nullable || right.nullable)
  }
  return withNull(commonNonNull(left, right), left.nullable || right.nullable)
}

function commonNonNull(left: Type, right: Type): Type {
  if (left.kind === 'int' && right.kind === 'int') return commonInt(left, right)
  if (isNumeric(left) && isNumeric(right)) return left.kind === right.kind ? left : FLOAT64
  if (left.kind === 'datetime' && right.kind === 'datetime')
    return right.precision > left.precision ? { ...left, precision: right.precision } : left
  if (left.kind === 'array' && right.kind === 'array') {
    return { kind: 'array', of: commonType(left.of, right.of), nullable: false }
  }
  if (left.kind === 'tuple' && right.kind === 'tuple' && left.items.length === right.items.length) {
    const items = left.items.map((item, index) => commonType(item, right.items[index] ?? NOTHING))
    return { kind: 'tuple', items, nullable: false }
  }
  if (left.kind === 'map' && right.kind === 'map') {
    return {
      kind: 'map',
      key: commonType(left.key, right.key),
      value: commonType(left.value, right.value),
      nullable: false,
    }
  }
  if (left.kind === right.kind) return left
  return commonOfKinds(left, right)
}

function commonOfKinds(left: Type, right: Type): Type {
  if (isBoolean(left) && isBoolean(right)) return { kind: 'truth', nullable: false }
  if (isBoolean(left) && isNumeric(right)) return right
  if (isNumeric(left) && isBoolean(right)) return left
  if (left.kind === 'date' && right.kind === 'datetime') return right
  if (left.kind === 'datetime' && right.kind === 'date') return dateTimeType(left.timezone)
  if (left.kind === 'interval' || right.kind === 'interval') return left
  return STRING
}

function commonInt(left: Type & { kind: 'int' }, right: Type & { kind: 'int' }): Type {
  const bits = Math.max(left.bits, right.bits) as IntBits
  if (left.signed === right.signed) return intType(bits, left.signed)
  const unsigned = left.signed ? right : left
  const signed = left.signed ? left : right
  if (signed.bits > unsigned.bits) return intType(signed.bits, true)
  return widerInteger(unsigned.bits, true)
}

/** The result of adding, subtracting or multiplying two integers: one size up, 64 bits at most. */
export function widerInteger(bits: IntBits, signed: boolean): Type {
  if (bits >= 64) return signed ? INT64 : intType(64, false)
  return intType((bits * 2) as IntBits, signed)
}
