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
    names: /^_toInt(8|16|32|64)$/,
    when: /\d\.\d/,
    reason: 'a fraction is cut off here and is NULL there',
  },
  {
    names: /^date_bin$/,
    when: null,
    reason: 'counted from the origin in real time here, by the local clock there',
  },
  {
    names: /^formatDateTime$/,
    when: /nullIf/,
    reason: 'an unknown letter is refused here also where the time is NULL',
  },
]
