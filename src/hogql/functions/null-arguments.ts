/**
 * NULL rules of functions whose SQL alone does not have them: NULL makes the result NULL, or counts
 * as ''.
 */

import type { ResolvedExpr } from '../sql/ir.ts'
import { joinFragments, NULL_VALUE, sql } from '../sql/sql-fragments.ts'
import { defaultOf } from '../types/convert.ts'
import { NULL, TRUTH, withNull } from '../types/types.ts'
import { type FunctionDef, isNullable } from './definition.ts'

/** Functions that return NULL when any argument is NULL, unless their result is a list: ClickHouse has no list that is NULL. */
const NULL_GIVES_NULL =
  /^(multiSearch(FirstPosition|FirstIndex|Any)\w*|multiMatchAny(Index)?|countSubstrings\w*|moduloOrZero|isValidUTF8|tryBase64Decode|repeat|port|bar|make_(date|timestamp|timestamptz)|to(Int|Float)OrZero|toJSONString|JSON_VALUE|JSON(Has|Length|Type|Extract(UInt|Int|Float|Bool|String|Raw)?))$/

/** Functions that return arrays and treat a NULL text as ''. */
const NULL_IS_EMPTY =
  /^(extractAll|splitBy\w+|alphaTokens|tokens|ngrams|extractURLParameter(s|Names)|URL(Path)?Hierarchy|multiSearchAllPositions\w*|multiMatchAllIndices|extractAllGroupsHorizontal)$/

/** Applies the NULL rules to a table of functions. */
export function withNullRules(defs: readonly FunctionDef[]): readonly FunctionDef[] {
  return defs.map((def) => {
    const [name = ''] = def.names
    if (NULL_GIVES_NULL.test(name)) return nullGivesNull(def)
    return NULL_IS_EMPTY.test(name) ? nullIsEmpty(def) : def
  })
}

function nullGivesNull(def: FunctionDef): FunctionDef {
  return {
    ...def,
    returns: (call) => {
      const type = def.returns(call)
      return call.args.some(isNullable) && type.kind !== 'array' ? withNull(type) : type
    },
    lower: (call, context) => {
      const lowered = def.lower(call, context)
      const nulls = call.args.filter(isNullable).map((arg) => sql`${arg} IS NULL`(TRUTH))
      if (nulls.length === 0 || call.type.kind === 'array') return lowered
      const any = joinFragments(['', ' OR ', ''], nulls, TRUTH)
      return sql`CASE WHEN ${any} THEN NULL ELSE ${lowered} END`(withNull(call.type))
    },
  }
}

function nullIsEmpty(def: FunctionDef): FunctionDef {
  return {
    ...def,
    returns: (call) => (call.args.some(isNull) ? NULL : def.returns(call)),
    lower: (call, context) =>
      call.args.some(isNull)
        ? NULL_VALUE
        : def.lower({ ...call, args: call.args.map(emptyForNull) }, context),
  }
}

/** The constant NULL alone makes the result NULL. */
const isNull = (arg: ResolvedExpr): boolean => arg.type.kind === 'null'

function emptyForNull(arg: ResolvedExpr): ResolvedExpr {
  if (!arg.type.nullable || arg.type.kind === 'array' || arg.type.kind === 'null') return arg
  const type = withNull(arg.type, false)
  return sql`coalesce(${arg}, ${defaultOf(type)})`(type)
}
