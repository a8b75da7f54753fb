/** The kind of a saved insight in a word, for lists. */
import { readNode } from '../sql/node.ts'
import { EXPLORE_KINDS, readQuery } from './explore-query.ts'

/** `Funnel`, `SQL`; nothing for a kind that no page can edit. */
export function insightKind(query: unknown): string | undefined {
  const explored = readQuery(query)
  if (explored === null) return readNode(query) === null ? undefined : 'SQL'
  return EXPLORE_KINDS.find(({ kind }) => kind === explored.kind)?.text
}
