/**
 * Counts what a regular expression costs on texts made against it. Engines that backtrack, as JavaScript's do, are
 * superlinear when a repetition can be entered at many places of a text, or its text be divided among repetitions in
 * many ways, and no match is found in the end. Steps are counted by a plain backtracking matcher, so no clock is involved.
 */
import { type AST, RegExpParser } from '@eslint-community/regexpp'

/** A text against an expression: `before`, then `pumped` over and over, then `after`. */
export type Attack = { readonly before: string; readonly pumped: string; readonly after: string }

type Continue = (at: number) => boolean
type Matcher = (at: number, next: Continue) => boolean

/** A repetition of this many or more is taken for one without an end. */
const LONG_REPETITION_MIN = 50
/** Lengths at which growth is measured: twice as long must not take much more than twice as many steps. */
const [SHORT, LONG] = [40, 80]
/** Twice is linear and four times is quadratic. */
const GROWTH_MAX = 2.7
/** Fewer steps than these are the constant part. */
const STEPS_MIN = 600
/** What is beyond is exponential or of a high degree: counting ends. */
const STEPS_MAX = 200_000
const LETTERS_MAX = 9
/** Longer pumped texts only for expressions with few letters. */
const PUMPED_LENGTH_MAX = 3
const PUMPED_MAX = 150

/** Letters tried besides those that the expression names. */
const POOL = ['a', 'Z', '0', ' ', '\n', '-', '_', '.', '"', '\\', '%', 'é', '\u0001']

class TooManySteps extends Error {}

/** A text on which the expression is superlinear; null if none was found. Throws for backreferences. */
export function findAttack(source: string, flags: string): Attack | null {
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  })
  const repetitions = repetitionsIn(pattern)
  if (repetitions.length === 0) return null
  const counter = new StepCounter(pattern, flags)
  const attacks = attacksOn(pattern, repetitions, counter)
  return attacks.find((attack) => isSuperlinear(counter, attack)) ?? null
}

function isSuperlinear(counter: StepCounter, { before, pumped, after }: Attack): boolean {
  const stepsOf = (length: number): number => {
    const times = Math.ceil(length / pumped.length)
    return counter.count(before + pumped.repeat(times) + after)
  }
  const long = stepsOf(LONG)
  if (long < STEPS_MIN) return false
  return long > STEPS_MAX || long / stepsOf(SHORT) > GROWTH_MAX
}

/** Matches one expression as an engine that backtracks does, and counts the steps. */
class StepCounter {
  readonly #matcher: Matcher
  readonly #flags: string
  readonly #single = new Map<string, Map<string, boolean>>()
  #text = ''
  #steps = 0

  constructor(pattern: AST.Pattern, flags: string) {
    this.#flags = flags
    this.#matcher = this.#compileAlternatives(pattern.alternatives)
  }

  /** The steps of a search from each place, or of all matches for an expression with `g` or `y`. */
  count(text: string): number {
    this.#text = text
    this.#steps = 0
    try {
      this.#search()
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error
    }
    return this.#steps
  }

  /** Whether one character is matched by an element that matches single ones. */
  accepts(element: AST.Element, letter: string): boolean {
    const known = this.#single.get(element.raw) ?? new Map<string, boolean>()
    this.#single.set(element.raw, known)
    const found = known.get(letter)
    if (found !== undefined) return found
    const accepted = new RegExp(`^(?:${element.raw})$`, this.#flags.replace(/[gym]/g, '')).test(
      letter,
    )
    known.set(letter, accepted)
    return accepted
  }

  #search(): void {
    const is_sticky = this.#flags.includes('y')
    const is_global = is_sticky || this.#flags.includes('g')
    for (let at = 0; at <= this.#text.length; at += 1) {
      let end = -1
      const is_match = this.#matcher(at, (to) => {
        end = to
        return true
      })
      if (is_match ? !is_global : is_sticky) return
      if (is_match) at = Math.max(at, end - 1)
    }
  }

  #step(): void {
    this.#steps += 1
    if (this.#steps > STEPS_MAX) throw new TooManySteps()
  }

  #compileAlternatives(alternatives: readonly AST.Alternative[]): Matcher {
    const matchers = alternatives.map(({ elements }) => this.#compileSequence(elements))
    return (at, next) => matchers.some((match) => match(at, next))
  }

  #compileSequence(elements: readonly AST.Element[]): Matcher {
    return elements
      .map((element) => this.#compile(element))
      .reduceRight<Matcher>(
        (rest, match) => (at, next) => match(at, (to) => rest(to, next)),
        (at, next) => next(at),
      )
  }

  #compile(element: AST.Element): Matcher {
    switch (element.type) {
      case 'CapturingGroup':
      case 'Group':
        return this.#compileAlternatives(element.alternatives)
      case 'Quantifier':
        return this.#compileQuantifier(element)
      case 'Assertion':
        return this.#compileAssertion(element)
      case 'Backreference':
        throw new Error(`a backreference is not counted: ${element.raw}`)
      case 'Character':
      case 'CharacterClass':
      case 'CharacterSet':
      case 'ExpressionCharacterClass':
        return (at, next) => {
          this.#step()
          const letter = this.#text[at]
          return letter !== undefined && this.accepts(element, letter) && next(at + 1)
        }
    }
  }

  #compileQuantifier({ element, min, max, greedy }: AST.Quantifier): Matcher {
    const match = this.#compile(element)
    const repeat = (at: number, done: number, next: Continue): boolean => {
      const more = (): boolean =>
        done < max && match(at, (to) => (to > at || done < min) && repeat(to, done + 1, next))
      if (done < min) return more()
      return greedy ? more() || next(at) : next(at) || more()
    }
    return (at, next) => repeat(at, 0, next)
  }

  #compileAssertion(assertion: AST.Assertion): Matcher {
    if (assertion.kind === 'lookahead') {
      const match = this.#compileAlternatives(assertion.alternatives)
      return (at, next) => match(at, () => true) !== assertion.negate && next(at)
    }
    // The others look at a letter or two.
    const native = new RegExp(assertion.raw, `${this.#flags.replace(/[gy]/g, '')}y`)
    return (at, next) => {
      this.#step()
      native.lastIndex = at
      return native.test(this.#text) && next(at)
    }
  }
}

/** Texts to try: what leads to a repetition, what it repeats, and an end that may fail. */
function attacksOn(
  pattern: AST.Pattern,
  repetitions: readonly AST.Quantifier[],
  counter: StepCounter,
): readonly Attack[] {
  const letters = lettersOf(pattern, repetitions, counter)
  const befores = new Set([
    '',
    '\u0001',
    ...repetitions.map((one) => textBefore(one, letters, counter)),
  ])
  const afters = ['', '\u0001', '\n']
  // A repetition may be entered wherever what leads to it stands.
  const entered = [...befores].filter((before) => before !== '')
  const led = entered.flatMap((before) => ['', ...letters].map((letter) => before + letter))
  return [...pumpedTexts(letters), ...led].flatMap((pumped) =>
    [...befores].flatMap((before) => afters.map((after) => ({ before, pumped, after }))),
  )
}

/** One letter for each set of letters that the repetitions cannot tell apart. */
function lettersOf(
  pattern: AST.Pattern,
  repetitions: readonly AST.Quantifier[],
  counter: StepCounter,
): readonly string[] {
  const single = singlesIn(pattern)
  const repeated = repetitions.flatMap((one) => singlesIn(one))
  const named = single.flatMap((one) =>
    one.type === 'Character' ? [one.value] : charactersIn(one),
  )
  const candidates = [...named.map((code) => String.fromCodePoint(code)), ...POOL]
  const found = new Map<string, string>()
  for (const letter of candidates.filter((one) => one.length === 1)) {
    const signature = single.map((one) => (counter.accepts(one, letter) ? '1' : '0')).join('')
    const is_repeated = repeated.some((one) => counter.accepts(one, letter))
    if (is_repeated && !found.has(signature)) found.set(signature, letter)
  }
  return [...found.values()].slice(0, LETTERS_MAX)
}

function charactersIn(one: AST.Element): readonly number[] {
  if (one.type !== 'CharacterClass') return []
  return one.elements.flatMap((element) => {
    if (element.type === 'Character') return [element.value]
    return element.type === 'CharacterClassRange' ? [element.min.value, element.max.value] : []
  })
}

function pumpedTexts(letters: readonly string[]): readonly string[] {
  const texts: string[] = [...letters]
  let last: readonly string[] = letters
  for (let length = 2; length <= PUMPED_LENGTH_MAX; length += 1) {
    last = last.flatMap((text) => letters.map((letter) => text + letter))
    if (texts.length + last.length > PUMPED_MAX) break
    texts.push(...last)
  }
  return texts
}

/** A shortest text that leads to an element, as far as the elements before it say. */
function textBefore(element: AST.Node, letters: readonly string[], counter: StepCounter): string {
  const { parent } = element
  if (parent === null) return ''
  const before = textBefore(parent, letters, counter)
  if (parent.type !== 'Alternative') return before
  const preceding = parent.elements.slice(0, parent.elements.indexOf(element as AST.Element))
  return before + preceding.map((one) => shortestOf(one, counter)).join('')
}

function shortestOf(element: AST.Element, counter: StepCounter): string {
  switch (element.type) {
    case 'CapturingGroup':
    case 'Group':
      return (element.alternatives[0]?.elements ?? [])
        .map((one) => shortestOf(one, counter))
        .join('')
    case 'Quantifier':
      return shortestOf(element.element, counter).repeat(element.min)
    case 'Assertion':
    case 'Backreference':
      return ''
    case 'Character':
      return String.fromCodePoint(element.value)
    case 'CharacterClass':
    case 'CharacterSet':
    case 'ExpressionCharacterClass':
      return [...POOL, '/', ':', '='].find((letter) => counter.accepts(element, letter)) ?? ''
  }
}

function repetitionsIn(node: AST.Node): readonly AST.Quantifier[] {
  return descendantsOf(node).filter(
    (one): one is AST.Quantifier => one.type === 'Quantifier' && one.max >= LONG_REPETITION_MIN,
  )
}

/** The elements that match single letters. */
function singlesIn(node: AST.Node): readonly AST.Element[] {
  return descendantsOf(node).filter(
    (one): one is AST.Character | AST.CharacterClass | AST.CharacterSet =>
      one.type === 'Character' || one.type === 'CharacterClass' || one.type === 'CharacterSet',
  )
}

function descendantsOf(node: AST.Node): readonly AST.Node[] {
  return [node, ...childrenOf(node).flatMap(descendantsOf)]
}

function childrenOf(node: AST.Node): readonly AST.Node[] {
  if (node.type === 'Quantifier') return [node.element]
  if (node.type === 'Alternative') return node.elements
  return 'alternatives' in node ? node.alternatives : []
}
