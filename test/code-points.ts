/** Text of any code points, for laws. */
import * as fc from 'fast-check'

const SURROGATES = { first: 0xd800, last: 0xdfff }
const LAST = 0x10ffff

/**
 * One code point, any that stands alone. The library's unit `binary` draws the same, but first makes a map of the million of
 * them: 0.7 s of processor time in each process, and memory that every later collection walks.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .oneof(
    { arbitrary: fc.integer({ min: 0, max: SURROGATES.first - 1 }), weight: 5 },
    { arbitrary: fc.integer({ min: SURROGATES.last + 1, max: LAST }), weight: 95 },
  )
  // With the way back, the library also draws texts that are dangerous as names, such as `__proto__`.
  .map((code) => String.fromCodePoint(code), codeOf)

function codeOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (code === undefined || String.fromCodePoint(code) !== text)
    throw new Error('not one code point')
  return code
}
