/** Semantic versions in flag filters: three numbers; a prefix `v`, pre-release and build are ignored. */

export type SemanticVersion = readonly [number, number, number]

/** Versions from `from` up to `until`, exclusive. */
export type SemanticVersionRange = {
  readonly from: SemanticVersion
  readonly until: SemanticVersion
}

/** Characters of a version that are parsed. */
const CHARS_MAX = 1000
/** Up to three numbers; the text after a third point, a minus or a plus is ignored. */
const VERSION = /^\s*v?(\d+)(?:\.(\d*)(?:\.(\d*)(?:\.[^+-]*)?)?)?\s*(?:[+-]|$)/i

/** Reads "v1.2.3-beta+7" as 1.2.3 and pads "1.2" to 1.2.0; null if a part is not a number. */
export function parseVersion(text: string): SemanticVersion | null {
  const parts = VERSION.exec(text.slice(0, CHARS_MAX))
  // An empty part, as in "1..2", counts as zero.
  return parts && [Number(parts[1]), Number(parts[2] ?? 0), Number(parts[3] ?? 0)]
}

/** Negative when a comes before b, 0 when they are the same. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

/** ~1.2.3: the same minor version, not older. */
export function tildeRange(text: string): SemanticVersionRange | null {
  const from = parseVersion(text)
  return from && { from, until: [from[0], from[1] + 1, 0] }
}

/** ^1.2.3: not older, and the first number that is not zero unchanged. */
export function caretRange(text: string): SemanticVersionRange | null {
  const from = parseVersion(text)
  if (!from) return null
  const [major, minor, patch] = from
  if (major > 0) return { from, until: [major + 1, 0, 0] }
  return { from, until: minor > 0 ? [0, minor + 1, 0] : [0, 0, patch + 1] }
}

/** 1.*, 1.2.*, and * for any version; a star may only be last. */
export function wildcardRange(text: string): SemanticVersionRange | null {
  const bare = text.trim().replace(/^v/i, '')
  if (/^\*(?:\.\*)*$/.test(bare)) return { from: [0, 0, 0], until: [Infinity, 0, 0] }
  const parts = bare.split('.')
  while (parts.length > 1 && parts.at(-1) === '*') parts.pop()
  const last = parts.pop() ?? ''
  const [major, minor] = [...parts, last.replace(/\*$/, '')].map((part) =>
    /^\d+$/.test(part) ? Number(part) : null,
  )
  if (major === undefined || major === null || minor === null) return null
  if (minor === undefined) return { from: [major, 0, 0], until: [major + 1, 0, 0] }
  return { from: [major, minor, 0], until: [major, minor + 1, 0] }
}
