/** VECTORS: functions of whole vectors, maps and tuples. */

import { memoizeValue } from '../../../memoize.ts'
import type { ResolvedExpr } from '../../sql/ir.ts'
import { bindText, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { tupleItem, tupleOf } from '../../types/convert.ts'
import { superType } from '../../types/type-unify.ts'
import {
  arrayType,
  elementType,
  FLOAT64,
  INT64,
  STRING,
  type Type,
  tupleType,
  UINT64,
} from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  type FunctionDef,
  type Lowering,
  nonNull,
  sameAsFirst,
  scalar,
  type TypeRule,
  typeOf,
} from '../definition.ts'

/** The numbers of a vector, an array or a tuple, as a list. */
function numbersOf(expr: ResolvedExpr | undefined): ResolvedExpr {
  const type = arrayType(FLOAT64)
  if (expr?.type.kind !== 'tuple') return sql`(${expr ?? NULL_VALUE})::DOUBLE[]`(type)
  const items = expr.type.items.map((item, index) => tupleItem(expr, index + 1, item))
  return sql`${joinFragments(['[', ', ', ']'], items, type)}::DOUBLE[]`(type)
}

const scaledType: TypeRule = ({ args }) => {
  const type = typeOf(args[0])
  return type.kind === 'tuple' ? tupleType(type.items.map(() => FLOAT64)) : arrayType(FLOAT64)
}

/** The vector divided by its norm. */
function normalizeVector(
  norm: (list: ResolvedExpr, call: Parameters<Lowering>[0]) => ResolvedExpr,
): Lowering {
  return (call) => {
    const [vector = NULL_VALUE] = call.args
    const length = norm(numbersOf(vector), call)
    if (vector.type.kind !== 'tuple')
      return sql`list_transform(${vector}, lambda e: e / ${length})`(call.type)
    const items = vector.type.items.map((item, index) =>
      sql`((${tupleItem(vector, index + 1, item)})::DOUBLE / ${length})`(FLOAT64),
    )
    return tupleOf(items, call.type)
  }
}

const summedMap: TypeRule = ({ args }) => {
  const types = args.map(typeOf)
  const value = superType(types.map(elementType))
  const [first] = types
  const key = first?.kind === 'map' ? first.key : STRING
  const wide = value.kind === 'int' ? (value.signed ? INT64 : UINT64) : value
  return { kind: 'map', key, value: wide, nullable: false }
}
const signedMap: TypeRule = (call) => {
  const type = summedMap(call)
  return type.kind === 'map' && type.value.kind === 'int' ? { ...type, value: INT64 } : type
}

function mergeMaps(sign: 1 | -1): Lowering {
  return (call) => {
    const [first = NULL_VALUE, ...others] = call.args
    return others.reduce<ResolvedExpr>(
      (left, right) =>
        sign === 1
          ? sql`ch_map_merge(${left}, ${right}, 1)`(call.type)
          : sql`ch_map_merge(${left}, ${right}, -1)`(call.type),
      first,
    )
  }
}

const populate: Lowering = (call) => {
  const [map = NULL_VALUE, most] = call.args
  const last = most ?? sql`list_max(map_keys(${map}))`(INT64)
  return sql`ch_map_fill(${map}, ${last})`(call.type)
}

const pairsOfTuple: Lowering = (call) => {
  const [tuple = NULL_VALUE] = call.args
  if (tuple.type.kind !== 'tuple') return refuseArguments('tupleToNameValuePairs takes a tuple')
  const pairs = tuple.type.items.map((item, index) =>
    tupleOf(
      [bindText(String(index + 1)), tupleItem(tuple, index + 1, item)],
      tupleType([STRING, item]),
    ),
  )
  return joinFragments(['[', ', ', ']'], pairs, call.type)
}
const pairsType: TypeRule = ({ args }) => {
  const type = typeOf(args[0])
  const items: readonly Type[] = type.kind === 'tuple' ? type.items : []
  return arrayType(tupleType([STRING, superType(items)]))
}

/** Two-letter language codes and their English names; looked up for the first query that asks for one. */
const listLanguages = memoizeValue(() => {
  const languages = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })
  const letters = Array.from({ length: 26 }, (_, index) => String.fromCodePoint(97 + index))
  return letters
    .flatMap((a) => letters.map((b) => a + b))
    .flatMap((code) => {
      const name = languages.of(code)
      return name === undefined ? [] : [{ code, name }]
    })
})

function textList(texts: readonly string[]): ResolvedExpr {
  return joinFragments(['[', ', ', ']'], texts.map(bindText), arrayType(STRING))
}

/** English names of two-letter language codes. */
const languageNames: Lowering = (call) => {
  const languages = listLanguages()
  const names = textList(languages.map(({ name }) => name))
  const codes = textList(languages.map(({ code }) => code))
  return sql`coalesce((${names})[list_position(${codes}, ${call.args[0] ?? NULL_VALUE})], 'Unknown')`(
    call.type,
  )
}

/** A value that clients display as a graphic: a tagged tuple. */
function tagTuple(tag: string, keys: readonly string[]): FunctionDef['lower'] {
  return (call) => {
    const members = call.args.flatMap((arg, index) => [bindText(keys[index] ?? ''), arg])
    return tupleOf([bindText('__hx_tag'), bindText(tag), ...members], call.type)
  }
}
const taggedType: TypeRule = ({ args }) =>
  tupleType([STRING, STRING, ...args.flatMap((arg) => [STRING, arg.type])])

/** Vector, map and tuple functions. Adding one means adding a line. */
export const VECTORS: readonly FunctionDef[] = [
  scalar(
    'L1Normalize|normalizeL1',
    '1',
    scaledType,
    normalizeVector((v) => sql`list_sum(list_transform(${v}, lambda f: abs(f)))`(FLOAT64)),
  ),
  scalar(
    'L2Normalize|normalizeL2',
    '1',
    scaledType,
    normalizeVector((v) => sql`sqrt(list_sum(list_transform(${v}, lambda f: f * f)))`(FLOAT64)),
  ),
  scalar(
    'LinfNormalize|normalizeLinf',
    '1',
    scaledType,
    normalizeVector((v) => sql`list_max(list_transform(${v}, lambda f: abs(f)))`(FLOAT64)),
  ),
  scalar(
    'LpNormalize|normalizeLp',
    '2',
    scaledType,
    normalizeVector((v, call) => sql`ch_lp_norm(${v}, ${call.args[1] ?? NULL_VALUE})`(FLOAT64)),
  ),
  scalar('LpDistance|distanceLp', '3', nonNull(FLOAT64), (call) =>
    sql`ch_lp_norm(list_transform(list_zip(${numbersOf(call.args[0])}, ${numbersOf(call.args[1])}), lambda z: z[1] - z[2]), ${call.args[2] ?? NULL_VALUE})`(
      call.type,
    ),
  ),
  scalar('mapAdd', '2+', summedMap, mergeMaps(1)),
  scalar('mapSubtract', '2+', signedMap, mergeMaps(-1)),
  scalar('mapPopulateSeries', '1-2', sameAsFirst, populate),
  scalar(
    'bitmapTransform',
    '3',
    sameAsFirst,
    'list_sort(list_distinct(list_transform($1, lambda e: coalesce($3[list_position($2, e)], e))))',
  ),
  scalar('tupleToNameValuePairs', '1', pairsType, pairsOfTuple),
  scalar(
    '~sortableSemver',
    '1',
    nonNull(arrayType(INT64)),
    "list_transform(string_split(regexp_extract($1, '[0-9]+(\\.[0-9]+)+'), '.'), lambda e: coalesce(ch_toint(e), 0))",
  ),
  scalar('languageCodeToName', '1', nonNull(STRING), languageNames),
  scalar('sparkline', '1', taggedType, tagTuple('Sparkline', ['data'])),
  scalar(
    'recordingButton|recording_button',
    '1-2',
    taggedType,
    tagTuple('RecordingButton', ['sessionId', 'recordingStatus']),
  ),
  scalar('formatReadableTimeDelta', '1', nonNull(STRING), 'ch_time_delta(($1)::DOUBLE)'),
]
