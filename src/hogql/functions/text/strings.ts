/** STRINGS: padding, substrings, replacement, splitting, encoding. */

import type { CompileContext } from '../../context.ts'
import type { ResolvedExpr } from '../../sql/ir.ts'
import {
  bindInt,
  bindText,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { asText, convert, itemsAsTexts } from '../../types/convert.ts'
import {
  arrayType,
  INT64,
  intType,
  isBoolean,
  STRING,
  TRUTH,
  type Type,
  UINT8,
  UINT64,
  withNull,
} from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  nonNull,
  sameAsFirst,
  scalar,
  type TypeRule,
  typeOf,
} from '../definition.ts'

const text = asDeclared(STRING)
const texts = nonNull(arrayType(STRING))

function sizeOf(list: ResolvedExpr): ResolvedExpr {
  return list.type.kind === 'map' ? sql`cardinality(${list})`(UINT64) : sql`len(${list})`(UINT64)
}

function isList(type: Type): boolean {
  return type.kind === 'array' || type.kind === 'map'
}

/** One lowering for lists and another for text; other values are converted to text. */
function byShape(
  forText: (text: ResolvedExpr, type: Type) => ResolvedExpr,
  forList: (list: ResolvedExpr, type: Type) => ResolvedExpr,
): Lowering {
  return (call, context) => {
    const value = call.args[0] ?? NULL_VALUE
    if (isList(value.type)) return forList(value, call.type)
    return forText(asText(value, context), call.type)
  }
}

const listOrText: TypeRule = ({ args }) =>
  isList(typeOf(args[0])) ? typeOf(args[0]) : withNull(STRING, typeOf(args[0]).nullable)

/** Every argument as text, NULL as '': also `||` and string templates. */
const concat: Lowering = (call, context) => {
  const parts = call.args.map((arg) => {
    const part = asText(arg, context)
    return arg.type.nullable ? sql`coalesce(${part}, '')`(STRING) : part
  })
  return joinFragments(['concat(', ', ', ')'], parts, call.type)
}

const concatWithSeparator: Lowering = (call, context) => {
  const parts = call.args.map((arg) => asText(arg, context))
  const joined = joinFragments(['concat_ws(', ', ', ')'], parts, call.type)
  if (!call.type.nullable) return joined
  const any_null = joinFragments(
    ['(', ' OR ', ')'],
    parts.map((part) => sql`${part} IS NULL`(TRUTH)),
    TRUTH,
  )
  return sql`CASE WHEN ${any_null} THEN NULL ELSE ${joined} END`(call.type)
}

const HOLE = /\{(\d*)\}|\{\{|\}\}/g

/** `format('{} {0}', …)` with a constant format is a concatenation. */
const format: Lowering = (call, context) => {
  const form = constantText(call.args[0])
  if (form === null) return refuseArguments('format needs a constant first argument')
  const parts: ResolvedExpr[] = []
  let from = 0
  let next = 1
  for (const match of form.matchAll(HOLE)) {
    parts.push(bindText(form.slice(from, match.index)))
    from = match.index + match[0].length
    if (match[0] === '{{' || match[0] === '}}') {
      parts.push(bindText(match[0].slice(1)))
      continue
    }
    const index = match[1] === '' || match[1] === undefined ? next : Number(match[1]) + 1
    next += 1
    parts.push(asText(call.args[index] ?? bindText(''), context))
  }
  parts.push(bindText(form.slice(from)))
  return joinFragments(['concat(', ', ', ')'], parts, call.type)
}

const pad =
  (name: 'ch_lpad' | 'ch_rpad'): Lowering =>
  (call) =>
    joinFragments([`${name}(`, ', ', ')'], [...call.args, bindText(' ')].slice(0, 3), call.type)

const trim =
  (name: 'ltrim' | 'rtrim' | 'trim'): Lowering =>
  (call) =>
    joinFragments([`${name}(`, ', ', ')'], call.args, call.type)

const substring: Lowering = (call, context) => {
  const [value = NULL_VALUE, ...numbers] = call.args
  const [start = NULL_VALUE, length] = numbers.map((number) => withoutFraction(number, context))
  return length === undefined
    ? sql`CASE WHEN ${start} = 0 THEN '' ELSE substring(${value}, ${start}) END`(call.type)
    : sql`ch_substring(${value}, ${start}, ${length})`(call.type)
}

const takeEnd =
  (name: 'left' | 'right'): Lowering =>
  ({ args: [value = NULL_VALUE, length = NULL_VALUE], type }, context) =>
    joinFragments([`${name}(`, ', ', ')'], [value, withoutFraction(length, context)], type)

/** A position or a length: `substring(x, length(x) / 2)` has a fraction. */
const withoutFraction = (number: ResolvedExpr, context: CompileContext): ResolvedExpr =>
  number.type.kind === 'float' || number.type.kind === 'decimal'
    ? convert(number, INT64, context)
    : number

const split =
  (build: (value: ResolvedExpr, separator: ResolvedExpr) => ResolvedExpr): Lowering =>
  (call) => {
    const [separator, value, limit] = call.args
    const parts = build(value ?? NULL_VALUE, separator ?? NULL_VALUE)
    return limit === undefined ? parts : sql`(${parts})[1:${limit}]`(call.type)
  }

const hex: Lowering = (call, context) => {
  const value = call.args[0] ?? NULL_VALUE
  const { type } = value
  if (isBoolean(type)) return sql`ch_hexint((${value})::UTINYINT)`(call.type)
  // Of a negative number all bytes of its width are shown.
  if (type.kind === 'int' && type.signed && type.bits < 64)
    return sql`right(ch_hexint(${value}), ${bindInt(type.bits / 4, true)})`(call.type)
  if (type.kind === 'int') return sql`ch_hexint(${value})`(call.type)
  return sql`hex(${asText(value, context)})`(call.type)
}

const lengthOf = byShape(
  (value, type) => sql`strlen(${value})`(type),
  (list, type) =>
    list.type.kind === 'map' ? sql`cardinality(${list})::BIGINT`(type) : sql`len(${list})`(type),
)

/**
 * String functions; adding one means adding a line. Lengths and positions are in bytes only where
 * ClickHouse's are and the engine can.
 */
export const STRINGS: readonly FunctionDef[] = [
  scalar('~length|octet_length', '1', asDeclared(UINT64), lengthOf),
  scalar('lengthUTF8|char_length|character_length', '1', asDeclared(UINT64), 'length($1)'),
  scalar(
    '~empty',
    '1',
    asDeclared(TRUTH),
    byShape(
      (v, t) => sql`(${v} = '')`(t),
      (l, t) => sql`(${sizeOf(l)} = 0)`(t),
    ),
  ),
  scalar(
    '~notEmpty',
    '1',
    asDeclared(TRUTH),
    byShape(
      (v, t) => sql`(${v} <> '')`(t),
      (l, t) => sql`(${sizeOf(l)} > 0)`(t),
    ),
  ),
  scalar(
    '~reverse',
    '1',
    listOrText,
    byShape(
      (v, t) => sql`ch_reverse(${v})`(t),
      (l, t) => sql`list_reverse(${l})`(t),
    ),
  ),
  scalar('reverseUTF8', '1', text, 'ch_reverse($1)'),
  scalar('~left|leftUTF8', '2', text, takeEnd('left')),
  scalar('~right|rightUTF8', '2', text, takeEnd('right')),
  scalar('leftPad|leftPadUTF8|lpad', '2-3', text, pad('ch_lpad')),
  scalar('rightPad|rightPadUTF8|rpad', '2-3', text, pad('ch_rpad')),
  scalar('isValidUTF8', '1', asDeclared(TRUTH), '($1 IS NOT NULL)'),
  scalar('toValidUTF8', '1', text, '$1'),
  scalar('~format', '1+', text, format),
  scalar('~concat', '1+', nonNull(STRING), concat),
  scalar('concatWithSeparator|concat_ws', '1+', text, concatWithSeparator),
  scalar('~substring|substr|mid', '2-3', text, substring),
  scalar('substringUTF8', '2-3', text, substring),
  scalar('appendTrailingCharIfAbsent', '2', text, 'ch_append_trailing($1, $2)'),
  scalar('base64Encode', '1', text, 'base64(encode($1))'),
  scalar('base64Decode', '1', text, 'decode(from_base64($1))'),
  scalar('tryBase64Decode', '1', text, 'ch_try_base64($1)'),
  scalar('~endsWith', '2', asDeclared(TRUTH), 'ends_with($1, $2)'),
  scalar('~startsWith', '2', asDeclared(TRUTH), 'starts_with($1, $2)'),
  scalar('encodeXMLComponent', '1', text, 'ch_xml_escape($1)'),
  scalar('~ascii', '1', asDeclared(intType(32, true)), 'ascii($1)::BIGINT'),
  scalar('char', '1', text, 'chr(($1)::INTEGER)'),
  scalar('~repeat', '2', text, 'ch_repeat($1, $2)'),
  scalar('~space', '1', text, "ch_repeat(' ', $1)"),
  scalar('~split_part', '3', text, 'split_part($1, $2, ($3)::INTEGER)'),
  scalar('~trim|trimBoth|btrim', '1-2', text, trim('trim')),
  scalar('~trimLeft|ltrim', '1-2', text, trim('ltrim')),
  scalar('~trimRight|rtrim', '1-2', text, trim('rtrim')),
  scalar('~replace|replaceAll', '3', text, 'ch_replace($1, $2, $3)'),
  scalar('replaceOne', '3', text, 'ch_replace_one($1, $2, $3)'),
  scalar('replaceRegexpAll', '3', text, 'ch_regexp_replace_all($1, $2, $3)'),
  scalar('replaceRegexpOne', '3', text, 'ch_regexp_replace_one($1, $2, $3)'),
  scalar('regexpQuoteMeta', '1', text, 'regexp_escape($1)'),
  scalar('translate|translateUTF8', '3', text, 'translate($1, $2, $3)'),
  scalar(
    'splitByChar|splitByString',
    '2-3',
    texts,
    split((v, s) => sql`string_split(${v}, ${s})`(arrayType(STRING))),
  ),
  scalar(
    'splitByRegexp',
    '2-3',
    texts,
    split((v, s) => sql`regexp_split_to_array(${v}, ${s})`(arrayType(STRING))),
  ),
  scalar(
    'splitByWhitespace',
    '1',
    texts,
    "list_filter(regexp_split_to_array($1, '\\s+'), lambda e: e <> '')",
  ),
  scalar(
    'splitByNonAlpha',
    '1',
    texts,
    "list_filter(regexp_split_to_array($1, '[\\x00-/:-@\\[-`{-\\x7F]+'), lambda e: e <> '')",
  ),
  scalar('alphaTokens', '1', texts, "regexp_extract_all($1, '[A-Za-z]+')"),
  scalar('tokens', '1', texts, "regexp_extract_all($1, '[0-9A-Za-z\\x{80}-\\x{10FFFF}]+')"),
  scalar('ngrams', '2', texts, 'ch_ngrams($1, $2)'),
  scalar('arrayStringConcat', '1-2', nonNull(STRING), (call, context) =>
    sql`coalesce(array_to_string(${itemsAsTexts(call.args[0] ?? NULL_VALUE, context)}, ${call.args[1] ?? bindText('')}), '')`(
      call.type,
    ),
  ),
  scalar('~hex', '1', text, hex),
  scalar('~unhex', '1', text, 'ch_unhex($1)'),
  scalar('~md5', '1', text, 'upper(md5($1))'),
  scalar('~sha256', '1', text, 'upper(sha256($1))'),
  scalar('~sha1', '1', text, 'upper(sha1($1))'),
  scalar('levenshteinDistance|editDistance', '2', asDeclared(UINT64), 'ch_levenshtein($1, $2)'),
  scalar('jaroSimilarity', '2', sameAsFirst, 'jaro_similarity($1, $2)'),
  scalar('jaroWinklerSimilarity', '2', sameAsFirst, 'jaro_winkler_similarity($1, $2)'),
  scalar('isValidJSON', '1', asDeclared(UINT8), 'json_valid($1)::INTEGER::BIGINT'),
  scalar('formatReadableSize', '1', asDeclared(STRING), 'ch_readable_size($1)'),
  scalar('formatReadableDecimalSize', '1', asDeclared(STRING), 'ch_readable_decimal_size($1)'),
  scalar('formatReadableQuantity', '1', asDeclared(STRING), 'ch_readable_quantity($1)'),
  scalar('bar', '3-4', text, (call) => bar(call.args, call.type)),
]

/** A bar of block characters, proportional to the value within the range. */
function bar(args: readonly ResolvedExpr[], type: Type): ResolvedExpr {
  const [value, low, high, width] = args
  return sql`ch_bar(${value ?? NULL_VALUE}, ${low ?? NULL_VALUE}, ${high ?? NULL_VALUE}, ${width ?? bindInt(80)})`(
    type,
  )
}
