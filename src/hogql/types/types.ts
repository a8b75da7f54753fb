/** The types of HogQL expressions: ClickHouse's names for the result, DuckDB's for the engine. */

type NullableType = { readonly nullable: boolean }

/**
 * The type of a value. `truth` is the outcome of a comparison: ClickHouse returns UInt8 (0 or 1),
 * the engine a BOOLEAN. `json` is a text column with one JSON object; its `owner` (event, person,
 * group_0…) decides which property definitions type its members. `null` is the type of a bare NULL.
 * Instants are kept in UTC without a zone; `timezone` is the zone in which they are shown and
 * truncated.
 */
export type Type =
  | (NullableType & { readonly kind: 'bool' | 'truth' | 'string' | 'uuid' })
  /**
   * `wide`: ClickHouse's Date32 and DateTime64, where it returns those for times that DateTime
   * could hold too.
   */
  | (NullableType & { readonly kind: 'date'; readonly wide?: true })
  | (NullableType & { readonly kind: 'json'; readonly owner: string })
  | (NullableType & { readonly kind: 'int'; readonly bits: IntBits; readonly signed: boolean })
  | (NullableType & { readonly kind: 'float'; readonly bits: 32 | 64 })
  | (NullableType & {
      readonly kind: 'decimal'
      readonly precision: number
      readonly scale: number
    })
  | (NullableType & {
      readonly kind: 'datetime'
      readonly precision: number
      readonly timezone: string
      readonly wide?: true
    })
  | (NullableType & { readonly kind: 'interval'; readonly unit: IntervalUnit })
  | (NullableType & { readonly kind: 'array'; readonly of: Type })
  | (NullableType & { readonly kind: 'tuple'; readonly items: readonly Type[] })
  | (NullableType & { readonly kind: 'map'; readonly key: Type; readonly value: Type })
  | (NullableType & { readonly kind: 'lambda'; readonly returns: Type })
  | (NullableType & {
      readonly kind: 'state'
      readonly aggregate: string
      readonly args: readonly Type[]
    })
  | (NullableType & { readonly kind: 'null' | 'unknown' })

export type TypeKind = Type['kind']
export type IntBits = 8 | 16 | 32 | 64 | 128 | 256
export type IntervalUnit =
  | 'Second'
  | 'Minute'
  | 'Hour'
  | 'Day'
  | 'Week'
  | 'Month'
  | 'Quarter'
  | 'Year'

export const BOOL: Type = { kind: 'bool', nullable: false }
export const TRUTH: Type = { kind: 'truth', nullable: false }
export const STRING: Type = { kind: 'string', nullable: false }
export const UUID: Type = { kind: 'uuid', nullable: false }
export const DATE: Type = { kind: 'date', nullable: false }
export const FLOAT64: Type = { kind: 'float', bits: 64, nullable: false }
export const NULL: Type = { kind: 'null', nullable: true }
/** The element type of `[]`: unifies with anything, without NULL. */
export const NOTHING: Type = { kind: 'null', nullable: false }
export const UNKNOWN: Type = { kind: 'unknown', nullable: true }
export const UINT8: Type = intType(8, false)
export const UINT32: Type = intType(32, false)
export const UINT64: Type = intType(64, false)
export const INT64: Type = intType(64, true)

/** An integer type of the given width. */
export function intType(bits: IntBits, signed: boolean): Type {
  return { kind: 'int', bits, signed, nullable: false }
}

/** An instant with microseconds, shown in `timezone`. */
export function dateTimeType(timezone: string, precision = 6): Type {
  return { kind: 'datetime', precision, timezone, nullable: false }
}

export function arrayType(of: Type): Type {
  return { kind: 'array', of, nullable: false }
}

export function tupleType(items: readonly Type[]): Type {
  return { kind: 'tuple', items, nullable: false }
}

/** The same type, allowing NULL or not. */
export function withNull(type: Type, nullable = true): Type {
  return type.nullable === nullable ? type : { ...type, nullable }
}

/** True for a tuple with an item that may be NULL, at any depth of tuples. */
export function hasNullableItem(type: Type): boolean {
  return type.kind === 'tuple' && type.items.some((item) => item.nullable || hasNullableItem(item))
}

/** The narrowest integer type that holds a literal, as ClickHouse types it. */
export function literalIntType(value: bigint): Type {
  const signed = value < 0n
  const magnitude = signed ? -value - 1n : value
  for (const bits of [8, 16, 32, 64, 128] as const) {
    if (magnitude < 1n << BigInt(signed ? bits - 1 : bits)) return intType(bits, signed)
  }
  return intType(256, signed)
}

/** ClickHouse's name of a type, as in the result's `types`. */
export function clickhouseName(type: Type): string {
  const name = plainClickhouseName(type)
  const wraps = type.nullable && !NEVER_WRAPPED.has(type.kind)
  return wraps ? `Nullable(${name})` : name
}

const NEVER_WRAPPED: ReadonlySet<TypeKind> = new Set([
  'array',
  'tuple',
  'map',
  'null',
  'unknown',
  'lambda',
  'state',
])

function plainClickhouseName(type: Type): string {
  switch (type.kind) {
    case 'bool':
      return 'Bool'
    case 'truth':
      return 'UInt8'
    case 'string':
    case 'json':
    case 'unknown':
      return 'String'
    case 'uuid':
      return 'UUID'
    case 'date':
      return type.wide === true ? 'Date32' : 'Date'
    case 'int':
      return `${type.signed ? 'Int' : 'UInt'}${type.bits}`
    case 'float':
      return `Float${type.bits}`
    case 'decimal':
      return `Decimal(${type.precision}, ${type.scale})`
    case 'datetime':
      return type.precision === 0 && type.wide !== true
        ? `DateTime('${type.timezone}')`
        : `DateTime64(${type.precision}, '${type.timezone}')`
    case 'interval':
      return `Interval${type.unit}`
    case 'array':
      return `Array(${clickhouseName(type.of)})`
    case 'tuple':
      return `Tuple(${type.items.map(clickhouseName).join(', ')})`
    case 'map':
      return `Map(${clickhouseName(type.key)}, ${clickhouseName(type.value)})`
    case 'lambda':
      return 'Function'
    case 'state':
      return `AggregateFunction(${[type.aggregate, ...type.args.map(clickhouseName)].join(', ')})`
    case 'null':
      return type.nullable ? 'Nullable(Nothing)' : 'Nothing'
  }
}

/** DuckDB's name of a type. `answered` maps comparison outcomes to the numbers a result has. */
export function duckdbName(type: Type, answered = false): string {
  switch (type.kind) {
    case 'bool':
      return 'BOOLEAN'
    case 'truth':
      return answered ? 'UTINYINT' : 'BOOLEAN'
    case 'string':
    case 'json':
    case 'unknown':
    case 'null':
    case 'lambda':
      return 'VARCHAR'
    case 'uuid':
      return 'UUID'
    case 'date':
      return 'DATE'
    case 'int':
      return type.bits <= 64 ? 'BIGINT' : 'HUGEINT'
    case 'float':
      return 'DOUBLE'
    case 'decimal':
      return `DECIMAL(${type.precision}, ${type.scale})`
    case 'datetime':
      return 'TIMESTAMP'
    case 'interval':
      return 'INTERVAL'
    case 'array':
      return `${duckdbName(type.of, answered)}[]`
    case 'tuple':
      return `STRUCT(${type.items.map((item, index) => `"${index + 1}" ${duckdbName(item, answered)}`).join(', ')})`
    case 'map':
      return `MAP(${duckdbName(type.key, answered)}, ${duckdbName(type.value, answered)})`
    case 'state':
      return 'VARCHAR'
  }
}

/** Whether a comparison outcome occurs anywhere in the type, so that the result needs a cast. */
export function holdsTruth(type: Type): boolean {
  if (type.kind === 'array') return holdsTruth(type.of)
  if (type.kind === 'tuple') return type.items.some(holdsTruth)
  if (type.kind === 'map') return holdsTruth(type.key) || holdsTruth(type.value)
  return type.kind === 'truth'
}

export function isNumeric(type: Type): boolean {
  return type.kind === 'int' || type.kind === 'float' || type.kind === 'decimal'
}

export function isText(type: Type): boolean {
  return type.kind === 'string' || type.kind === 'json' || type.kind === 'unknown'
}

export function isBoolean(type: Type): boolean {
  return type.kind === 'bool' || type.kind === 'truth'
}

/** The type of an array's elements or a map's values; unknown for anything else. */
export function elementType(type: Type): Type {
  if (type.kind === 'array') return type.of
  if (type.kind === 'map') return type.value
  return UNKNOWN
}
