/**
 * ENCODINGS: shorter encodings of a file's event columns.
 *
 * Problem: `created_at` and the first half of a version 7 uuid nearly repeat `timestamp`. Idea: store the difference, and
 * compute the value when it is read. Gain: 7 bytes per event. `test/storage/files` compares both ways row by row.
 */

/** The encoding of one event column; the manifest lists those of each file. */
export type ColumnEncoding = keyof typeof ENCODINGS

type EncodingDefinition = {
  /** The encoded column. */
  readonly column: 'created_at' | 'uuid'
  /** The columns stored in its place, as expressions over a row of events that must not overflow. */
  readonly kept: Readonly<Record<string, string>>
  /** The decoded value, as an expression over the stored columns. */
  readonly read: string
  /** An aggregate: true when the encoding restores all rows of a file. */
  readonly applies: string
}

/** Microseconds from an event's time to its receipt; NULL beyond the range of a bigint. */
const AFTER_US = `try_cast(epoch_us(created_at)::hugeint - epoch_us("timestamp") as bigint)`

/** The first and the last eight bytes of a uuid. */
const FIRST = `('0x' || left(replace(uuid::varchar, '-', ''), 16))::ubigint`
const LAST = `('0x' || right(replace(uuid::varchar, '-', ''), 16))::ubigint`
const UUID_MS = `(${FIRST} >> 16)::bigint`

/** True for version 7 uuids with a time less than eleven centuries from the event's, so that nothing overflows. */
const IS_TIMED = `coalesce(
  (${FIRST} >> 12) & 15 = 7
  and ${FIRST} < (1::ubigint << 62)
  and abs(${UUID_MS}::hugeint - epoch_ms("timestamp")) < (1::bigint << 45),
  false
)`

const ENCODINGS = {
  created_after_ms: {
    column: 'created_at',
    kept: { created_after: `${AFTER_US} // 1000` },
    read: `make_timestamp(epoch_us("timestamp") + created_after * 1000)`,
    applies: `bool_and(coalesce(${AFTER_US} % 1000 = 0, false))`,
  },
  created_after_us: {
    column: 'created_at',
    kept: { created_after: AFTER_US },
    read: `make_timestamp(epoch_us("timestamp") + created_after)`,
    applies: `bool_and(${AFTER_US} is not null)`,
  },
  // The first half is nearly the event's time, the rest is random. Other uuids are stored in the column itself.
  uuid_in_parts: {
    column: 'uuid',
    kept: {
      uuid: `case when not ${IS_TIMED} then uuid end`,
      uuid_first: `case when ${IS_TIMED} then (${UUID_MS} - epoch_ms("timestamp")) * 4096 + (${FIRST} & 4095)::bigint end`,
      uuid_last: `case when ${IS_TIMED} then ${LAST} end`,
    },
    read: `case
  when uuid_last is null then uuid
  else ((((epoch_ms("timestamp") + (uuid_first >> 12)) << 16) | 28672 | (uuid_first & 4095))::ubigint::bit::blob || uuid_last::bit::blob)::uuid
end`,
    applies: `count(*) filter (where substr(uuid::varchar, 15, 1) = '7') * 2 > count(*)`,
  },
} as const satisfies Readonly<Record<string, EncodingDefinition>>

/** The first applicable encoding per column is used. */
const ALL = Object.keys(ENCODINGS) as ColumnEncoding[]

/** One aggregate per encoding, in the order of the parameter of `chooseEncodings`. */
export const ENCODINGS_APPLY: readonly string[] = ALL.map((encoding) => ENCODINGS[encoding].applies)

/** Chooses the encodings of a file, from the values of ENCODINGS_APPLY over its rows. */
export function chooseEncodings(apply: readonly unknown[]): readonly ColumnEncoding[] {
  const applicable = ALL.filter((_, index) => apply[index] === true)
  return applicable.filter(
    (encoding) =>
      applicable.find((other) => ENCODINGS[other].column === ENCODINGS[encoding].column) ===
      encoding,
  )
}

/** Writes the text in the manifest. */
export function writeEncodings(encodings: readonly ColumnEncoding[]): string {
  return JSON.stringify(encodings)
}

/** Reads the text in the manifest; files of older versions have no encodings. */
export function readEncodings(text: string): readonly ColumnEncoding[] {
  return text === '' ? [] : (JSON.parse(text) as ColumnEncoding[])
}

/** Prints an event column of a file with these encodings. */
export function readEncoded(encodings: readonly ColumnEncoding[], column: string): string {
  const encoding = encodings.find((name) => ENCODINGS[name].column === column)
  return encoding === undefined ? `"${column}"` : `${ENCODINGS[encoding].read} as "${column}"`
}

/** Prints the last eight bytes of a uuid as a number, else NULL: look-ups compare them without decoding the uuid. */
export function uuidEnd(encodings: readonly ColumnEncoding[]): string {
  return encodings.includes('uuid_in_parts') ? 'uuid_last' : 'null::ubigint'
}

/** The stored columns of a file with these encodings: the values of `kept` in place of `columns`. */
export function keepEncoded(encodings: readonly ColumnEncoding[]): {
  readonly columns: readonly string[]
  readonly kept: readonly string[]
} {
  return {
    columns: encodings.map((encoding) => ENCODINGS[encoding].column),
    kept: encodings.flatMap((encoding) =>
      Object.entries(ENCODINGS[encoding].kept).map(([name, value]) => `${value} as ${name}`),
    ),
  }
}
