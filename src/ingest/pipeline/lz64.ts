/** Expands `lz64` (LZString's `compressToBase64`, an LZW variant) within a limit of characters. */

/** The expanded text, or the reason why there is none. */
type ExpandedText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'too_large' }

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUES = new Map(Array.from(ALPHABET).map((character, value) => [character, value]))

/** Control codes: a new character of 8 or 16 bits follows, or the text ends. */
const NEW_BYTE = 0
const NEW_UNIT = 1
const END = 2

const MALFORMED: ExpandedText = { kind: 'malformed' }

/**
 * Expands `packed`. Each code can make the next entry one character longer, so that 1 MB could expand to
 * gigabytes: it stops at `length_max` characters.
 */
export function expandLz64(packed: string, length_max: number): ExpandedText {
  const bits = new BitReader(packed)
  const first_code = bits.read(2)
  if (first_code === END) return { kind: 'text', text: '' }
  const first = readCharacter(bits, first_code)
  if (first === null) return MALFORMED
  const table = new LzTable(first)
  const parts = [first]
  let length = first.length
  let previous = first
  for (;;) {
    const code = bits.read(table.width)
    if (bits.is_exhausted) return MALFORMED
    if (code === END) return { kind: 'text', text: parts.join('') }
    const entry =
      code === NEW_BYTE || code === NEW_UNIT
        ? table.add(readCharacter(bits, code))
        : (table.entry(code) ?? table.next(code, previous))
    if (entry === null) return MALFORMED
    length += entry.length
    if (length > length_max) return { kind: 'too_large' }
    parts.push(entry)
    table.add(previous + entry.charAt(0))
    previous = entry
  }
}

function readCharacter(bits: BitReader, code: number): string | null {
  if (code !== NEW_BYTE && code !== NEW_UNIT) return null
  const unit = bits.read(code === NEW_BYTE ? 8 : 16)
  return bits.is_exhausted ? null : String.fromCharCode(unit)
}

/** The LZW dictionary. Codes get wider as it grows. */
class LzTable {
  /** The first three codes are not entries. */
  readonly #entries: string[] = ['', '', '']
  #room = 4
  /** Bits of the next code. */
  width = 3

  constructor(first: string) {
    this.#entries.push(first)
  }

  entry(code: number): string | null {
    return this.#entries[code] ?? null
  }

  /** The only code that may precede its entry: the previous entry followed by its first character. */
  next(code: number, previous: string): string | null {
    return code === this.#entries.length ? previous + previous.charAt(0) : null
  }

  add(entry: string | null): string | null {
    if (entry === null) return null
    this.#entries.push(entry)
    this.#room -= 1
    if (this.#room === 0) {
      this.#room = 2 ** this.width
      this.width += 1
    }
    return entry
  }
}

/** Base64 text as a stream of bits; the lowest bit of a number comes first. */
class BitReader {
  readonly #packed: string
  #position = 0
  #value = 0
  #mask = 0
  /** True after a read beyond the end. */
  is_exhausted = false

  constructor(packed: string) {
    this.#packed = packed
  }

  read(count: number): number {
    let number = 0
    for (let bit = 0; bit < count; bit += 1) {
      if (this.#mask === 0) this.#advance()
      if ((this.#value & this.#mask) !== 0) number |= 1 << bit
      this.#mask >>= 1
    }
    return number
  }

  #advance(): void {
    const value = VALUES.get(this.#packed.charAt(this.#position))
    if (value === undefined) this.is_exhausted = true
    this.#value = value ?? 0
    this.#mask = 32
    this.#position += 1
  }
}
