/** OPERATORS of property filters: how each reads the filter's value and tests a person's value. */

import { FlagFailure } from '../failure.ts'
import type { Work } from '../work.ts'
import { boundAt, parseDate, parseDateBound } from './date.ts'
import { compilePattern } from './pattern.ts'
import {
  caretRange,
  compareVersions,
  parseVersion,
  type SemanticVersion,
  type SemanticVersionRange,
  tildeRange,
  wildcardRange,
} from './semver.ts'
import { asNumber, asText, isTrue, isTruthWord, lowerAscii, memoizeLast } from './value.ts'

/**
 * Tests an existing property value; `now` is in milliseconds since 1970. Charges `work` before each step. May throw
 * FlagFailure.
 */
export type ValueTest = (value: unknown, now: number, work: Work) => boolean

export type FlagOperator = {
  readonly name: string
  /** The result if the person lacks the property. */
  readonly matches_missing: boolean
  /** Whether a filter without a value never matches. */
  readonly needs_value: boolean
  /** Reads the filter's value once. Null: the value is invalid, and the filter becomes a `BrokenFilter`. */
  readonly prepare: (filter_value: unknown) => ValueTest | null
}

type Prepare = FlagOperator['prepare']
type Order = (difference: number) => boolean

/** Characters of a text that patterns are run over: bounds the time that one long property can cost. */
export const REGEX_TEXT_CHARS_MAX = 10_000

const parseVersionOnce = memoizeLast(parseVersion)
const lowerAsciiOnce = memoizeLast(lowerAscii)
const lowerOnce = memoizeLast((text) => text.toLowerCase())

/** Steps charged for the start of a search. */
const SEARCH_STEPS = 50
/** Work per step of a substring search: characters of the text, and pairs of characters of text and substring. */
const CHARS_PER_STEP = 64
const PAIRS_PER_STEP = 1024

const never: ValueTest = () => false
const always: ValueTest = () => true
const contains = substringTest((text, part) => text.includes(part))
const startsWith = substringTest((text, part) => text.startsWith(part))
const endsWith = substringTest((text, part) => text.endsWith(part))

/** Every operator, in the order of the API's documentation. A new line is an operator that filters can use. */
export const OPERATORS: readonly FlagOperator[] = [
  has('exact', exactTest),
  hasNot('is_not', exactTest),
  { name: 'is_set', matches_missing: false, needs_value: false, prepare: () => always },
  { name: 'is_not_set', matches_missing: true, needs_value: false, prepare: () => never },
  has('icontains', contains),
  hasNot('not_icontains', contains),
  has('icontains_multi', contains),
  hasNot('not_icontains_multi', contains),
  has('starts_with', startsWith),
  hasNot('not_starts_with', startsWith),
  has('ends_with', endsWith),
  hasNot('not_ends_with', endsWith),
  has('regex', regexTest),
  hasNot('not_regex', regexTest),
  has(
    'gt',
    numberTest((difference) => difference > 0),
  ),
  has(
    'gte',
    numberTest((difference) => difference >= 0),
  ),
  has(
    'lt',
    numberTest((difference) => difference < 0),
  ),
  has(
    'lte',
    numberTest((difference) => difference <= 0),
  ),
  has('between', numberRangeTest(true)),
  { ...has('not_between', numberRangeTest(false)), matches_missing: true },
  has(
    'is_date_exact',
    dateTest((difference) => difference === 0),
  ),
  has(
    'is_date_before',
    dateTest((difference) => difference < 0),
  ),
  has(
    'is_date_after',
    dateTest((difference) => difference > 0),
  ),
  has(
    'semver_eq',
    versionTest((difference) => difference === 0),
  ),
  has(
    'semver_neq',
    versionTest((difference) => difference !== 0),
  ),
  has(
    'semver_gt',
    versionTest((difference) => difference > 0),
  ),
  has(
    'semver_gte',
    versionTest((difference) => difference >= 0),
  ),
  has(
    'semver_lt',
    versionTest((difference) => difference < 0),
  ),
  has(
    'semver_lte',
    versionTest((difference) => difference <= 0),
  ),
  has('semver_tilde', versionRangeTest(tildeRange)),
  has('semver_caret', versionRangeTest(caretRange)),
  has('semver_wildcard', versionRangeTest(wildcardRange)),
]

const BY_NAME: ReadonlyMap<string, FlagOperator> = new Map(
  OPERATORS.map((operator) => [operator.name, operator]),
)

/** The operator of this name; null if there is none. */
export function findOperator(name: string): FlagOperator | null {
  return BY_NAME.get(name) ?? null
}

function has(name: string, prepare: Prepare): FlagOperator {
  return { name, matches_missing: false, needs_value: true, prepare }
}

/** The opposite of an operator. It also holds for a missing property, but not for an invalid filter value. */
function hasNot(name: string, prepare: Prepare): FlagOperator {
  const prepareNot: Prepare = (filter_value) => {
    const test = prepare(filter_value)
    return test && ((value, now, work) => !test(value, now, work))
  }
  return { name, matches_missing: true, needs_value: true, prepare: prepareNot }
}

function exactTest(filter_value: unknown): ValueTest {
  if (isTruthWord(filter_value)) {
    const expected = isTrue(filter_value)
    return (value, _now, work) => {
      work.chargeReading(value)
      return isTrue(value) === expected
    }
  }
  const words = new Set(listOf(filter_value).map((item) => asText(item).toLowerCase()))
  return (value, _now, work) => words.has(lowerOnce(work.textOf(value)))
}

function substringTest(holds: (text: string, part: string) => boolean): Prepare {
  return (filter_value) => {
    const parts = listOf(filter_value).map((item) => lowerAscii(asText(item)))
    const chars = parts.reduce((sum, part) => sum + part.length, 0)
    const steps_per_char = parts.length / CHARS_PER_STEP + chars / PAIRS_PER_STEP
    return (value, _now, work) => {
      const text = lowerAsciiOnce(work.textOf(value))
      work.chargeTest(parts.length + text.length * steps_per_char)
      for (const part of parts) if (holds(text, part)) return true
      return false
    }
  }
}

function regexTest(filter_value: unknown): ValueTest | null {
  const pattern = compilePattern(asText(filter_value))
  if (pattern === null) return null
  return (value, _now, work) => {
    const text = work.textOf(value)
    if (text.length > REGEX_TEXT_CHARS_MAX) throw new FlagFailure('value_too_long')
    work.chargeTest(SEARCH_STEPS + pattern.instructions * text.length)
    return pattern.test(text)
  }
}

function numberTest(order: Order): Prepare {
  return (filter_value) => {
    const bound = asNumber(filter_value)
    if (bound === null) return never
    return (value, _now, work) => {
      work.chargeReading(value)
      const operand = asNumber(value)
      return operand !== null && order(operand - bound)
    }
  }
}

/** Builds the test of `between` or its negation, bounds included. A value that is no number fails both. */
function numberRangeTest(is_inside: boolean): Prepare {
  return (filter_value) => {
    const bounds = readRange(filter_value)
    if (typeof bounds === 'string') return never
    const [low, high] = bounds
    return (value, _now, work) => {
      work.chargeReading(value)
      const operand = asNumber(value)
      return operand !== null && (operand >= low && operand <= high) === is_inside
    }
  }
}

/** Reads the value of `between`: two numbers, the smaller first; for any other value the reason. */
export function readRange(filter_value: unknown): readonly [number, number] | string {
  if (!Array.isArray(filter_value) || filter_value.length !== 2)
    return 'requires a two-element array [min, max]'
  const [low, high] = filter_value.map(asNumber)
  if (typeof low !== 'number' || typeof high !== 'number') return 'requires numeric values'
  if (low <= high) return [low, high]
  return 'requires min value to be less than or equal to max value'
}

function dateTest(order: Order): Prepare {
  return (filter_value) => {
    const bound = parseDateBound(filter_value)
    if (bound === null) return never
    return (value, now, work) => {
      work.chargeReading(value)
      const moment_ms = parseDate(value)
      return moment_ms !== null && order(moment_ms - boundAt(bound, now))
    }
  }
}

function versionTest(order: Order): Prepare {
  return (filter_value) => {
    const bound = parseVersion(asText(filter_value))
    if (bound === null) return never
    return semverTest((semver) => order(compareVersions(semver, bound)))
  }
}

function versionRangeTest(parse: (text: string) => SemanticVersionRange | null): Prepare {
  return (filter_value) => {
    const range = parse(asText(filter_value))
    if (range === null) return never
    return semverTest(
      (semver) =>
        compareVersions(semver, range.from) >= 0 && compareVersions(semver, range.until) < 0,
    )
  }
}

function semverTest(holds: (semver: SemanticVersion) => boolean): ValueTest {
  return (value, _now, work) => {
    const semver = parseVersionOnce(work.textOf(value))
    return semver !== null && holds(semver)
  }
}

function listOf(filter_value: unknown): readonly unknown[] {
  return Array.isArray(filter_value) ? filter_value : [filter_value]
}
