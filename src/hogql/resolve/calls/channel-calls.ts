/**
 * Channel classification: expands functions over a source or medium to lookups of the words that
 * sessions' channels use.
 */

import { MEDIUMS, SOURCES } from '../../tables/channels.ts'

const text = (value: string): string => `'${value}'`

/**
 * The answer of the first pair whose pattern the text matches; NULL when none does. Most sessions have no source: trying
 * no pattern there saves a quarter of the time of their channels.
 */
function lookup(pairs: readonly (readonly [pattern: string, answer: string | null])[]): string {
  const branches = pairs.map(
    ([pattern, answer]) =>
      `match(_lower({a}), '${pattern}'), ${answer === null ? 'NULL' : text(answer)}`,
  )
  return `multiIf({a} IS NULL, NULL, ${branches.join(', ')}, NULL)`
}

const sources = (kind: 'organic' | 'paid' | 'type'): string =>
  lookup(SOURCES.map((source) => [`(^|[^a-z])(${source.words})([^a-z]|$)`, source[kind]]))

const mediums = (kind: 'organic' | 'paid'): string =>
  lookup(MEDIUMS.map((medium) => [`^(${medium.words})$`, medium[kind]]))

/** The functions over a source or a medium: names, arity, and the HogQL each expands to. */
export const CHANNEL_CALLS: readonly (readonly [string, string, string])[] = [
  ['lookupDomainType|hogql_lookupDomainType', '1', sources('type')],
  ['lookupPaidSourceType|hogql_lookupPaidSourceType', '1', sources('paid')],
  ['lookupOrganicSourceType|hogql_lookupOrganicSourceType', '1', sources('organic')],
  ['lookupPaidMediumType|hogql_lookupPaidMediumType', '1', mediums('paid')],
  ['lookupOrganicMediumType|hogql_lookupOrganicMediumType', '1', mediums('organic')],
]
