/**
 * Regular expressions of users: on RE2, a linear-time engine, with limits of size that bound compiling and searching.
 */
import { RE2JS } from 're2js'

/** A compiled regular expression; a search takes at most about 70 ns per instruction and character. */
export type Pattern = {
  readonly instructions: number
  readonly test: (text: string) => boolean
}

const CHARS_MAX = 2000
/** Estimated instructions of one pattern; each takes 3 µs to compile. */
const INSTRUCTIONS_MAX = 2000
/** Instructions counted for a class such as \pL, whose hundreds of ranges take time to compile. */
const CLASS_INSTRUCTIONS = 50
/** Memory of a pattern's automaton: the engine's default is 8 MB, and a project may have thousands of patterns. */
const AUTOMATON_BYTES_MAX = 64 * 1024

/** Instructions of one generation of cached patterns; two are in memory. */
const GENERATION_INSTRUCTIONS_MAX = 200_000

/**
 * Generational eviction: a full young map becomes the old one, whose previous content is dropped. Gain: a short pattern takes 180 µs
 * of processor time to compile, 1 µs to find and test.
 */
let young = new Map<string, Pattern | null>()
let old = new Map<string, Pattern | null>()
let young_instructions = 0

/** Compiles a pattern; null if RE2 does not support it (look-around, back-references), or if it is too large. */
export function compilePattern(text: string): Pattern | null {
  const cached = young.get(text) ?? old.get(text)
  if (cached !== undefined) return cached
  if (patternSizeFault(text) !== null) return null
  const pattern = compile(text)
  if (young_instructions > GENERATION_INSTRUCTIONS_MAX) {
    old = young
    young = new Map()
    young_instructions = 0
  }
  young.set(text, pattern)
  young_instructions += 10 + (pattern?.instructions ?? 0)
  return pattern
}

/** The message about a pattern that is too large; null if it is not. */
export function patternSizeFault(text: string): string | null {
  if (text.length > CHARS_MAX) return `A regular expression may have ${CHARS_MAX} characters.`
  if (estimateInstructions(text) > INSTRUCTIONS_MAX) {
    return 'The regular expression is too large: it repeats too much, or too long a part.'
  }
  return null
}

function compile(text: string): Pattern | null {
  try {
    const compiled = RE2JS.compile(text)
    const { dfa } = compiled.re2Input
    dfa.stateBudget = AUTOMATON_BYTES_MAX
    dfa.memBudget = AUTOMATON_BYTES_MAX
    return {
      instructions: Math.max(compiled.programSize(), estimateInstructions(text)),
      test: (subject) => compiled.test(subject),
    }
  } catch {
    return null
  }
}

const REPETITION = /\{(\d{1,9})(?:,(\d{0,9}))?\}/y
const ESCAPED_CLASS = /\\[pP](?:\{[^}]*\}|.)/y

/**
 * Estimates the instructions of a pattern without compiling it: `(?:ab){3}` → 12. Characters, classes and groups count
 * some each; a counted repetition multiplies those of its operand.
 */
function estimateInstructions(text: string): number {
  /** The sums before each open group. */
  const outer: number[] = []
  let sum = 0
  /** Instructions of the last atom, the operand of a repetition. */
  let last = 0
  for (let at = 0; at < text.length; ) {
    const atom = atomAt(text, at)
    at += atom.chars
    switch (atom.kind) {
      case 'open':
        outer.push(sum)
        sum = 0
        last = 0
        break
      case 'close':
        last = sum + 2
        sum = (outer.pop() ?? 0) + last
        break
      case 'repeat':
        sum += last * (atom.count - 1) + 1
        last = last * atom.count + 1
        break
      case 'plain':
        last = atom.instructions
        sum += last
        break
    }
  }
  return outer.reduce((total, before) => total + before, sum)
}

type Atom = { readonly chars: number } & (
  | { readonly kind: 'close' | 'open' }
  | { readonly kind: 'plain'; readonly instructions: number }
  | { readonly kind: 'repeat'; readonly count: number }
)

function atomAt(text: string, at: number): Atom {
  switch (text.charAt(at)) {
    case '(':
      return { kind: 'open', chars: 1 }
    case ')':
      return { kind: 'close', chars: 1 }
    case '[': {
      const end = classEnd(text, at)
      const classes = text.slice(at, end).match(/\\[pP]|\[:/g)?.length ?? 0
      return { kind: 'plain', instructions: 1 + classes * CLASS_INSTRUCTIONS, chars: end - at }
    }
    case '\\': {
      ESCAPED_CLASS.lastIndex = at
      const [named] = ESCAPED_CLASS.exec(text) ?? []
      if (named === undefined) return { kind: 'plain', instructions: 1, chars: 2 }
      return { kind: 'plain', instructions: CLASS_INSTRUCTIONS, chars: named.length }
    }
    case '{': {
      REPETITION.lastIndex = at
      const [repetition, least, most] = REPETITION.exec(text) ?? []
      if (repetition === undefined) return { kind: 'plain', instructions: 1, chars: 1 }
      const count = Math.max(Number(least), Number(most ?? 0), 1)
      return { kind: 'repeat', count, chars: repetition.length }
    }
    default:
      return { kind: 'plain', instructions: 1, chars: 1 }
  }
}

/** The index after a bracketed class; a closing bracket in first position is a character of the class. */
function classEnd(text: string, start: number): number {
  let at = start + 1
  if (text[at] === '^') at += 1
  if (text[at] === ']') at += 1
  while (at < text.length && text[at] !== ']') at += text[at] === '\\' ? 2 : 1
  return Math.min(at + 1, text.length)
}
