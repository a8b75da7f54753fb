/** `<HogQLQuery query='…' />` in FROM: replaced by the query in the tag. */

import { parseSelect } from '../parser/parser.ts'
import type * as ast from '../syntax/ast.ts'
import { refuse } from './refusals.ts'

/** Parses the query of a tag. Refuses tags without one. */
export function queryOfTag(tag: ast.HogQLXTag): ast.Select {
  if (tag.tag !== 'HogQLQuery') throw refuse(`Tags are not supported here: <${tag.tag}>`, tag)
  const text = tag.attributes.find(({ name }) => name === 'query')?.value
  const printed = text !== undefined && 'kind' in text ? text : null
  if (printed?.kind !== 'Constant' || typeof printed.value !== 'string') {
    throw refuse('<HogQLQuery> needs its query as a text: query=…', tag)
  }
  const query = parseSelect(printed.value)
  if (query.kind === 'HogQLXTag') return queryOfTag(query)
  return query
}
