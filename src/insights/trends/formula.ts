/** Formulas over series: `(A + B) / 2 * 100`; the letters are the series in their order. */
import { type Refusal, refuseMember } from '../../errors.ts'

/** Evaluates a formula for one value per series. */
export type Formula = (values: readonly number[]) => number

/** Maximum nesting of brackets and signs. */
const DEPTH_MAX = 50

const TOKEN = /\s*(?:(\d+(?:\.\d*)?|\.\d+)|([A-Za-z])(?![A-Za-z])|(\*\*|[-+*/%^()]))/y

type FormulaToken =
  | { readonly kind: 'letter' | 'sign'; readonly text: string }
  | { readonly kind: 'number'; readonly text: string }

/** Operators by precedence, from the loosest; a division by zero is 0. */
const LEVELS: readonly Readonly<Record<string, (left: number, right: number) => number>>[] = [
  { '+': (left, right) => left + right, '-': (left, right) => left - right },
  {
    '*': (left, right) => left * right,
    '/': (left, right) => (right === 0 ? 0 : left / right),
    '%': (left, right) => (right === 0 ? 0 : left - right * Math.floor(left / right)),
  },
]

/** Parses a formula. Refuses invalid texts and letters beyond the series; `attr` names the member. */
export function readFormula(text: string, series_count: number, attr: string): Formula {
  const reader: FormulaReader = {
    tokens: tokensOf(text, attr),
    at: 0,
    depth: 0,
    series_count,
    attr,
  }
  const formula = readLevel(reader, 0)
  if (reader.at < reader.tokens.length) throw unreadable(reader)
  return (values) => {
    const value = formula(values)
    return Number.isFinite(value) ? value : 0
  }
}

type FormulaReader = {
  readonly tokens: readonly FormulaToken[]
  at: number
  depth: number
  readonly series_count: number
  readonly attr: string
}

function tokensOf(text: string, attr: string): readonly FormulaToken[] {
  const tokens: FormulaToken[] = []
  const end = text.trimEnd().length
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end; ) {
    const at = TOKEN.lastIndex
    const [, number, letter, sign] = TOKEN.exec(text) ?? []
    if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else if (letter !== undefined) tokens.push({ kind: 'letter', text: letter.toUpperCase() })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign })
    else
      throw refuseMember(
        `The formula cannot be read from ${JSON.stringify(text.slice(at, at + 20))} on.`,
        attr,
      )
  }
  return tokens
}

function readLevel(reader: FormulaReader, level: number): Formula {
  const operators = LEVELS[level]
  if (operators === undefined) return readPower(reader)
  let left = readLevel(reader, level + 1)
  for (;;) {
    const token = reader.tokens[reader.at]
    const apply = token?.kind === 'sign' ? operators[token.text] : undefined
    if (apply === undefined) return left
    reader.at += 1
    const [before, after] = [left, readLevel(reader, level + 1)]
    left = (values) => apply(before(values), after(values))
  }
}

function readPower(reader: FormulaReader): Formula {
  const base = readSigned(reader)
  const token = reader.tokens[reader.at]
  if (token?.kind !== 'sign' || (token.text !== '**' && token.text !== '^')) return base
  reader.at += 1
  const exponent = readPower(reader)
  return (values) => base(values) ** exponent(values)
}

function readSigned(reader: FormulaReader): Formula {
  const token = reader.tokens[reader.at]
  if (token === undefined) throw unreadable(reader)
  reader.at += 1
  reader.depth += 1
  if (reader.depth > DEPTH_MAX)
    throw refuseMember(`The formula is nested more than ${DEPTH_MAX} deep.`, reader.attr)
  const read = readToken(token, reader)
  reader.depth -= 1
  return read
}

function readToken(token: FormulaToken, reader: FormulaReader): Formula {
  if (token.kind === 'number') {
    const value = Number(token.text)
    return () => value
  }
  if (token.kind === 'letter') return readLetter(token.text, reader)
  if (token.text === '-' || token.text === '+') {
    const of = readPower(reader)
    return token.text === '-' ? (values) => -of(values) : of
  }
  if (token.text !== '(') throw unreadable(reader)
  const inner = readLevel(reader, 0)
  if (reader.tokens[reader.at]?.text !== ')') throw unreadable(reader)
  reader.at += 1
  return inner
}

function readLetter(letter: string, { series_count, attr }: FormulaReader): Formula {
  const index = letter.charCodeAt(0) - 'A'.charCodeAt(0)
  if (index >= series_count)
    throw refuseMember(`The formula names series ${letter}, which there is not.`, attr)
  return (values) => values[index] ?? 0
}

function unreadable({ tokens, at, attr }: FormulaReader): Refusal {
  const token = tokens[at]?.text
  return refuseMember(
    token === undefined ? 'The formula ends too early.' : `${token} does not fit in the formula.`,
    attr,
  )
}
