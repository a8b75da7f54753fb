/** `<HogQLQuery query='…' />` where rows are expected: the question that the tag holds. */

import type * as ast from '../ast.ts'
import { parseSelect } from '../parser.ts'
import { refuse } from './refuse.ts'

/** The question of a tag. Refuses tags that hold none. */
export function queryOfTag(tag: ast.HogQLXTag): ast.Select {
  if (tag.tag !== 'HogQLQuery') throw refuse(`Tags are not supported here: <${tag.tag}>`, tag)
  const text = tag.attributes.find(({ name }) => name === 'query')?.value
  const written = text !== undefined && 'kind' in text ? text : null
  if (written?.kind !== 'Constant' || typeof written.value !== 'string') {
    throw refuse('<HogQLQuery> needs its question as a text: query=…', tag)
  }
  const question = parseSelect(written.value)
  if (question.kind === 'HogQLXTag') return queryOfTag(question)
  return question
}
