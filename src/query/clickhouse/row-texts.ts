/** Rows of ClickHouse's JSON lines in the form of this project's answers: its instants become ISO 8601 in the zone of their type. */

import {
  type ClickHouseType,
  PLAIN,
  PLAIN_MAP,
  readClickHouseType,
} from '../engine/clickhouse-types.ts'
import { instantText } from '../engine/instant-text.ts'

/** Reads one row from its line. */
export type RowReading = {
  /** The row as a JSON array. */
  readonly row: (line: string) => string
  /** Its values as JSON. */
  readonly values: (line: string) => readonly string[]
}

type ClickHouseMap = Extract<ClickHouseType, { readonly kind: 'map' }>

/** `types` are ClickHouse type names, by column; `timezone` is that of instants whose type names none. */
export function rowReading(types: readonly string[], timezone: string): RowReading {
  const read = types.map((name) => readClickHouseType(name, timezone))
  const values = (line: string): readonly string[] => new RowScanner(line).row(read)
  return {
    row: read.some(hasInstant) ? (line) => `[${values(line).join(',')}]` : (line) => line,
    values,
  }
}

function hasInstant(type: ClickHouseType): boolean {
  switch (type.kind) {
    case 'datetime':
      return true
    case 'array':
      return hasInstant(type.of)
    case 'map':
      return hasInstant(type.key) || hasInstant(type.value)
    case 'tuple':
      return type.items.some(hasInstant)
    case 'number':
    case 'plain':
      return false
  }
}

/** Reads one line from left to right and keeps every text as it is: no digit of a number is lost. */
class RowScanner {
  readonly #line: string
  #at = 0

  constructor(line: string) {
    this.#line = line
  }

  row(types: readonly ClickHouseType[]): readonly string[] {
    return this.#items((index) => types[index] ?? PLAIN)
  }

  #value(type: ClickHouseType): string {
    switch (this.#line.charAt(this.#at)) {
      case '[':
        return `[${this.#items((index) => itemType(type, index)).join(',')}]`
      case '{':
        return this.#members(type.kind === 'map' ? type : PLAIN_MAP)
      case '"': {
        const text = this.#text()
        return type.kind === 'datetime' ? instantOf(text, type) : text
      }
      default:
        return this.#word()
    }
  }

  #items(typeOf: (index: number) => ClickHouseType): readonly string[] {
    const items: string[] = []
    this.#at += 1
    while (this.#skip() !== ']') items.push(this.#value(typeOf(items.length)))
    this.#at += 1
    return items
  }

  #members({ key: key_type, value }: Pick<ClickHouseMap, 'key' | 'value'>): string {
    const members: string[] = []
    this.#at += 1
    while (this.#skip() !== '}') {
      const text = this.#text()
      const key = key_type.kind === 'datetime' ? instantOf(text, key_type) : text
      this.#skip()
      members.push(`${key}:${this.#value(value)}`)
    }
    this.#at += 1
    return `{${members.join(',')}}`
  }

  /** Skips separators and returns the next character; the end of a broken line is an error. */
  #skip(): string {
    for (;;) {
      const next = this.#line[this.#at]
      if (next === undefined) throw new Error('a row ends too early')
      if (next !== ',' && next !== ' ' && next !== ':') return next
      this.#at += 1
    }
  }

  #text(): string {
    const start = this.#at
    for (let at = start + 1; at < this.#line.length; at += 1) {
      const code = this.#line.charCodeAt(at)
      if (code === BACKSLASH) at += 1
      else if (code === QUOTE) {
        this.#at = at + 1
        return this.#line.slice(start, at + 1)
      }
    }
    throw new Error('a text has no end')
  }

  /** A number, true, false or null. */
  #word(): string {
    const start = this.#at
    while (this.#at < this.#line.length && !ENDS.has(this.#line[this.#at] ?? '')) this.#at += 1
    return this.#line.slice(start, this.#at)
  }
}

const BACKSLASH = 92
const QUOTE = 34
const ENDS: ReadonlySet<string> = new Set([',', ']', '}', ' '])

function itemType(type: ClickHouseType, index: number): ClickHouseType {
  if (type.kind === 'array') return type.of
  return type.kind === 'tuple' ? (type.items[index] ?? PLAIN) : PLAIN
}

const SECONDS = /^"(-?)(\d+)(?:\.(\d{1,6})\d*)?"$/
/** In the second before 1970 each digit is subtracted from the character `0`, not added: half a second is `0.+00000`. */
const BEFORE_1970 = /^"0\.([0'-/]{1,6})[0'-/]*"$/
const ZERO = 48

/** `"1711872000.123456"` as ISO 8601. */
function instantOf(text: string, { clock }: Extract<ClickHouseType, { kind: 'datetime' }>): string {
  const us = microsOf(text)
  return us === null ? text : instantText(us, clock)
}

/** Microseconds since 1970; null for another text. */
function microsOf(text: string): bigint | null {
  const found = SECONDS.exec(text)
  if (found === null) {
    const [, digits] = BEFORE_1970.exec(text) ?? []
    return digits === undefined ? null : -fractionOf(digits.replace(/./g, mirrored))
  }
  const [, sign = '', seconds = '0', fraction = ''] = found
  const size = BigInt(seconds) * 1_000_000n + fractionOf(fraction)
  return sign === '-' ? -size : size
}

const fractionOf = (digits: string): bigint => BigInt(digits.padEnd(6, '0'))

const mirrored = (digit: string): string => String(ZERO - digit.charCodeAt(0))
