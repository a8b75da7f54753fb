/** Breaks a query into lines: the server prints it on one. */

const BREAKS_BEFORE: ReadonlySet<string> = new Set([
  'SELECT',
  'FROM',
  'WHERE',
  'GROUP',
  'ORDER',
  'HAVING',
  'LIMIT',
  'UNION',
  'LEFT',
  'INNER',
  'WITH',
])

/** One token: a quoted text or name (to the end where the closing quote is missing), a word, a run of spaces, any other character. */
const TOKEN = /'(?:[^'\\]|\\.?)*'?|`[^`]*`?|"[^"]*"?|\w+|\s+|[^\w\s]/gsu

/** Puts each clause on a line of its own, indented by the depth of its query; texts in quotes stay as they are. */
export function brokenIntoLines(query: string): string {
  let depth = 0
  let text = ''
  /** For each open bracket, whether a query follows it. */
  const open: boolean[] = []
  const tokens = query.match(TOKEN) ?? []
  for (const [index, token] of tokens.entries()) {
    if (token === '(') {
      const is_query = tokens[index + 1] === 'SELECT' || tokens[index + 1] === 'WITH'
      open.push(is_query)
      if (is_query) depth += 1
      text += token
    } else if (token === ')') {
      const was_query = open.pop() === true
      if (was_query) depth -= 1
      text += was_query ? `\n${'  '.repeat(depth)})` : token
    } else if (BREAKS_BEFORE.has(token) && (open.length === 0 || open.at(-1) === true)) {
      text = text.trimEnd()
      if (text !== '') text += `\n${'  '.repeat(depth)}`
      text += token
    } else text += token
  }
  return text
}
