/** SEARCH: positions, patterns, several needles. Patterns are RE2 in both engines. */

import type { CompileContext } from '../../context.ts'
import type { Apply, ResolvedExpr } from '../../sql/ir.ts'
import {
  bind,
  bindInt,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { asText, convert } from '../../types/convert.ts'
import { arrayType, STRING, TRUTH, type Type, UINT64, withNull } from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  nonNull,
  nullable,
  scalar,
} from '../definition.ts'
import { mayMatchEmpty } from './empty-match.ts'
import { asciiLower, fullLower } from './letter-case.ts'

const position = asDeclared(UINT64)
const truth = asDeclared(TRUTH)
const never_null = nonNull(TRUTH)

/** `position(haystack, needle[, start])`, case-sensitive or folded. */
function find(fold: (text: ResolvedExpr) => ResolvedExpr, swapped = false): Lowering {
  return (call, context) => {
    const [first, second, start] = call.args
    const [haystack, needle] = swapped ? [second, first] : [first, second]
    const where = fold(asText(haystack ?? NULL_VALUE, context))
    const what = fold(asText(needle ?? NULL_VALUE, context))
    return start === undefined
      ? sql`strpos(${where}, ${what})`(call.type)
      : sql`ch_position_from(${where}, ${what}, ${start})`(call.type)
  }
}

const keepCase = (text: ResolvedExpr): ResolvedExpr => text

type Like = { readonly negated: boolean; readonly any_case: boolean }

/** LIKE, with the ESCAPE clause only where the pattern needs it: it makes the engine 25 times slower. */
function like({ negated, any_case }: Like): Lowering {
  return (call, context) => {
    const value = asText(call.args[0] ?? NULL_VALUE, context)
    const pattern = enginePattern(call.args[1] ?? NULL_VALUE)
    const found = matchLike(value, pattern, any_case)
    return negated ? sql`(NOT ${found})`(call.type) : { ...found, type: call.type }
  }
}

/** A pattern as the engine reads it. */
type EnginePattern = { readonly text: ResolvedExpr; readonly is_plain: boolean }

const BACKSLASH = /\\[%_\\]?/g

/**
 * In ClickHouse a backslash before an ordinary character is a character of the text; the engine
 * with ESCAPE would leave it out: `C:\users%` → `C:\\users%`.
 */
function enginePattern(pattern: ResolvedExpr): EnginePattern {
  const constant = constantText(pattern)
  if (constant === null)
    return { text: sql`ch_like_pattern(${pattern})`(pattern.type), is_plain: false }
  const found = new Set(constant.match(BACKSLASH))
  if (found.size === 0) return { text: pattern, is_plain: true }
  const is_plain = !found.has('\\%') && !found.has('\\_')
  const text = constant.replaceAll(BACKSLASH, (escaped) => {
    if (is_plain) return '\\'
    return escaped.length === 1 ? '\\\\' : escaped
  })
  return { text: bind(text, STRING), is_plain }
}

function matchLike(
  value: ResolvedExpr,
  { text, is_plain }: EnginePattern,
  any_case: boolean,
): ResolvedExpr {
  const type = withNull(TRUTH, value.type.nullable || text.type.nullable)
  if (any_case) {
    return is_plain
      ? sql`(${value} ILIKE ${text})`(type)
      : sql`(${value} ILIKE ${text} ESCAPE '\\')`(type)
  }
  return is_plain
    ? sql`(${value} LIKE ${text})`(type)
    : sql`(${value} LIKE ${text} ESCAPE '\\')`(type)
}

/** A regular expression anywhere in a text; a dot matches a line break too. */
function match(options: 's' | 'si', negated: boolean): Lowering {
  return (call, context) => {
    const value = asText(call.args[0] ?? NULL_VALUE, context)
    const pattern = call.args[1] ?? NULL_VALUE
    // The engine wants the options as constants of the text.
    const found =
      options === 's'
        ? sql`regexp_matches(${value}, ${pattern}, 's')`(call.type)
        : sql`regexp_matches(${value}, ${pattern}, 'si')`(call.type)
    return negated ? sql`(NOT ${found})`(call.type) : found
  }
}

/** The operators `=~` and others: null-safe, while the function `match` returns NULL for NULL. */
function operator(name: string, lowering: Lowering): FunctionDef {
  return { ...scalar(name, '2', never_null, lowering), is_internal: true }
}

/** Whether a pattern has a capturing group: `extract` returns the group then. */
const GROUP = /(^|[^\\])\((?!\?[^P<])/

/** Whether to return the group; null when the pattern is known per row only. */
function takesGroup(pattern: ResolvedExpr): boolean | null {
  const constant = constantText(pattern)
  return constant === null ? null : GROUP.test(constant)
}

const extract: Lowering = (call, context) => {
  const [value, pattern = NULL_VALUE] = call.args
  const text = asText(value ?? NULL_VALUE, context)
  const group = takesGroup(pattern)
  if (group === null) return sql`ch_extract(${text}, ${pattern})`(call.type)
  return group
    ? sql`regexp_extract(${text}, ${pattern}, 1, 's')`(call.type)
    : sql`regexp_extract(${text}, ${pattern}, 0, 's')`(call.type)
}

/** Whether a pattern may find an empty text; for a pattern that is no constant this is known per row only. */
function mayFindNothing(pattern: ResolvedExpr): boolean {
  const constant = constantText(pattern)
  return constant === null || mayMatchEmpty(constant)
}

/** The captures of a group, one a match; '' where the group takes no part. */
const withoutGaps = (captures: ResolvedExpr): ResolvedExpr =>
  sql`list_transform(${captures}, lambda e: coalesce(e, ''))`(arrayType(STRING))

/** ClickHouse ends its search where the pattern first finds an empty text. */
const extractAll: Lowering = (call, context) => {
  const [value, pattern = NULL_VALUE] = call.args
  const text = asText(value ?? NULL_VALUE, context)
  const group = takesGroup(pattern)
  if (group === null) return sql`ch_extract_all(${text}, ${pattern})`(call.type)
  const whole = sql`regexp_extract_all(${text}, ${pattern}, 0, 's')`(call.type)
  const found = group
    ? withoutGaps(sql`regexp_extract_all(${text}, ${pattern}, 1, 's')`(call.type))
    : whole
  return mayFindNothing(pattern) ? sql`ch_until_empty(${found}, ${whole})`(call.type) : found
}

const regexpExtract: Lowering = (call, context) => {
  const [value, pattern, index] = call.args
  if (index === undefined) return extract(call, context)
  return sql`regexp_extract(${value ?? NULL_VALUE}, ${pattern ?? NULL_VALUE}, (${index})::INTEGER, 's')`(
    call.type,
  )
}

type Needles = (haystack: ResolvedExpr, needles: ResolvedExpr, type: Type) => ResolvedExpr

/** Functions of a text and several needles, in their four variants. */
function multiSearch(name: string, returns: Type, build: Needles): readonly FunctionDef[] {
  const lowering =
    (fold: (text: ResolvedExpr) => ResolvedExpr): Lowering =>
    (call, context) => {
      const haystack = asText(call.args[0] ?? NULL_VALUE, context)
      const needles = convert(call.args[1] ?? NULL_VALUE, arrayType(STRING), context)
      if (fold === keepCase) return build(haystack, needles, call.type)
      const needle: ResolvedExpr = { kind: 'local', id: -79, type: STRING }
      const folded = sql`list_transform(${needles}, lambda ${needle}: ${fold(needle)})`(
        arrayType(STRING),
      )
      return build(fold(haystack), folded, call.type)
    }
  const type = asDeclared(returns)
  return [
    scalar(`${name}|${name}UTF8`, '2', type, lowering(keepCase)),
    scalar(`${name}CaseInsensitive`, '2', type, lowering(asciiLower)),
    scalar(`${name}CaseInsensitiveUTF8`, '2', type, lowering(fullLower)),
  ]
}

const onText =
  (
    build: (
      text: ResolvedExpr,
      call: { args: readonly ResolvedExpr[]; type: Type },
    ) => ResolvedExpr,
  ): Lowering =>
  (call, context) =>
    build(asText(call.args[0] ?? NULL_VALUE, context), call)

const needle = (call: { args: readonly ResolvedExpr[] }): ResolvedExpr => call.args[1] ?? NULL_VALUE

/** The number of groups of a constant pattern, which the engine needs at bind time. */
function groupsIn(pattern: ResolvedExpr): number {
  const constant = constantText(pattern)
  if (constant === null) return refuseArguments('The pattern must be a constant')
  return [...constant.replaceAll(/\\./g, '').matchAll(/\((?!\?)|\(\?P?</g)].length
}

/** One list per group, with its capture of every match. */
function groupLists(call: Apply, context: CompileContext): readonly ResolvedExpr[] {
  const [value = NULL_VALUE, pattern = NULL_VALUE] = call.args
  const text = asText(value, context)
  return Array.from({ length: groupsIn(pattern) }, (_, index) =>
    withoutGaps(
      sql`regexp_extract_all(${text}, ${pattern}, ${bindInt(index + 1, true)}::INTEGER, 's')`(
        arrayType(STRING),
      ),
    ),
  )
}

const firstGroups: Lowering = (call, context) => {
  const firsts = groupLists(call, context).map((list) => sql`(${list})[1]`(STRING))
  const all = joinFragments(['[', ', ', ']'], firsts, call.type)
  return sql`list_filter(${all}, lambda e: e IS NOT NULL)`(call.type)
}

const groupsByGroup: Lowering = (call, context) =>
  joinFragments(['[', ', ', ']'], groupLists(call, context), call.type)

const groupsByMatch: Lowering = (call, context) => {
  const lists = groupLists(call, context)
  const zipped = joinFragments(['list_zip(', ', ', ')'], lists, STRING)
  const row: ResolvedExpr = { kind: 'local', id: -71, type: STRING }
  const items = lists.map(
    (_, index): ResolvedExpr => ({ kind: 'item', of: row, position: index + 1, type: STRING }),
  )
  return sql`list_transform(${zipped}, lambda ${row}: ${joinFragments(['[', ', ', ']'], items, STRING)})`(
    call.type,
  )
}

/** Search functions. Adding one means adding a line. */
export const SEARCH: readonly FunctionDef[] = [
  scalar('~position|positionUTF8', '2-3', position, find(keepCase)),
  scalar('~locate', '2-3', position, find(keepCase, true)),
  scalar('positionCaseInsensitive', '2-3', position, find(asciiLower)),
  scalar('positionCaseInsensitiveUTF8', '2-3', position, find(fullLower)),
  scalar('like', '2', never_null, like({ negated: false, any_case: false })),
  scalar('ilike', '2', never_null, like({ negated: false, any_case: true })),
  scalar('notLike', '2', never_null, like({ negated: true, any_case: false })),
  scalar('notILike', '2', never_null, like({ negated: true, any_case: true })),
  scalar('~match', '2', truth, match('s', false)),
  operator('matches', match('s', false)),
  operator('notMatch', match('s', true)),
  operator('matchCaseInsensitive', match('si', false)),
  operator('notMatchCaseInsensitive', match('si', true)),
  scalar(
    'multiMatchAny',
    '2',
    truth,
    "coalesce(list_bool_or(list_transform($2, lambda e: regexp_matches($1, e, 's'))), false)",
  ),
  scalar(
    'multiMatchAnyIndex',
    '2',
    position,
    "coalesce(list_position(list_transform($2, lambda e: regexp_matches($1, e, 's')), true), 0)::BIGINT",
  ),
  scalar(
    'multiMatchAllIndices',
    '2',
    nonNull(arrayType(UINT64)),
    "list_filter(list_transform($2, lambda e, i: CASE WHEN regexp_matches($1, e, 's') THEN i ELSE 0 END), lambda i: i > 0)",
  ),
  scalar('extract|regexp_extract', '2', asDeclared(STRING), extract),
  scalar('extractAll', '2', nonNull(arrayType(STRING)), extractAll),
  scalar('regexpExtract', '2-3', asDeclared(STRING), regexpExtract),
  scalar(
    'countMatches',
    '2',
    position,
    "len(list_filter(regexp_extract_all($1, $2, 0, 's'), lambda e: e <> ''))",
  ),
  scalar(
    'countMatchesCaseInsensitive',
    '2',
    position,
    "len(list_filter(regexp_extract_all($1, $2, 0, 'si'), lambda e: e <> ''))",
  ),
  scalar('countSubstrings', '2-3', position, (call) => {
    const [text = NULL_VALUE, sought = NULL_VALUE, start = bindInt(1)] = call.args
    return sql`ch_count_substrings(substring(${text}, greatest(${start}, 1)::BIGINT), ${sought})`(
      call.type,
    )
  }),
  scalar(
    'countSubstringsCaseInsensitive',
    '2',
    position,
    'ch_count_substrings(ch_lower($1), ch_lower($2))',
  ),
  scalar(
    'countSubstringsCaseInsensitiveUTF8',
    '2',
    position,
    'ch_count_substrings(js_lower($1), js_lower($2))',
  ),
  scalar(
    'hasTokenOrNull',
    '2',
    nullable(TRUTH),
    "CASE WHEN $2 = '' THEN false WHEN NOT regexp_matches($2, '[\\x00-/:-@\\[-`{-\\x7F]') THEN list_contains(regexp_extract_all($1, '[0-9A-Za-z]+'), $2) END",
  ),
  scalar(
    'hasTokenCaseInsensitiveOrNull',
    '2',
    nullable(TRUTH),
    "CASE WHEN $2 = '' THEN false WHEN NOT regexp_matches($2, '[\\x00-/:-@\\[-`{-\\x7F]') THEN list_contains(regexp_extract_all(lower($1), '[0-9a-z]+'), lower($2)) END",
  ),
  scalar('hasToken', '2', truth, "list_contains(regexp_extract_all($1, '[0-9A-Za-z]+'), $2)"),
  scalar(
    'hasTokenCaseInsensitive',
    '2',
    truth,
    "list_contains(regexp_extract_all(lower($1), '[0-9a-z]+'), lower($2))",
  ),
  scalar(
    'hasSubsequence|hasSubsequenceUTF8',
    '2',
    truth,
    onText((v, c) => sql`regexp_matches(${v}, ch_subsequence(${needle(c)}), 's')`(c.type)),
  ),
  scalar(
    'hasSubsequenceCaseInsensitive|hasSubsequenceCaseInsensitiveUTF8',
    '2',
    truth,
    onText((v, c) =>
      sql`regexp_matches(lower(${v}), ch_subsequence(lower(${needle(c)})), 's')`(c.type),
    ),
  ),
  scalar('extractGroups', '2', nonNull(arrayType(STRING)), firstGroups),
  scalar('extractAllGroupsHorizontal', '2', nonNull(arrayType(arrayType(STRING))), groupsByGroup),
  scalar(
    'extractAllGroups|extractAllGroupsVertical',
    '2',
    nonNull(arrayType(arrayType(STRING))),
    groupsByMatch,
  ),
  scalar('hasAllTokens', '2', truth, "list_has_all(regexp_extract_all($1, '[0-9A-Za-z]+'), $2)"),
  scalar('hasAnyTokens', '2', truth, "list_has_any(regexp_extract_all($1, '[0-9A-Za-z]+'), $2)"),
  ...multiSearch('multiSearchAllPositions', arrayType(UINT64), (h, n, t) =>
    sql`list_transform(${n}, lambda e: strpos(${h}, e))`(t),
  ),
  ...multiSearch('multiSearchFirstPosition', UINT64, (h, n, t) =>
    sql`coalesce(list_min(list_filter(list_transform(${n}, lambda e: strpos(${h}, e)), lambda e: e > 0)), 0)`(
      t,
    ),
  ),
  ...multiSearch('multiSearchFirstIndex', UINT64, (h, n, t) =>
    sql`coalesce(list_position(list_transform(${n}, lambda e: contains(${h}, e)), true), 0)::BIGINT`(
      t,
    ),
  ),
  ...multiSearch('multiSearchAny', TRUTH, (h, n, t) =>
    sql`coalesce(list_bool_or(list_transform(${n}, lambda e: contains(${h}, e))), false)`(t),
  ),
]
