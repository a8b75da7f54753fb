/**
 * Parses an elements chain: the one-line text of a click's DOM path → a list of elements, innermost
 * first.
 */

/** One element; missing members are null. */
export type ElementAnswer = {
  readonly text: string | null
  readonly tag_name: string | null
  readonly attr_class: readonly string[] | null
  readonly href: string | null
  readonly attr_id: string | null
  readonly nth_child: number | null
  readonly nth_of_type: number | null
  /** Other attributes, named `attr__…`. */
  readonly attributes: Readonly<Record<string, string>>
  readonly order: number
}

/** Senders can write chains of up to a megabyte; only the beginning is parsed. */
const CHAIN_LENGTH_MAX = 100_000
/** Maximum elements parsed; pages are about fifty deep. */
const ELEMENTS_MAX = 300
/** Maximum attributes parsed per element. */
const ATTRIBUTES_MAX = 300

/**
 * Parses a chain; an empty one has no elements. Elements are separated by `;`, quoted texts may
 * contain anything. Linear: each character is scanned a fixed number of times.
 */
export function readElements(chain: string): readonly ElementAnswer[] {
  const text = chain.slice(0, CHAIN_LENGTH_MAX)
  const elements: ElementAnswer[] = []
  for (let at = 0; at < text.length && elements.length < ELEMENTS_MAX; ) {
    const end = endOfElement(text, at)
    if (end > at) elements.push(readElement(text.slice(at, end), elements.length))
    // A separator: `;`, or a quote or backslash without its counterpart.
    at = end + 1
  }
  return elements
}

function endOfElement(text: string, start: number): number {
  for (let at = start; ; ) {
    const character = text[at]
    if (character === undefined || character === ';') return at
    if (character === '\\') {
      if (at + 1 === text.length) return at
      at += 2
    } else if (character === '"') {
      const close = endOfQuoted(text, at + 1)
      if (close === null) return at
      at = close + 1
    } else at += 1
  }
}

/** The offset of the quote that closes the one at `start`; null when there is none. */
function endOfQuoted(text: string, start: number): number | null {
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '"') return at
    if (text[at] === '\\') at += 1
  }
  return null
}

function readElement(text: string, order: number): ElementAnswer {
  const head_end = endOfHead(text)
  const [tag_name = '', ...rest] = text.slice(0, head_end).split('.')
  const classes = rest.filter((one) => one !== '')
  const pairs = readAttributes(text, head_end + 1)
  const attributes = new Map(pairs)
  const numbered = (name: string): number | null => {
    const value = attributes.get(name)
    return value === undefined ? null : Number(value)
  }
  return {
    text: attributes.get('text') ?? null,
    tag_name: tag_name === '' ? null : tag_name,
    attr_class: classes.length === 0 ? null : classes,
    href: attributes.get('href') ?? null,
    attr_id: attributes.get('attr_id') ?? attributes.get('attr__id') ?? null,
    nth_child: numbered('nth-child'),
    nth_of_type: numbered('nth-of-type'),
    attributes: Object.fromEntries(pairs.filter(([name]) => name.startsWith('attr__'))),
    order,
  }
}

/** A character of an attribute name; tag and classes end before one, and classes may contain colons. */
const KEY_CHARACTER = /[\w-]/

/** The offset of the colon before the first attribute, or the end. */
function endOfHead(text: string): number {
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    let at = colon + 1
    while (at < text.length && KEY_CHARACTER.test(text.charAt(at))) at += 1
    if (at > colon + 1 && text.startsWith('="', at)) return colon
  }
  return text.length
}

const IS_SPACE = /\s/

/** Parses `name="value"` pairs from `start`; a name has no blanks, quotes or equals signs. */
function readAttributes(text: string, start: number): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = []
  let name_start = start
  for (let at = start; at < text.length && pairs.length < ATTRIBUTES_MAX; at += 1) {
    const character = text.charAt(at)
    const is_value = character === '=' && text[at + 1] === '"' && at > name_start
    if (is_value) {
      const close = endOfQuoted(text, at + 2)
      // An unclosed quote ends the attributes.
      if (close === null) return pairs
      const value = text.slice(at + 2, close).replaceAll(String.raw`\"`, '"')
      pairs.push([text.slice(name_start, at), value])
      at = close
      name_start = close + 1
    } else if (character === '=' || character === '"' || IS_SPACE.test(character)) {
      name_start = at + 1
    }
  }
  return pairs
}
