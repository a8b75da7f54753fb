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
    names: /^(reverse|ascii|left|right|leftPad|rightPad|lpad|rpad|substring)$/,
    when: NOT_ASCII,
    reason: BYTES,
  },
  { names: /^(splitByString|splitByRegexp|reverse)$/, when: NOT_ASCII, reason: BYTES },
  {
    names:
      /^((position|locate)(CaseInsensitive)?|multiSearch(All|First)Positions?(CaseInsensitive)?)$/,
    when: NOT_ASCII,
    reason: BYTES,
  },
  {
    names: /^random$/,
    when: /countEqual\([^)]*\) in \(select c1 .*arrayProduct\(.*union distinct select indexOf\(/,
    reason:
      'a union of Float64 and UInt64 is a Variant there, in which IN tells 1 from 1.0; here it is one number type',
  },
  {
    names: /^toFloatOrDefault$/,
    when: /4\.9e-324/,
    reason: 'the smallest float is 0 to this one function there; its siblings read it as here',
  },
  { names: /^MD5$/, when: null, reason: 'text cannot hold raw bytes: MD5 gives them as hex' },
  { names: /^tryBase58Decode$/, when: /zzz/, reason: 'text cannot hold raw bytes' },
  { names: /^bitSlice$/, when: NOT_ASCII, reason: 'text cannot hold raw bytes: refused' },
  { names: /^geohashesInBox$/, when: /, 8\)/, reason: 'limited to 10,000 cells' },
  {
    names: /^geoDistance$/,
    when: null,
    reason: 'computed by the formula; ClickHouse interpolates in a table made from it',
  },
  {
    names: /^reinterpretAsFloat32$/,
    when: /'a'/,
    reason: 'all digits of the float are shown here, as few as tell it apart there',
  },
  { names: /^tryBase64Decode$/, when: /line/, reason: 'text cannot hold raw bytes' },
  {
    names:
      /^(toDateTime|toStartOf(ISOYear|Week|Day|Interval)|toMonday|toTime|(add|subtract)(Seconds|Minutes|Hours)|subtract(Days|Weeks|Months|Quarters|Years)|dateTrunc|age|minus)$/,
    when: /1970-01-01/,
    reason: "dates before 1970 exist here; ClickHouse's Date and DateTime clamp or wrap",
  },
  {
    names: /^(arrayMap|negate|bitCount)$/,
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
    names: /^greatCircle/,
    when: null,
    reason:
      'computed on the sphere exactly; ClickHouse looks up tables that are off by up to 0.3 %',
  },
  {
    names: /^IPv6StringToNum(OrDefault|OrNull)?$/,
    when: null,
    reason: 'text cannot hold raw bytes: addresses stay readable',
  },
  {
    names: /^toTime$/,
    when: null,
    reason: 'an instant of 1970-01-02, as before ClickHouse had a type for times of day',
  },
  {
    names: /^make_timestamp$/,
    when: /2024, 3, 31, 2/,
    reason: 'a time that clocks skip is moved on by the hour here, back by it there',
  },
  {
    names: /^(date_bin|toStartOfInterval)$/,
    when: /, toDateTime\('(2024-01-01|196\d-)/,
    reason:
      'intervals follow one another from the origin; in zones ClickHouse rounds the distance to it as if it were a time there',
  },
  {
    names: /^formatReadableTimeDelta$/,
    when: /9007199254740993/,
    reason: 'ClickHouse leaves out what it cannot tell in a float',
  },
  {
    names: /^age$/,
    when: /'week'/,
    reason: 'whole weeks backwards are rounded to zero; ClickHouse is one short of them',
  },
  {
    names: /^(intDiv|bitCount|_toInt8|_toInt16|_toUInt64|_toUInt128)$/,
    when: /-\d/,
    reason:
      'negative integers keep their value here; there they wrap around in the width of their literal',
  },
  {
    names: /^_toInt(8|16|32)$/,
    when: null,
    reason: 'what does not fit the width is NULL here and wraps around there',
  },
  {
    names: /^(and|or|xor|not)$/,
    when: /true|false/,
    reason: 'conditions are shown as 0 and 1 here, as true and false there when a Bool takes part',
  },
  { names: /^assumeNotNull$/, when: /nullIf/, reason: 'NULL stays NULL instead of any value' },
  {
    names: /^(sign|greatest)$/,
    when: /0 \/ 0/,
    reason: 'nan counts as the greatest number here; ClickHouse has no rule',
  },
  {
    names: /^(lgamma|tgamma)$/,
    when: /\((0|-\d)/,
    reason: 'poles of the gamma function are refused or infinite',
  },
  { names: /^bar$/, when: null, reason: 'bars are drawn in whole blocks, not in eighths' },
  {
    names:
      /^(URLHierarchy|URLPathHierarchy|netloc|queryStringAndFragment|cutQueryStringAndFragment|extractURLParameter(s|Names))$/,
    when: /'(example|\/\/|not a)|#|\?/,
    reason:
      'addresses without a scheme, with a second query mark or a path behind #: read by RFC 3986 here',
  },
  {
    names: /^(JSONHas|JSONExtractRaw)$/,
    when: /nullIf|''\)|not json/,
    reason: 'a member of no JSON is missing, not NULL',
  },
  {
    names: /^JSONExtract$/,
    when: /'Bool'/,
    reason: 'only true, false and whole numbers are truths',
  },
  {
    names: /^groupBitAnd/,
    when: null,
    reason: 'of no rows it is 0 here, all ones of the width there',
  },
  {
    names: /^(uniqCombined(64)?|uniqHLL12)$/,
    when: /\(n\)/,
    reason: 'counts are exact, and 0 for NULLs alone',
  },
  {
    names: /^(anyHeavy|anyHeavyIf|argMax)$/,
    when: null,
    reason: 'which of several equal rows is picked is open in both',
  },
  {
    names: /^(median(Timing|BFloat16|TDigest)|quantileTDigest(If)?)$/,
    when: null,
    reason: 'approximate there, each in its own way',
  },
  {
    names: /^(stddevSamp|varSamp|skew\w+|kurt\w+)$/,
    when: /\(n\)/,
    reason: 'of one row it is NULL here, nan there; sums differ in the last digits',
  },
  { names: /^JSON_VALUE$/, when: /null/, reason: "JSON's null is no scalar: ''" },
  { names: /^arrayElement$/, when: /nullIf/, reason: 'position NULL is outside of the array' },
  {
    names: /^(splitByString|splitByRegexp|splitByChar)$/,
    when: /\('', ''\)|nullIf|, 0\)/,
    reason: 'the empty text is one part, and at most 0 parts are none',
  },
  {
    names: /^toDate$/,
    when: /[TZ]\d|Z'|\+05|17118|Mar|2024-13|2024-02-30|9007199254740993/,
    reason: 'a time with a zone is a date too, where ClickHouse gives NULL',
  },
  {
    names: /^(JSONHas|JSONExtractRaw|JSONLength|JSONType)$/,
    when: /\}', -?\d+\)/,
    reason: 'members of objects have names only, no positions',
  },
  {
    names: /^edges$/,
    when: /1970-01-0[12]/,
    reason: "starts of days before 1970 exist here; ClickHouse's DateTime wraps around",
  },
  {
    names: /^(has|hasAny|hasAll|arrayIntersect|indexOf)$/,
    when: /NULL/,
    reason: 'NULL in columns of arrays is an item like any other; ClickHouse meets its default too',
  },
]
