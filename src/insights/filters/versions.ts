/**
 * Version comparison (1.2.3) in queries: three numbers; other text before and after is ignored, as
 * in flags.
 */
import { type Refusal, refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { call, compare, constant, NOWHERE } from '../../hogql/syntax/nodes.ts'

type VersionNumbers = readonly [bigint, bigint, bigint]
type VersionNumberRange = { readonly from: VersionNumbers; readonly until: VersionNumbers }

/** Up to three numbers; text after a fourth point, a minus or a plus is ignored. */
const VERSION = String.raw`^\s*[vV]?\d{1,18}(\.(\d{0,18}(\.(\d{0,18}(\.[^+-]*)?)?)?)?)?\s*([+-]|$)`
/** Each of the three numbers, where present. */
const NUMBERS = [
  String.raw`^\s*[vV]?(\d+)`,
  String.raw`^\s*[vV]?\d+\.(\d+)`,
  String.raw`^\s*[vV]?\d+\.\d*\.(\d+)`,
] as const

/**
 * The condition that a version compares so to another; false for other texts. Refuses a `value`
 * that is not a version.
 */
export function versionIs(
  side: Expr,
  op: '<' | '<=' | '==' | '>' | '>=',
  value: string,
  attr: string,
): Expr {
  return whereVersion(side, compare(versionOf(side), op, literal(readVersion(value, attr))))
}

/** The meaning of ranges: ~1.2.3 is 1.2.*, ^1.2.3 is 1.*, both from the version itself on. */
const RANGES = {
  tilde: (text: string, attr: string): VersionNumberRange => {
    const from = readVersion(text, attr)
    return { from, until: [from[0], from[1] + 1n, 0n] }
  },
  caret: (text: string, attr: string): VersionNumberRange => {
    const from = readVersion(text, attr)
    const [major, minor, patch] = from
    // The first nonzero number is fixed.
    if (major > 0n) return { from, until: [major + 1n, 0n, 0n] }
    return { from, until: minor > 0n ? [0n, minor + 1n, 0n] : [0n, 0n, patch + 1n] }
  },
  wildcard: readWildcard,
} as const

/** The condition that a version is in a range. Refuses a `value` that is not one. */
export function versionIn(
  side: Expr,
  range: keyof typeof RANGES,
  value: string,
  attr: string,
): Expr {
  const { from, until } = RANGES[range](value, attr)
  const number = versionOf(side)
  const within = [compare(number, '>=', literal(from)), compare(number, '<', literal(until))]
  return whereVersion(side, call('and', within))
}

/** Exceeds every number of a version. */
const ENDLESS = 10n ** 18n

/** Parses 1.*, 1.2.*, and * for any version; a star can only be last. */
function readWildcard(text: string, attr: string): VersionNumberRange {
  const match = /^\s*v?(?:(\d{1,18})\.)?(?:(\d{1,18})\.)?\*(?:\.\*)*\s*$/i.exec(text)
  if (match === null) throw noVersion(text, attr)
  const [, major, minor] = match
  if (major === undefined) return { from: [0n, 0n, 0n], until: [ENDLESS, 0n, 0n] }
  const first = BigInt(major)
  if (minor === undefined) return { from: [first, 0n, 0n], until: [first + 1n, 0n, 0n] }
  const second = BigInt(minor)
  return { from: [first, second, 0n], until: [first, second + 1n, 0n] }
}

function readVersion(text: string, attr: string): VersionNumbers {
  if (!new RegExp(VERSION).test(text)) throw noVersion(text, attr)
  const [major = 0n, minor = 0n, patch = 0n] = NUMBERS.map((pattern) =>
    BigInt(new RegExp(pattern).exec(text)?.[1] ?? 0),
  )
  return [major, minor, patch]
}

function whereVersion(side: Expr, condition: Expr): Expr {
  const is_version = call('match', [call('toString', [side]), constant(VERSION)])
  return call('ifNull', [call('and', [is_version, condition]), constant(false)])
}

function versionOf(side: Expr): Expr {
  const exprs = NUMBERS.map((pattern) =>
    call('toIntOrZero', [call('extract', [call('toString', [side]), constant(pattern)])]),
  )
  return { kind: 'Array', ...NOWHERE, exprs }
}

const literal = (version: VersionNumbers): Expr => ({
  kind: 'Array',
  ...NOWHERE,
  exprs: version.map((number) => constant(number)),
})

function noVersion(text: string, attr: string): Refusal {
  return refuseMember(`Not a version: ${JSON.stringify(text.slice(0, 100))}`, attr)
}
