/** Conversions by which flag operators read a JSON value: as text, number or boolean. */

import { isObject } from '../../json.ts'

/** Properties of a person or group from parsed JSON: only own keys count. */
export type FlagProperties = { readonly [key: string]: unknown }

/** The value of an own property, else undefined. */
export function ownProperty(properties: FlagProperties, key: string): unknown {
  return Object.hasOwn(properties, key) ? properties[key] : undefined
}

/** The text that string operators test: a string as it is, anything else as compact JSON with sorted keys. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return String(value)
  return JSON.stringify(value, (_key, part: unknown) => (isObject(part) ? sortKeys(part) : part))
}

/** Characters of an identifier that are hashed, as on PostHog. */
const IDENTIFIER_CHARS_MAX = 200

/** Characters of a group key, as ingestion stores it. */
const GROUP_KEY_CHARS_MAX = 400

/** A distinct id or device id (any JSON value) as the text that is hashed. */
export function identifierOf(value: unknown): string {
  return startOf(asText(value), IDENTIFIER_CHARS_MAX)
}

/** A group key as the text that is hashed. */
export function groupKeyOf(value: unknown): string {
  return startOf(asText(value), GROUP_KEY_CHARS_MAX)
}

function startOf(text: string, chars_max: number): string {
  if (text.length <= chars_max) return text
  // A character has at most two UTF-16 units.
  return Array.from(text.slice(0, 2 * chars_max))
    .slice(0, chars_max)
    .join('')
}

/** Lower case of A–Z only: the case folding of the substring operators. */
export function lowerAscii(text: string): string {
  const lower = text.toLowerCase()
  // Most texts are lower case already; for pure ASCII the built-in function is equal and far faster.
  if (lower === text || isAscii(text)) return lower
  return text.replace(/[A-Z]+/g, (codes) => codes.toLowerCase())
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) > 0x7f) return false
  }
  return true
}

/**
 * Caches the last result of a pure function: the flags of a project read the same property of a person one after
 * another.
 */
export function memoizeLast<Result>(read: (text: string) => Result): (text: string) => Result {
  let last: { readonly text: string; readonly result: Result } | null = null
  return (text) => {
    if (last === null || last.text !== text) last = { text, result: read(text) }
    return last.result
  }
}

/** Longer texts are no numbers. */
const NUMBER_CHARS_MAX = 1000
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** A number, also as decimal text, else null. No spaces, hex or infinities. */
export function asNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string' || value.length > NUMBER_CHARS_MAX) return null
  if (!DECIMAL.test(value)) return null
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

/** Whether a filter's value compares as a boolean instead of text: true, "False", ["true"], and the empty list. */
export function isTruthWord(value: unknown): boolean {
  if (typeof value === 'boolean') return true
  if (typeof value === 'string') return /^(?:true|false)$/i.test(value)
  return Array.isArray(value) && value.every(isTruthWord)
}

/** Whether a value counts as true: true, the word in any case, a list of only those. */
export function isTrue(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string') return value.length === 4 && value.toLowerCase() === 'true'
  return Array.isArray(value) && value.every(isTrue)
}

function sortKeys(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sorted: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(record).toSorted()) sorted[key] = record[key]
  return sorted
}
