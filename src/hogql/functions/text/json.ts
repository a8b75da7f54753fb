/**
 * JSON_FUNCTIONS: members of JSON texts by paths of keys and 1-based positions, with ClickHouse's
 * defaults.
 */

import type { CompileContext } from '../../context.ts'
import type { Property, ResolvedExpr } from '../../sql/ir.ts'
import {
  bindText,
  constantInt,
  constantText,
  joinFragments,
  NULL_VALUE,
  sql,
} from '../../sql/sql-fragments.ts'
import { asText, tupleItem } from '../../types/convert.ts'
import { findType } from '../../types/type-names.ts'
import {
  arrayType,
  clickhouseName,
  elementType,
  FLOAT64,
  INT64,
  STRING,
  TRUTH,
  type Type,
  tupleType,
  UINT64,
  UNKNOWN,
  withNull,
} from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import {
  asDeclared,
  type FunctionDef,
  type Lowering,
  nonNull,
  scalar,
  type TypeRule,
} from '../definition.ts'

/** A path for the engine's JSON functions; keys known per row only are escaped at run time. */
export function pointerOf(path: readonly ResolvedExpr[]): ResolvedExpr {
  const constants = path.map((part) => constantText(part) ?? constantInt(part))
  if (constants.every((part) => part !== null)) {
    return bindText(
      pathText(constants.map((part) => (typeof part === 'bigint' ? Number(part) : part))),
    )
  }
  const parts = path.map((part): ResolvedExpr => {
    const constant = constantText(part) ?? constantInt(part)
    if (typeof constant === 'string') return bindText(pointerPart(constant))
    if (part.type.kind === 'int') return sql`concat('/', ${part} - 1)`(STRING)
    return sql`ch_pointer_part(${part})`(STRING)
  })
  return joinFragments(['concat(', ', ', ')'], parts, STRING)
}

/**
 * A JSON pointer, which accepts every key; positions from the end need a JSON path, where keys
 * cannot contain quotes.
 */
function pathText(path: readonly (number | string)[]): string {
  const backwards = path.some((part) => typeof part === 'number' && part < 0)
  if (!backwards) {
    return path
      .map((part) => (typeof part === 'string' ? pointerPart(part) : `/${part - 1}`))
      .join('')
  }
  const steps = path.map((part) => {
    if (typeof part === 'string') return `."${part.replaceAll('"', '')}"`
    return part < 0 ? `[#${part}]` : `[${part - 1}]`
  })
  return `$${steps.join('')}`
}

/** One step of a JSON pointer: `~` and `/` in keys are escaped. */
function pointerPart(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The text of a property's value: strings bare, other values as JSON, NULL for null and missing ones. */
export function lowerProperty(property: Property): ResolvedExpr {
  const path = bindText(pathText(property.path))
  return sql`json_extract_string(${property.of}, ${path})`(withNull(STRING))
}

function member(
  build: (json: ResolvedExpr, pointer: ResolvedExpr, type: Type) => ResolvedExpr,
): Lowering {
  return (call, context) =>
    build(validJson(call.args[0] ?? NULL_VALUE, context), pointerOf(call.args.slice(1)), call.type)
}

/** The engine fails on invalid JSON, where ClickHouse finds nothing. Stored properties are always valid. */
function validJson(value: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const text = asText(value, context)
  return value.type.kind === 'json' ? text : sql`ch_json(${text})`(text.type)
}

/** A scalar at a path; '' where there is none, but a list or an object. */
const JSON_VALUE: Lowering = (call, context) => {
  const [text = NULL_VALUE, path = NULL_VALUE] = call.args
  const json = validJson(text, context)
  return sql`CASE WHEN json_type(${json}, ${path}) NOT IN ('ARRAY', 'OBJECT') THEN coalesce(json_extract_string(${json}, ${path}), '') ELSE '' END`(
    call.type,
  )
}

/** The type named by the last argument of `JSONExtract(json, path…, 'Type')`. */
const extractedType: TypeRule = ({ args, context }) => {
  const name = constantText(args.at(-1))?.toLowerCase().replaceAll(' ', '') ?? ''
  return findType(name, context) ?? refuseArguments(`JSONExtract does not know the type '${name}'`)
}

const extract: Lowering = (call, context) => {
  const [json = NULL_VALUE, ...rest] = call.args
  const path = pointerOf(rest.slice(0, -1))
  // The call's type is nullable for a nullable JSON, too; the named type says whether other values are NULL.
  return extractMember(validJson(json, context), path, extractedType({ ...call, context }))
}

/** The members of an object whose values have a type, by name. */
const keysAndValues: Lowering = (call, context) => {
  const [json = NULL_VALUE, ...rest] = call.args
  const of = pairType(call.type)
  const pair: ResolvedExpr = { kind: 'local', id: -71, type: UNKNOWN }
  const [key, raw] = [1, 2].map(
    (position): ResolvedExpr => ({
      kind: 'item',
      of: pair,
      position,
      type: STRING,
    }),
  )
  const sought = of.kind === 'string' || of.kind === 'array' ? of : withNull(of)
  const value = extractMember(raw ?? NULL_VALUE, bindText(''), sought)
  const found = sql`ch_json_pairs(${validJson(json, context)}, ${pointerOf(rest.slice(0, -1))})`(
    UNKNOWN,
  )
  const pairs = of.nullable
    ? found
    : sql`list_filter(${found}, lambda ${pair}: ${raw ?? NULL_VALUE} <> 'null')`(UNKNOWN)
  const made: ResolvedExpr = { kind: 'tuple', items: [key ?? NULL_VALUE, value], type: UNKNOWN }
  const all = sql`list_transform(${pairs}, lambda ${pair}: ${made})`(call.type)
  if (sought === of) return all
  const found_value: ResolvedExpr = { kind: 'item', of: pair, position: 2, type: sought }
  return sql`list_filter(${all}, lambda ${pair}: ${found_value} IS NOT NULL)`(call.type)
}

function pairType(type: Type): Type {
  const pair = elementType(type)
  return pair.kind === 'tuple' ? (pair.items[1] ?? STRING) : STRING
}

/** A member as a type; other values give the type's default, or NULL if it is nullable. */
function extractMember(json: ResolvedExpr, path: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.kind === 'array') {
    const element: ResolvedExpr = { kind: 'local', id: -70, type: STRING }
    const item = extractMember(element, bindText(''), type.of)
    return sql`list_transform(ch_json_array(${json}, ${path}), lambda ${element}: ${item})`(type)
  }
  const known = sql`json_type(${json}, ${path})`(withNull(STRING))
  const plain = extractedScalar(json, path, type)
  if (type.kind === 'int' || type.kind === 'float')
    return extractedNumber({ json, path, plain }, type)
  return type.nullable ? sql`CASE WHEN ${known} <> 'NULL' THEN ${plain} END`(type) : plain
}

/** Numbers; true and false are 1 and 0, which JSONExtractInt and others do not accept. */
function extractedNumber(
  {
    json,
    path,
    plain,
  }: { readonly json: ResolvedExpr; readonly path: ResolvedExpr; readonly plain: ResolvedExpr },
  type: Type,
): ResolvedExpr {
  const text = sql`json_extract_string(${json}, ${path})`(withNull(STRING))
  const logical = sql`(json_type(${json}, ${path}) = 'BOOLEAN')`(TRUTH)
  const number = sql`CASE WHEN ${logical} THEN ${text}::BOOLEAN::BIGINT ELSE ${plain} END`(type)
  if (!type.nullable) return number
  return sql`CASE WHEN ${logical} OR try_cast(${text} AS DOUBLE) IS NOT NULL THEN ${number} END`(
    type,
  )
}

function extractedScalar(json: ResolvedExpr, path: ResolvedExpr, type: Type): ResolvedExpr {
  if (type.kind === 'string') return sql`ch_json_string(${json}, ${path})`(type)
  if (type.kind === 'int') return sql`ch_json_int(${json}, ${path})`(type)
  if (type.kind === 'float') return sql`ch_json_float(${json}, ${path})`(type)
  if (type.kind === 'bool') return sql`ch_json_bool(${json}, ${path})`(type)
  if (type.kind === 'uuid')
    return sql`try_cast(json_extract_string(${json}, ${path}) AS UUID)`(withNull(type))
  if (type.kind === 'date')
    return sql`try_cast(json_extract_string(${json}, ${path}) AS DATE)`(withNull(type))
  return refuseArguments(`JSONExtract does not read values of type ${clickhouseName(type)}`)
}

/** JSON functions. Adding one means adding a line. */
export const JSON_FUNCTIONS: readonly FunctionDef[] = [
  scalar(
    'JSONHas',
    '1-8',
    nonNull(TRUTH),
    member((j, p, t) => sql`coalesce(json_exists(${j}, ${p}), false)`(t)),
  ),
  scalar(
    'JSONLength',
    '1-8',
    nonNull(UINT64),
    member((j, p, t) => sql`ch_json_length(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONArrayLength',
    '1-8',
    nonNull(withNull(UINT64)),
    member((j, p, t) => sql`ch_json_array_length(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONType',
    '1-8',
    nonNull(STRING),
    member((j, p, t) => sql`ch_json_type(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONExtractUInt',
    '1-8',
    nonNull(UINT64),
    member((j, p, t) => sql`ch_json_uint(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONExtractInt',
    '1-8',
    nonNull(INT64),
    member((j, p, t) => sql`ch_json_int(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONExtractFloat',
    '1-8',
    nonNull(FLOAT64),
    member((j, p, t) => sql`ch_json_float(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONExtractBool',
    '1-8',
    nonNull(TRUTH),
    member((j, p, t) => sql`ch_json_bool(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONExtractString',
    '1-8',
    nonNull(STRING),
    member((j, p, t) => sql`ch_json_string(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONExtractRaw',
    '1-8',
    nonNull(STRING),
    member((j, p, t) => sql`coalesce(json_extract(${j}, ${p})::VARCHAR, '')`(t)),
  ),
  scalar(
    'JSONExtractKeys',
    '1-8',
    nonNull(arrayType(STRING)),
    member((j, p, t) => sql`coalesce(json_keys(${j}, ${p}), [])`(t)),
  ),
  scalar(
    'JSONExtractArrayRaw',
    '1-8',
    nonNull(arrayType(STRING)),
    member((j, p, t) => sql`ch_json_array(${j}, ${p})`(t)),
  ),
  scalar(
    'JSONExtractKeysAndValuesRaw',
    '1-8',
    nonNull(arrayType({ kind: 'tuple', items: [STRING, STRING], nullable: false })),
    member((j, p, t) => sql`ch_json_pairs(${j}, ${p})`(t)),
  ),
  scalar('JSONExtract', '2-9', extractedType, extract),
  scalar(
    'JSONExtractKeysAndValues',
    '2-9',
    (call) => arrayType(tupleType([STRING, extractedType(call)])),
    keysAndValues,
  ),
  scalar('JSON_VALUE', '2', nonNull(STRING), JSON_VALUE),
  scalar('toJSONString', '1', asDeclared(STRING), (call, context) =>
    jsonText(call.args[0] ?? NULL_VALUE, context),
  ),
]

/** A value as JSON; floats without a JSON number are null, tuples are arrays. */
function jsonText(value: ResolvedExpr, context: CompileContext): ResolvedExpr {
  const type = withNull(STRING, value.type.nullable)
  const of = value.type
  if (of.kind === 'float')
    return sql`CASE WHEN isfinite(${value}) THEN ch_float_text(${value}) WHEN ${value} IS NOT NULL THEN 'null' END`(
      type,
    )
  if (of.kind === 'truth') return asText(value, context)
  if (of.kind === 'datetime' || of.kind === 'interval')
    return sql`('"' || ${asText(value, context)} || '"')`(type)
  if (of.kind === 'tuple') return tupleJson(value, of.items, context)
  if (of.kind === 'array') return sql`to_json(${eachAsJson(value, of.of, context)})::VARCHAR`(type)
  if (of.kind === 'map' && JSON_UNLIKE_ENGINE.has(of.value.kind)) {
    const values = eachAsJson(sql`map_values(${value})`(UNKNOWN), of.value, context)
    return sql`to_json(map(map_keys(${value}), ${values}))::VARCHAR`(type)
  }
  return sql`to_json(${value})::VARCHAR`(type)
}

/** A list whose items the engine writes as ClickHouse does: as they are, or as their JSON. */
function eachAsJson(list: ResolvedExpr, of: Type, context: CompileContext): ResolvedExpr {
  if (!JSON_UNLIKE_ENGINE.has(of.kind)) return list
  const item: ResolvedExpr = { kind: 'local', id: -80, type: of }
  return sql`list_transform(${list}, lambda ${item}: (${jsonText(item, context)})::JSON)`(UNKNOWN)
}

/** Types that the engine's `to_json` writes in its own way. */
const JSON_UNLIKE_ENGINE: ReadonlySet<Type['kind']> = new Set([
  'array',
  'datetime',
  'float',
  'interval',
  'map',
  'truth',
  'tuple',
])

function tupleJson(
  value: ResolvedExpr,
  types: readonly Type[],
  context: CompileContext,
): ResolvedExpr {
  const items = types.map((item, index) =>
    sql`coalesce(${jsonText(tupleItem(value, index + 1, item), context)}, 'null')`(STRING),
  )
  return sql`concat('[', ${joinFragments(["concat_ws(',', ", ', ', ')'], items, STRING)}, ']')`(
    withNull(STRING, value.type.nullable),
  )
}
