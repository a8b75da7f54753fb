/** Regular expressions that people write: on a linear-time engine, small enough that compiling and searching are bounded. */
import { RE2JS } from 're2js'

/** A compiled regular expression; a search takes at most some 70 ns per instruction and character. */
export type Pattern = {
  readonly instructions: number
  readonly test: (text: string) => boolean
}

const CHARS_MAX = 2000
/** Instructions of one pattern, about: 3 µs each to compile. */
const INSTRUCTIONS_MAX = 2000
/** A class like \pL has hundreds of ranges: it takes as long to compile as so many instructions. */
const CLASS_INSTRUCTIONS = 50
/** Memory for the automaton of one pattern: the engine's own limit is 8 MB, and a project may have thousands of patterns. */
const AUTOMATON_BYTES_MAX = 64 * 1024

/** Compiled patterns kept, by how many instructions they have together; twice as many at most. */
const KEPT_INSTRUCTIONS_MAX = 200_000

/** Two maps take turns, so that nothing has to be counted or moved when room is needed. */
let young = new Map<string, Pattern | null>()
let old = new Map<string, Pattern | null>()
let young_instructions = 0

/** The pattern; null when the engine cannot run it (also for look-around and back-references), or when it is too large. */
export function compilePattern(text: string): Pattern | null {
  const known = young.get(text) ?? old.get(text)
  if (known !== undefined) return known
  if (patternSizeFault(text) !== null) return null
  const pattern = compile(text)
  if (young_instructions > KEPT_INSTRUCTIONS_MAX) {
    old = young
    young = new Map()
    young_instructions = 0
  }
  young.set(text, pattern)
  young_instructions += 10 + (pattern?.instructions ?? 0)
  return pattern
}

/** Why a text is too large for a pattern, in words for its author; null when it is not. */
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
      test: (searched) => compiled.test(searched),
    }
  } catch {
    return null
  }
}

const REPETITION = /\{(\d{1,9})(?:,(\d{0,9}))?\}/y
const ESCAPED_CLASS = /\\[pP](?:\{[^}]*\}|.)/y

/**
 * About how many instructions a pattern compiles to, without compiling it: `(?:ab){3}` → 12. Each character, class and
 * group is some, a counted repetition multiplies those of what it repeats.
 */
function estimateInstructions(text: string): number {
  /** Of the groups around, what comes before them. */
  const outer: number[] = []
  let sum = 0
  /** Of what a repetition would repeat. */
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
  return outer.reduce((all, one) => all + one, sum)
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
      const [written, least, most] = REPETITION.exec(text) ?? []
      if (written === undefined) return { kind: 'plain', instructions: 1, chars: 1 }
      const count = Math.max(Number(least), Number(most ?? 0), 1)
      return { kind: 'repeat', count, chars: written.length }
    }
    default:
      return { kind: 'plain', instructions: 1, chars: 1 }
  }
}

/** Where a class in brackets ends; a bracket that comes first in it is one of its characters. */
function classEnd(text: string, start: number): number {
  let at = start + 1
  if (text[at] === '^') at += 1
  if (text[at] === ']') at += 1
  while (at < text.length && text[at] !== ']') at += text[at] === '\\' ? 2 : 1
  return Math.min(at + 1, text.length)
}
