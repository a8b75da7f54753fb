/** Upper and lower case: of ASCII letters alone, and by Unicode's rules for whole texts (ß becomes SS). */

import { someExpr } from '../../passes/walk.ts'
import type { ResolvedExpr } from '../../sql/ir.ts'
import { NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { asText } from '../../types/convert.ts'
import { STRING, withNull } from '../../types/types.ts'
import { asDeclared, type FunctionDef, type Lowering, scalar } from '../definition.ts'

/** A longer expression is printed once, in a slower form: printing it three times would triple the SQL with every level. */
const PARTS_MAX = 12

function isSmall(expr: ResolvedExpr): boolean {
  let parts = 0
  return !someExpr(expr, ({ kind }) => {
    parts += 1
    return parts > PARTS_MAX || kind === 'subquery' || kind === 'aggregate'
  })
}

/** Changes the case of a text: the engine's function for ASCII texts, a slower one for others. */
type CaseMapping = (text: ResolvedExpr) => ResolvedExpr

/** `lower` and `upper` change ASCII letters only: 'GRÖSSE' → 'grÖsse'. */
export const asciiLower: CaseMapping = (text) => {
  const type = withNull(STRING, text.type.nullable)
  return isSmall(text)
    ? sql`CASE WHEN strlen(${text}) = length(${text}) THEN lower(${text}) ELSE ch_ascii_lower(${text}) END`(
        type,
      )
    : sql`ch_lower(${text})`(type)
}
const asciiUpper: CaseMapping = (text) => {
  const type = withNull(STRING, text.type.nullable)
  return isSmall(text)
    ? sql`CASE WHEN strlen(${text}) = length(${text}) THEN upper(${text}) ELSE ch_ascii_upper(${text}) END`(
        type,
      )
    : sql`ch_upper(${text})`(type)
}

/** All letters, by Unicode's rules: 'größe' → 'GRÖSSE'. */
export const fullLower: CaseMapping = (text) => {
  const type = withNull(STRING, text.type.nullable)
  return isSmall(text)
    ? sql`CASE WHEN strlen(${text}) = length(${text}) THEN lower(${text}) ELSE js_lower(${text}) END`(
        type,
      )
    : sql`js_lower(${text})`(type)
}
const fullUpper: CaseMapping = (text) => {
  const type = withNull(STRING, text.type.nullable)
  return isSmall(text)
    ? sql`CASE WHEN strlen(${text}) = length(${text}) THEN upper(${text}) ELSE js_upper(${text}) END`(
        type,
      )
    : sql`js_upper(${text})`(type)
}

const changeCase =
  (mapping: CaseMapping): Lowering =>
  (call, context) =>
    mapping(asText(call.args[0] ?? NULL_VALUE, context))

/** Upper and lower case. */
export const CASE_FUNCTIONS: readonly FunctionDef[] = [
  scalar('~lower|lcase', '1', asDeclared(STRING), changeCase(asciiLower)),
  scalar('~upper|ucase', '1', asDeclared(STRING), changeCase(asciiUpper)),
  // The engine's own, for comparisons with ASCII words alone, where the two cannot differ.
  scalar('_lower', '1', asDeclared(STRING), 'lower($1)'),
  scalar('lowerUTF8', '1', asDeclared(STRING), changeCase(fullLower)),
  scalar('upperUTF8', '1', asDeclared(STRING), changeCase(fullUpper)),
  scalar('initcap', '1', asDeclared(STRING), 'ch_initcap($1)'),
  scalar('initcapUTF8', '1', asDeclared(STRING), 'ch_initcap_utf8($1)'),
]
