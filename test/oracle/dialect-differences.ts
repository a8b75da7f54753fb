/** Where the second dialect gives another value than the first, besides what differences.ts lists for the functions themselves. */

import type { Difference } from './differences.ts'

export const DIALECT_DIFFERENCES: readonly Difference[] = [
  {
    names: /^toJSONString$/,
    when: null,
    reason:
      'integers of 64 bits, NaN and infinities are quoted there by the setting that keeps every digit of a row',
  },
  {
    names: /^toFloat(OrDefault|OrNull|OrZero|64OrNull)?$/,
    when: /e3|e-|\+|x|_|\./i,
    reason: 'texts that are numbers only in part: accurateCast reads none of them, HogQL here some',
  },
  {
    names: /^_to(Int(8|16|32|64)|UInt(64|128))$/,
    when: /\d\.\d/,
    reason: 'a fraction is cut off here and is NULL there',
  },
  {
    names: /^formatDateTime$/,
    when: /nullIf/,
    reason: 'an unknown letter is refused here also where the time is NULL',
  },
  {
    names: /^(ngram\w+|reinterpretAsFloat32)$/,
    when: null,
    reason: 'all digits of a float of 32 bits are shown here, as few as tell it apart there',
  },
  { names: /^geohashEncode$/, when: /180/, reason: 'the meridian of 180 degrees is at both ends' },
  {
    names: /^(maxIntersectionsPosition(If)?|deltaSumTimestamp(If)?)$/,
    when: null,
    reason:
      'which of equal positions is told, and sums of rows that go back in time, are open in both',
  },
  {
    names: /^medianTDigestWeighted$/,
    when: /numbers\(0\)/,
    reason: 'of no rows it is 0 here, nan there',
  },
]

/** The functions of vectors that ClickHouse refuses where HogQL answers, each with the reason. */
export const DIALECT_REFUSALS: readonly Difference[] = [
  {
    names: /^(accurateCast|cast)$/,
    when: null,
    reason: 'a text or NULL that cannot be converted is an error there, NULL here',
  },
  {
    names:
      /^(arrayElement|arrayResize|bitTest(All|Any)?|date_bin|gcd|lcm|ngrams|regexpExtract|toStartOfInterval)$/,
    when: null,
    reason: 'an argument out of range is an error there: position, bit, zero, origin, empty list',
  },
  {
    names: /^(hop(Start|End)?|transform|JSONExtractKeysAndValues)$/,
    when: null,
    reason: 'NULL, or a width of numbers, that the function does not take there',
  },
  {
    names: /^map(Add|Subtract|Update)$/,
    when: null,
    reason: 'values of maps have one type there',
  },
  {
    names: /^(sum|min|max|avg|median)MergeOrNull$/,
    when: null,
    reason: 'the state is of a sum of other numbers there',
  },
  { names: /^uniqTheta(If)?$/, when: null, reason: 'not part of every build of ClickHouse' },
]
