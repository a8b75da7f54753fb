/** The kind of a saved insight in a word, for lists. */
import { readNode } from '../sql/node.ts'
import { EXPLORE_KINDS, readQuestion } from './question.ts'

/** `Funnel`, `SQL`; nothing for a kind that no page can edit. */
export function insightKind(query: unknown): string | undefined {
  const question = readQuestion(query)
  if (question === null) return readNode(query) === null ? undefined : 'SQL'
  return EXPLORE_KINDS.find(({ kind }) => kind === question.kind)?.text
}
