/** Own columns of a file in shorter forms: what other columns say too is kept once, and worked out again when it is read. */

/** How a file keeps one of its own columns; the manifest says which forms it uses. */
export type ColumnEncoding = keyof typeof FORMS

type EncodingDefinition = {
  /** The column that is worked out … */
  readonly column: 'created_at' | 'uuid'
  /** … from these, which stand in its place. In scope is a row of events, and no number may overflow. */
  readonly kept: Readonly<Record<string, string>>
  readonly read: string
  /** Whether the form is good for all rows of a file: an aggregate. */
  readonly serves: string
}

/** The microseconds from an event's time to when it was received; NULL when there are too many for a number. */
const AFTER_US = `try_cast(epoch_us(created_at)::hugeint - epoch_us("timestamp") as bigint)`

/** The first and the last eight bytes of a uuid. */
const FIRST = `('0x' || left(replace(uuid::varchar, '-', ''), 16))::ubigint`
const LAST = `('0x' || right(replace(uuid::varchar, '-', ''), 16))::ubigint`
const UUID_MS = `(${FIRST} >> 16)::bigint`

/** Made of a time (version 7) that is less than eleven centuries away from the event's, so that no number overflows. */
const IS_TIMED = `coalesce(
  (${FIRST} >> 12) & 15 = 7
  and ${FIRST} < (1::ubigint << 62)
  and abs(${UUID_MS}::hugeint - epoch_ms("timestamp")) < (1::bigint << 45),
  false
)`

const FORMS = {
  created_after_ms: {
    column: 'created_at',
    kept: { created_after: `${AFTER_US} // 1000` },
    read: `make_timestamp(epoch_us("timestamp") + created_after * 1000)`,
    serves: `bool_and(coalesce(${AFTER_US} % 1000 = 0, false))`,
  },
  created_after_us: {
    column: 'created_at',
    kept: { created_after: AFTER_US },
    read: `make_timestamp(epoch_us("timestamp") + created_after)`,
    serves: `bool_and(${AFTER_US} is not null)`,
  },
  // Its first half is nearly the event's time; the rest is chance. Other uuids stand in the column itself.
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
    serves: `count(*) filter (where substr(uuid::varchar, 15, 1) = '7') * 2 > count(*)`,
  },
} as const satisfies Readonly<Record<string, EncodingDefinition>>

/** The first that serves is taken, per column. */
const ALL = [
  'created_after_ms',
  'created_after_us',
  'uuid_in_parts',
] as const satisfies ColumnEncoding[]

/** One aggregate per form, in the order in which `chooseEncodings` takes their values. */
export const FORMS_SERVE: readonly string[] = ALL.map((form) => FORMS[form].serves)

/** The forms for a file, by what FORMS_SERVE says of its rows. */
export function chooseEncodings(serve: readonly unknown[]): readonly ColumnEncoding[] {
  const serving = ALL.filter((_, index) => serve[index] === true)
  return serving.filter(
    (form) => serving.find((other) => FORMS[other].column === FORMS[form].column) === form,
  )
}

/** The manifest's text. */
export function writeEncodings(forms: readonly ColumnEncoding[]): string {
  return JSON.stringify(forms)
}

/** The forms of one file, from the manifest's text; files from before there were any have none. */
export function readEncodings(text: string): readonly ColumnEncoding[] {
  return text === '' ? [] : (JSON.parse(text) as ColumnEncoding[])
}

/** One of an event's own columns, read out of a file with these forms. */
export function readOwn(forms: readonly ColumnEncoding[], column: string): string {
  const form = forms.find((one) => FORMS[one].column === column)
  return form === undefined ? `"${column}"` : `${FORMS[form].read} as "${column}"`
}

/** The last eight bytes of a uuid as a number where they stand apart, else NULL: it is found by them without being put together. */
export function uuidEnd(forms: readonly ColumnEncoding[]): string {
  return forms.includes('uuid_in_parts') ? 'uuid_last' : 'null::ubigint'
}

/** What stands in a file with these forms: in place of `columns`, the values of `kept`. */
export function keepEncoded(forms: readonly ColumnEncoding[]): {
  readonly columns: readonly string[]
  readonly kept: readonly string[]
} {
  return {
    columns: forms.map((form) => FORMS[form].column),
    kept: forms.flatMap((form) =>
      Object.entries(FORMS[form].kept).map(([name, value]) => `${value} as ${name}`),
    ),
  }
}
