/** Whether a regular expression may match an empty text, read from the pattern itself: no engine runs a caller's pattern here. */

/** Groups inside one another that are read; deeper patterns count as matching an empty text. */
const DEPTH_MAX = 50

/** Longest count in braces that is read as one: `{1000,1000}`. */
const COUNT_LENGTH_MAX = 12

/** Escapes that may match the empty text: they match a position, or this reader does not interpret them (`\Q`). */
const EMPTY_ESCAPES = 'bBAzZQE'

type Reader = { readonly pattern: string; at: number }

/**
 * Whether the pattern may match an empty text. True when unsure: callers then take the exact, slower way. Reads each character
 * once: `a+b?` → false, `a*` → true, `(x|)y` → false, `x|` → true.
 */
export function mayMatchEmpty(pattern: string): boolean {
  const reader = { pattern, at: 0 }
  return readAlternatives(reader, 0) || reader.at < pattern.length
}

/** Reads alternatives up to the end or the closing bracket of their group. */
function readAlternatives(reader: Reader, depth: number): boolean {
  if (depth > DEPTH_MAX) return true
  let may_any = false
  let may_this = true
  while (reader.at < reader.pattern.length) {
    const char = reader.pattern[reader.at] ?? ''
    if (char === ')') break
    if (char === '|') {
      reader.at += 1
      may_any ||= may_this
      may_this = true
      continue
    }
    const is_empty = readAtom(reader, depth)
    const is_optional = readQuantifier(reader)
    may_this &&= is_empty || is_optional
  }
  return may_any || may_this
}

/** Reads one character, class, escape or group; whether it may match an empty text. */
function readAtom(reader: Reader, depth: number): boolean {
  const { pattern } = reader
  const char = pattern[reader.at] ?? ''
  reader.at += 1
  switch (char) {
    case '\\': {
      const escaped = pattern[reader.at] ?? ''
      reader.at += 1
      return EMPTY_ESCAPES.includes(escaped)
    }
    case '[':
      reader.at = endOfClass(pattern, reader.at)
      return false
    case '(': {
      skipGroupHead(reader)
      const is_empty = readAlternatives(reader, depth + 1)
      reader.at += 1
      return is_empty
    }
    case '^':
    case '$':
      return true
    default:
      return false
  }
}

/** Skips `?:`, flags and names of a group: a group of flags alone is empty. */
function skipGroupHead(reader: Reader): void {
  if (reader.pattern[reader.at] !== '?') return
  const rest = reader.pattern.slice(reader.at, reader.at + 100)
  const end = rest.search(/[:>)]/)
  reader.at += end === -1 ? rest.length : end + (rest[end] === ')' ? 0 : 1)
}

/** The offset after a class; `]` in first place is a character. */
function endOfClass(pattern: string, start: number): number {
  let at = pattern[start] === '^' ? start + 1 : start
  if (pattern[at] === ']') at += 1
  while (at < pattern.length && pattern[at] !== ']') {
    if (pattern.startsWith('[:', at)) {
      const end = pattern.indexOf(':]', at + 2)
      at = end === -1 ? pattern.length : end + 2
    } else at += pattern[at] === '\\' ? 2 : 1
  }
  return at + 1
}

/** Reads quantifiers, if any; whether they allow none. */
function readQuantifier(reader: Reader): boolean {
  let is_optional = false
  for (;;) {
    const char = reader.pattern[reader.at] ?? ''
    if (char === '' || !'?*+{'.includes(char)) return is_optional
    // Braces are a character or a count: either way nothing is promised.
    is_optional ||= char !== '+'
    const count = reader.pattern.slice(reader.at, reader.at + COUNT_LENGTH_MAX)
    reader.at += char === '{' ? Math.max(count.indexOf('}'), 0) + 1 : 1
  }
}
