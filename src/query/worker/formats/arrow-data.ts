/** Encodes columns of plain values as Arrow buffers: values, offsets, and a validity bitmap. */
import {
  Binary,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Field,
  FixedSizeBinary,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Map_,
  makeData,
  Struct,
  TimestampMicrosecond,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from 'apache-arrow'
import type { ColumnType } from './column-types.ts'
import type { PlainValue } from './column-values.ts'

type ArrowValues = readonly PlainValue[]
type ColumnTypeOf<Kind extends ColumnType['kind']> = Extract<ColumnType, { readonly kind: Kind }>

/** Bytes of an unscaled decimal and of a uuid. */
const WIDE_BYTES = 16

/** Encodes one column. A value that does not fit the type is null. */
export function arrowData(type: ColumnType, values: ArrowValues): Data {
  const common = { length: values.length, ...validity(values) }
  switch (type.kind) {
    case 'boolean':
      return makeData({
        ...common,
        type: new Bool(),
        data: bits(values, (value) => value === true),
      })
    case 'integer':
      return type.bits === 64 ? wideIntegers(type, values) : integers(type, values)
    case 'float': {
      const data = Float64Array.from(values, Number)
      if (type.bits === 64) return makeData({ ...common, type: new Float64(), data })
      return makeData({ ...common, type: new Float32(), data: Float32Array.from(data) })
    }
    case 'decimal': {
      const arrow = new Decimal(type.scale, type.width, WIDE_BYTES * 8)
      return makeData({ ...common, type: arrow, data: decimals(values) })
    }
    case 'text':
      return makeData({ ...common, type: new Utf8(), ...packPieces(values.map(textBytes)) })
    case 'bytes':
      return makeData({ ...common, type: new Binary(), ...packPieces(values.map(bytesOf)) })
    case 'uuid':
      return makeData({ ...common, type: new FixedSizeBinary(WIDE_BYTES), data: uuids(values) })
    case 'date':
      return makeData({ ...common, type: new DateDay(), data: Int32Array.from(values, Number) })
    case 'instant': {
      const data = BigInt64Array.from(values, bigintOf)
      return makeData({ ...common, type: new TimestampMicrosecond(type.timezone), data })
    }
    case 'array':
      return lists(type, values)
    case 'tuple':
      return tuples(type, values)
    case 'map':
      return maps(type, values)
  }
}

type Validity = { readonly nullCount: number; readonly nullBitmap: Uint8Array | null }

function validity(values: ArrowValues): Validity {
  const nullCount = values.reduce<number>((sum, value) => sum + (value === null ? 1 : 0), 0)
  return { nullCount, nullBitmap: nullCount === 0 ? null : bits(values, (value) => value !== null) }
}

function bits(values: ArrowValues, isSet: (value: PlainValue) => boolean): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8))
  for (const [index, value] of values.entries()) {
    if (isSet(value)) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7))
  }
  return bytes
}

const bigintOf = (value: PlainValue): bigint => (typeof value === 'bigint' ? value : 0n)
const bytesOf = (value: PlainValue): Uint8Array => (value instanceof Uint8Array ? value : NOTHING)
const textBytes = (value: PlainValue): Uint8Array =>
  typeof value === 'string' ? Buffer.from(value) : NOTHING

const NOTHING = new Uint8Array(0)

function wideIntegers({ is_signed }: ColumnTypeOf<'integer'>, values: ArrowValues): Data {
  const common = { length: values.length, ...validity(values) }
  if (is_signed) {
    return makeData({ ...common, type: new Int64(), data: BigInt64Array.from(values, bigintOf) })
  }
  return makeData({ ...common, type: new Uint64(), data: BigUint64Array.from(values, bigintOf) })
}

function integers({ bits: size, is_signed }: ColumnTypeOf<'integer'>, values: ArrowValues): Data {
  const common = { length: values.length, ...validity(values) }
  const numbers = Float64Array.from(values, Number)
  switch (`${size}${is_signed}`) {
    case '8true':
      return makeData({ ...common, type: new Int8(), data: Int8Array.from(numbers) })
    case '8false':
      return makeData({ ...common, type: new Uint8(), data: Uint8Array.from(numbers) })
    case '16true':
      return makeData({ ...common, type: new Int16(), data: Int16Array.from(numbers) })
    case '16false':
      return makeData({ ...common, type: new Uint16(), data: Uint16Array.from(numbers) })
    case '32false':
      return makeData({ ...common, type: new Uint32(), data: Uint32Array.from(numbers) })
    default:
      return makeData({ ...common, type: new Int32(), data: Int32Array.from(numbers) })
  }
}

/** Two's complement, least significant byte first. */
function decimals(values: ArrowValues): Uint32Array {
  const data = new BigUint64Array(values.length * 2)
  for (const [index, value] of values.entries()) {
    const unscaled = bigintOf(value)
    data[2 * index] = BigInt.asUintN(64, unscaled)
    data[2 * index + 1] = BigInt.asUintN(64, unscaled >> 64n)
  }
  return new Uint32Array(data.buffer)
}

function uuids(values: ArrowValues): Uint8Array {
  const data = new Uint8Array(values.length * WIDE_BYTES)
  for (const [index, value] of values.entries()) data.set(bytesOf(value), index * WIDE_BYTES)
  return data
}

/** Pieces of any length behind each other, and where each begins. */
function packPieces(pieces: readonly Uint8Array[]): { valueOffsets: Int32Array; data: Uint8Array } {
  return { valueOffsets: offsetsOf(pieces), data: Buffer.concat(pieces) }
}

function offsetsOf(pieces: readonly { readonly length: number }[]): Int32Array {
  const offsets = new Int32Array(pieces.length + 1)
  let end = 0
  for (const [index, { length }] of pieces.entries()) {
    end += length
    offsets[index + 1] = end
  }
  return offsets
}

const itemsOf = (value: PlainValue): ArrowValues => (Array.isArray(value) ? value : [])

function lists(type: ColumnTypeOf<'array'>, values: ArrowValues): Data {
  const pieces = values.map(itemsOf)
  const child = arrowData(type.of, pieces.flat(1))
  return makeData({
    length: values.length,
    ...validity(values),
    type: new List(new Field('item', child.type, true)),
    valueOffsets: offsetsOf(pieces),
    child,
  })
}

function tuples({ items }: ColumnTypeOf<'tuple'>, values: ArrowValues): Data {
  const children = items.map(({ name, type }) => arrowData(type, members(values, name)))
  const fields = children.map(
    (child, index) => new Field(items[index]?.name ?? '', child.type, true),
  )
  const type = new Struct(fields)
  return makeData({ length: values.length, ...validity(values), type, children })
}

function members(values: ArrowValues, name: string): ArrowValues {
  return values.map((value) => (isMembers(value) ? (value[name] ?? null) : null))
}

function isMembers(value: PlainValue): value is { readonly [name: string]: PlainValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function maps(type: ColumnTypeOf<'map'>, values: ArrowValues): Data {
  const pieces = values.map(itemsOf)
  const entries = pieces.flat(1)
  const key = arrowData(type.key, members(entries, 'key'))
  const value = arrowData(type.value, members(entries, 'value'))
  const fields = {
    key: new Field('key', key.type, false),
    value: new Field('value', value.type, true),
  }
  const struct = new Struct<EntryTypes>([fields.key, fields.value])
  const children = [key, value]
  return makeData({
    length: values.length,
    ...validity(values),
    type: new Map_(new Field('entries', struct, false)),
    valueOffsets: offsetsOf(pieces),
    child: makeData({ type: struct, length: entries.length, nullCount: 0, children }),
  })
}

type EntryTypes = { key: DataType; value: DataType }
