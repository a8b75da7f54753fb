/**
 * Channel classification: expands functions over a source or medium to lookups of the words that
 * sessions' channels use.
 */

import { MEDIUMS, SOURCE_WORDS } from '../../tables/channels.ts'

const text = (value: string): string => `'${value}'`

/** The answer of the first pair with a word of the text; NULL when none matches. */
function lookup(pairs: readonly (readonly [words: string, answer: string])[]): string {
  const branches = pairs.map(
    ([words, answer]) =>
      `match(_lower(ifNull({a}, '')), '(^|[^a-z])(${words})([^a-z]|$)'), ${text(answer)}`,
  )
  return `multiIf(${branches.join(', ')}, NULL)`
}

const sources = (prefix: string): readonly (readonly [string, string])[] =>
  SOURCE_WORDS.map(([name, words]) => [words, `${prefix}${name}`])

const mediums = (kind: 'organic' | 'paid'): readonly (readonly [string, string])[] =>
  MEDIUMS.flatMap((medium) => {
    const answer = medium[kind]
    return answer === null ? [] : [[medium.words, answer] as const]
  })

/** The functions over a source or a medium: names, arity, and the HogQL each expands to. */
export const CHANNEL_CALLS: readonly (readonly [string, string, string])[] = [
  ['lookupDomainType|hogql_lookupDomainType', '1', lookup(sources(''))],
  ['lookupPaidSourceType|hogql_lookupPaidSourceType', '1', lookup(sources('Paid '))],
  ['lookupOrganicSourceType|hogql_lookupOrganicSourceType', '1', lookup(sources('Organic '))],
  ['lookupPaidMediumType|hogql_lookupPaidMediumType', '1', lookup(mediums('paid'))],
  ['lookupOrganicMediumType|hogql_lookupOrganicMediumType', '1', lookup(mediums('organic'))],
]
