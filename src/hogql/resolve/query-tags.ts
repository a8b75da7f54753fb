/** `<HogQLQuery query='…' />` where rows are expected: the query that the tag holds. */

import type * as ast from '../ast.ts'
import { parseSelect } from '../parser.ts'
import { refuse } from './refusals.ts'

/** The query of a tag. Refuses tags that hold none. */
export function queryOfTag(tag: ast.HogQLXTag): ast.Select {
  if (tag.tag !== 'HogQLQuery') throw refuse(`Tags are not supported here: <${tag.tag}>`, tag)
  const text = tag.attributes.find(({ name }) => name === 'query')?.value
  const printed = text !== undefined && 'kind' in text ? text : null
  if (printed?.kind !== 'Constant' || typeof printed.value !== 'string') {
    throw refuse('<HogQLQuery> needs its question as a text: query=…', tag)
  }
  const query = parseSelect(printed.value)
  if (query.kind === 'HogQLXTag') return queryOfTag(query)
  return query
}
