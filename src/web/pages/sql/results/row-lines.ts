/** Rows from lines of JSON objects. */
import type { SqlRow } from './cells.ts'

/** A function that reads a line, `{"a":1,"b":2}`, as the values of its columns. */
export function lineReader(columns: readonly string[]): (line: string) => SqlRow {
  // Ten times slower than by names, of which `JSON.parse` keeps only the last of equal ones.
  if (new Set(columns).size < columns.length) return (line) => JSON.parse(listText(line)) as SqlRow
  return (line) => {
    const row = JSON.parse(line) as Readonly<Record<string, unknown>>
    return columns.map((name) => row[name])
  }
}

/**
 * Strings, with the colon of a member's name, and brackets: all that the structure of a JSON text depends on. A string
 * without an end matches too, so that no text is searched for ends again and again.
 */
const TOKEN = /"(?:[^"\\]|\\[^])*(?:":?|\\?$)|[[\]{}]/g

/** An object as the list of its values: `{"a":1,"a":{"b":2}}` → `[1,{"b":2}]`. */
function listText(line: string): string {
  let depth = 0
  return line.replaceAll(TOKEN, (token) => {
    if (token === '{' || token === '[') {
      depth += 1
      return depth === 1 ? '[' : token
    }
    if (token === '}' || token === ']') {
      depth -= 1
      return depth === 0 ? ']' : token
    }
    return depth === 1 && token.endsWith(':') ? '' : token
  })
}
