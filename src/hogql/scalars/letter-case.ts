/** Upper and lower case by Unicode's full mappings: ß becomes SS, a sigma at the end of a word its own form. */

import type { ScalarFunction } from './definition.ts'

/** Letters in another case. */
export const CASE_SCALARS: readonly ScalarFunction[] = [
  {
    name: 'js_lower',
    takes: ['text'],
    gives: 'text',
    compute: (text: string) => text.toLowerCase(),
  },
  {
    name: 'js_upper',
    takes: ['text'],
    gives: 'text',
    compute: (text: string) => text.toUpperCase(),
  },
]
