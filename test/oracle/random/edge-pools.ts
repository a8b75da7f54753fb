/** Values at the edges of each type, for random queries: numerals in every spelling, letters beyond ASCII, the ends of dates. */

import { type Both, both } from './random-text.ts'

/** The kinds of columns; every one but arrays may be NULL. */
export type Edge = 'cond' | 'date' | 'float' | 'int' | 'ints' | 'num' | 'text' | 'texts' | 'time'

const quoted = (values: string): readonly Both[] =>
  values.split('|').map((value) => both`'${value.replaceAll('\t', '\\t').replaceAll('\n', '\\n')}'`)

const plain = (values: readonly string[]): readonly Both[] => values.map((value) => both`${value}`)

const DAYS =
  '1970-01-01 1970-01-02 1970-01-04 1970-01-05 1970-02-28 1999-12-31 2000-02-29 2020-12-31 2021-01-03 2024-02-29 ' +
  '2024-03-31 2024-12-30 2038-01-19 2100-02-28 2106-02-07 2149-05-31'

/** Instants in UTC: both ends of DateTime, leap days, and the hours that clocks skip and repeat. */
const INSTANTS =
  '1970-01-01 12:00:00|1970-01-02 00:00:00|1999-12-31 23:59:59|2000-02-29 12:34:56|2021-01-03 18:29:59|' +
  '2024-03-10 06:59:59|2024-03-31 00:59:59|2024-03-31 01:00:00|2024-10-27 00:30:00|2024-10-27 01:30:00|' +
  '2024-11-03 05:30:00|2024-12-31 23:59:59|2038-01-19 03:14:08|2106-02-06 06:28:15'

const FLOATS =
  '0. 1. -1. 0.5 -0.5 1.5 2.5 -2.5 0.1 2.345 1.005 1e15 1e-7 123456.789 -0.000001 9007199254740993. 0/0 1/0 -1/0'

const INTEGERS =
  '0 1 -1 2 7 -3 127 128 255 256 65535 2147483647 -2147483648 4294967296 9007199254740993'

const SPELLINGS =
  '|0|1|-1|+1|--1|+-1|-0|007| 1|1 |\t1|1\n|1 2|.5|5.|.|1.0|1.5|-2.5|1e3|1E+3|1e-2|1e|e1|1e400|1e-400|0x1F|0b1|0o7|' +
  '1_000|1,5|1f|inf|-inf|+inf|Infinity|nan|NaN|-nan|true|٣|１|−1|127|128|255|256|-128|-129|32768|65536|2147483648|' +
  '4294967296|9223372036854775807|9223372036854775808|-9223372036854775808|-9223372036854775809|' +
  '18446744073709551615|18446744073709551616|123456789012345678901234567890|0.1|0.30000000000000004|' +
  '1.7976931348623157e308|4.9e-324'

const TEXTS =
  'größe|GRÖSSE|ß|ẞ|İstanbul|ıI|ﬁn|ǆ|ΑΣ|ας|日本語|テスト|🎉 party|e\u0301|é|Ŀ|ŉ|Ωmega|ꭰ|Ꭰ|ა|Ა|Ⅷ|ⅷ|naïve café|a\u200Bb|' +
  'Привет|ПРИВЕТ|שלום|ÿ|Ÿ||a|A b|  x  |a,b,,c|%_|[a-z]|\u00A0x|İ|K|ſ|ά|Ά|👨‍👩‍👧'

/** Values by kind, in both languages. */
export const EDGES: Readonly<Record<Edge, readonly Both[]>> = {
  cond: plain(['1 = 1', '1 = 2']),
  date: plain(DAYS.split(' ').map((day) => `toDate('${day}')`)),
  float: plain(FLOATS.split(' ')),
  int: plain(INTEGERS.split(' ').map((number) => `toInt64(${number})`)),
  ints: plain(['[1, NULL, 3]', '[NULL, 7]', '[0, 0, NULL]', '[-1, 2, 2]', '[3, NULL, 1, 2]']),
  num: quoted(SPELLINGS),
  text: quoted(TEXTS),
  texts: plain([
    "['a', NULL, 'ö']",
    "['ß', 'SS']",
    "['']",
    "[NULL, NULL, 'x']",
    "['日本', 'a', '日本']",
    "['é', 'e\u0301']",
  ]),
  time: INSTANTS.split('|').map((utc) => ({
    hogql: `toDateTime('${utc}Z')`,
    clickhouse: `toTimeZone(toDateTime64('${utc}', 6, 'UTC'), timezone())`,
  })),
}

/** Texts that stand as constants: what is searched for, and what separates. */
export const WORDS: readonly Both[] = quoted(
  'ö|Ö|ss|ß|i|I|İ|日|本|🎉|e|é|a|,| |x|Σ|σ|ς|в|В|K|k|s|ö|a,',
)
