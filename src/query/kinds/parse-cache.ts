/** HogQL texts that were read lately: dashboards ask the same ones again and again. */
import type { Select } from '../../hogql/ast.ts'
import { parseSelect } from '../../hogql/parser.ts'
import { printHogQL } from '../../hogql/print-hogql.ts'
import { ClockCache } from '../../storage/clock-cache.ts'

export type ParsedText = {
  readonly tree: Select
  /** The same for texts that ask the same in other words. */
  readonly canonical: string
}

/** Trees take fifty bytes for each character: all of them together at most forty megabytes. */
const TEXTS_MAX = 200
/** Longer ones are rare. */
const LENGTH_MAX = 4_000

// A text always has the same tree, so remembering it changes no answer.
const known = new ClockCache<ParsedText>(TEXTS_MAX)

/** Reads a text. Refuses (`invalid_input`, with the place) one that is not HogQL. */
export function parseText(text: string): ParsedText {
  const found = known.get(text)
  if (found !== undefined) return found
  const tree = parseSelect(text)
  const parsed = { tree, canonical: printHogQL(tree) }
  if (text.length <= LENGTH_MAX) known.set(text, parsed)
  return parsed
}
