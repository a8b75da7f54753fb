/** Where HogQL here answers otherwise than ClickHouse on purpose, or must. */

/** Functions by name, and of their vectors those whose text fits `when` (null: all). */
export type Difference = {
  readonly names: RegExp
  readonly when: RegExp | null
  readonly reason: string
}

/** Byte functions meet text that is not ASCII. */
const NOT_ASCII = /[^ -~\n\t]/
const BYTES = 'text is counted in characters here, in bytes there'

export const DIFFERENCES: readonly Difference[] = [
  {
    names:
      /^(reverse|ascii|left|right|leftPad|rightPad|lpad|rpad|substring|length|position|positionCaseInsensitive|locate|multiSearch\w+|ngrams|repeat)$/,
    when: NOT_ASCII,
    reason: BYTES,
  },
  { names: /^(splitByString|splitByRegexp|reverse)$/, when: NOT_ASCII, reason: BYTES },
  {
    names: /^(lower|upper|initcap|\w*CaseInsensitive\w*)$/,
    when: NOT_ASCII,
    reason: 'letters beyond ASCII have cases here',
  },
  { names: /^MD5$/, when: null, reason: 'text cannot hold raw bytes: MD5 gives them as hex' },
  { names: /^tryBase64Decode$/, when: /line/, reason: 'text cannot hold raw bytes' },
  {
    names: /./,
    when: /1970-01-01/,
    reason: "dates before 1970 exist here; ClickHouse's Date and DateTime clamp or wrap",
  },
  {
    names: /^(arrayMap|multiply|plus|minus|arraySum|arrayCumSum|arrayDifference|negate|bit\w+)$/,
    when: /9223372036854775807|9007199254740993|-128|-2147483648/,
    reason:
      'integers have 64 bits here and refuse to overflow; there they wrap around in their width',
  },
  {
    names: /^(arrayFilter|arrayCount|arrayExists)$/,
    when: /NULL/,
    reason: "HogQL's null-safe comparison: NULL != '' is true",
  },
  {
    names: /^questions$/,
    when: /left array join/,
    reason: 'the row of an empty array has NULL here, the default of the type there',
  },
  { names: /^toFloat/, when: /' 7'/, reason: 'spaces before a number are read over' },
  {
    names: /^greatCircle/,
    when: null,
    reason:
      'computed on the sphere exactly; ClickHouse looks up tables that are off by up to 0.3 %',
  },
  {
    names: /^(IPv6StringToNum\w*|cutIPv6|unhex)$/,
    when: null,
    reason: 'text cannot hold raw bytes: addresses stay readable',
  },
  {
    names: /^toDate$/,
    when: /[TZ]\d|Z'|\+05/,
    reason: 'a time with a zone is a date too, where ClickHouse gives NULL',
  },
  {
    names: /^(JSONHas|JSONExtractRaw|JSONLength|JSONType)$/,
    when: /\}', -?\d+\)/,
    reason: 'members of objects have names only, no positions',
  },
]
