/** Exact decimal multiplication and division, as texts; digits beyond the scale are truncated. */

import { type ScalarFunction, ScalarRefusal } from './definition.ts'

/** A decimal as an integer and its number of digits after the point. */
type DecimalNumber = { readonly digits: bigint; readonly scale: bigint }

/** Maximum digits of the engine's decimals. */
const DIGITS_MAX = 38

function readDecimal(text: string): DecimalNumber {
  const [whole = '0', rest = ''] = text.split('.')
  return { digits: BigInt(whole + rest), scale: BigInt(rest.length) }
}

function writeDecimal(digits: bigint, scale: bigint): string {
  const size = digits < 0n ? -digits : digits
  const text = size.toString().padStart(Number(scale) + 1, '0')
  if (text.length > DIGITS_MAX)
    throw new ScalarRefusal(`The result has more than ${DIGITS_MAX} digits`)
  const point = text.length - Number(scale)
  const sign = digits < 0n ? '-' : ''
  return scale === 0n ? sign + text : `${sign}${text.slice(0, point)}.${text.slice(point)}`
}

/** `numerator / denominator` to `scale` digits, truncated towards zero. */
function quotient(numerator: bigint, denominator: bigint, scale: bigint): string {
  return writeDecimal(numerator / denominator, scale)
}

function multiply(left: string, right: string, scale: bigint): string {
  const [a, b] = [readDecimal(left), readDecimal(right)]
  const product = a.digits * b.digits * 10n ** scale
  return quotient(product, 10n ** (a.scale + b.scale), scale)
}

/** NULL for a division by zero, as the operator gives. */
function divide(left: string, right: string, scale: bigint): string | null {
  const [a, b] = [readDecimal(left), readDecimal(right)]
  if (b.digits === 0n) return null
  return quotient(a.digits * 10n ** (b.scale + scale), b.digits * 10n ** a.scale, scale)
}

export const DECIMALS: readonly ScalarFunction[] = [
  {
    name: 'js_multiply_decimals',
    takes: ['text', 'text', 'integer'],
    gives: 'text',
    compute: multiply,
  },
  {
    name: 'js_divide_decimals',
    takes: ['text', 'text', 'integer'],
    gives: 'text',
    compute: divide,
  },
]
