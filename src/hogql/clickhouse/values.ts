/** Values in ClickHouse's SQL: texts and times relative to `now` as parameters, numbers, times and ids printed from what was parsed. */

import { chunksOf } from '../../text-chunks.ts'
import { DAY_US, END_INSTANT_US, FIRST_INSTANT_US } from '../../time.ts'
import type { ResolvedExpr, ValueExpr } from '../sql/ir.ts'
import { StatementParameters } from '../sql/parameters.ts'
import { RelativeTime } from '../times/relative-time.ts'
import { clickhouseName, literalIntType, type Type } from '../types/types.ts'

/** A parameter holds 128 KiB there, and escapes may double what is sent: longer texts are several. */
const TEXT_LENGTH_MAX = 15_000

/** Shorter lists are printed item by item. */
const LONG_LIST = 20
/** Characters of the texts of one parameter, with what is around each. */
const LIST_LENGTH_MAX = 2 * TEXT_LENGTH_MAX

/** Collects the parameters of one statement and prints values. */
export class ClickHouseValues {
  readonly parameters = new StatementParameters()

  /** A text as a parameter, equal ones once. */
  text(value: string): string {
    if (value.length <= TEXT_LENGTH_MAX) return this.#textPart(value)
    const parts: string[] = []
    for (const chunk of chunksOf(value, TEXT_LENGTH_MAX)) parts.push(this.#textPart(chunk))
    return `concat(${parts.join(', ')})`
  }

  #textPart(value: string): string {
    return this.#bound(value, 'String')
  }

  #bound(value: string, type: string): string {
    return `{p${this.parameters.number({ type: 'VARCHAR', value })}:${type}}`
  }

  /**
   * A long list of constant texts or ids as a parameter, or a few, since the server takes a thousand: `'a', 'b', …` →
   * `{p1:Array(String)}`. Null for any other list.
   */
  list(items: readonly ResolvedExpr[]): string | null {
    if (items.length < LONG_LIST) return null
    const kind = items[0]?.type.kind
    const parts: string[] = []
    let part = ''
    for (const item of items) {
      if (item.kind !== 'value' || typeof item.value !== 'string') return null
      if (item.type.kind !== kind || item.value.length > TEXT_LENGTH_MAX) return null
      // The client escapes what else has to be.
      const text = `'${item.value.replaceAll("'", "''")}'`
      if (part.length + text.length > LIST_LENGTH_MAX) {
        parts.push(part)
        part = ''
      }
      part += part === '' ? text : `,${text}`
    }
    const name = kind === 'uuid' ? 'UUID' : 'String'
    const printed = [...parts, part].map((value) => this.#bound(`[${value}]`, `Array(${name})`))
    return printed.length === 1 ? printed.join('') : `arrayConcat(${printed.join(', ')})`
  }

  /** A constant of a type. */
  value({ value, type }: ValueExpr): string {
    if (value === null) return this.#null(type)
    if (value instanceof RelativeTime) {
      const bound = { type: 'TIMESTAMP', value: value.us } as const
      return this.#instant(`{p${this.parameters.relativeNumber(bound)}:Int64}`, type)
    }
    if (typeof value === 'boolean') return String(value)
    if (typeof value === 'string') return this.#typedText(value, type)
    if (typeof value === 'number') return floatText(value)
    if (type.kind === 'datetime') return this.#constantInstant(value, type)
    if (type.kind === 'date') return dateText(value, type)
    if (type.kind === 'interval') return `toInterval${type.unit}(${value})`
    return integerText(value, type)
  }

  #null(type: Type): string {
    return type.kind === 'null' || !CAN_BE_NULL.has(type.kind)
      ? 'NULL'
      : `CAST(NULL, ${this.text(clickhouseName({ ...type, nullable: true }))})`
  }

  #instant(micros: string, type: Type): string {
    const zone = type.kind === 'datetime' ? type.timezone : 'UTC'
    return `fromUnixTimestamp64Micro(${micros}, ${this.text(zone)})`
  }

  #constantInstant(us: bigint, type: Type): string {
    const text = this.#instant(`toInt64(${us})`, type)
    const is_sure = us > FIRST_INSTANT_US + DAY_US && us < END_INSTANT_US - DAY_US
    return is_sure ? text : this.saturated(text, type)
  }

  /**
   * A constant instant within the years 1 to 9999 of its zone. The server sends constants to shards as texts, and reads
   * those of other years as other instants: `x` → `clamp(x, toDateTime64('0001-01-01 00:00:00', 0, 'UTC'), …)`
   */
  saturated(text: string, type: Type): string {
    // Those with more digits have years from 1677 to 2262.
    if (type.kind !== 'datetime' || type.precision > 6) return text
    const [first, last] = ['0001-01-01 00:00:00', '9999-12-31 23:59:59'].map(
      (local) => `toDateTime64('${local}', 0, ${this.text(type.timezone)})`,
    )
    return `clamp(${text}, ${first}, ${last})`
  }

  #typedText(value: string, type: Type): string {
    return type.kind === 'uuid' ? `toUUID(${this.text(value)})` : this.text(value)
  }
}

const CAN_BE_NULL: ReadonlySet<Type['kind']> = new Set([
  'bool',
  'date',
  'datetime',
  'float',
  'int',
  'string',
  'truth',
  'uuid',
])

/** The last day of the type Date; later and earlier ones need Date32. */
const DATE_DAYS_MAX = 65_535n
/** The days of Date32, 1900 to 2299: the server takes a larger number for seconds. */
const WIDE_DAYS_MIN = -25_567n
const WIDE_DAYS_MAX = 120_529n

/** A date by its days since 1970: the nearest one that the server has. */
function dateText(days: bigint, type: Type): string {
  const is_wide = type.kind === 'date' && type.wide === true
  if (!is_wide && days >= 0n && days <= DATE_DAYS_MAX) return `toDate(${days})`
  if (days < WIDE_DAYS_MIN) return `toDate32(${WIDE_DAYS_MIN})`
  return `toDate32(${days > WIDE_DAYS_MAX ? WIDE_DAYS_MAX : days})`
}

/** A float as its shortest text that reads back the same, never as an integer. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '(-inf)'
  const text = Object.is(value, -0) ? '-0.' : String(value)
  const written = /[.e]/.test(text) ? text : `${text}.`
  return value < 0 || Object.is(value, -0) ? `(${written})` : written
}

/** An integer with the type it has in HogQL, where its literal has another: `toInt64(10)`. */
function integerText(value: bigint, type: Type): string {
  const text = value < 0n ? `(${value})` : String(value)
  const name = clickhouseName({ ...type, nullable: false })
  const is_literal = type.kind !== 'int' || name === clickhouseName(literalIntType(value))
  return is_literal ? text : `to${name}(${text})`
}
