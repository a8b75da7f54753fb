/** Reads case files: blocks of lines, a title after `--`, then the query and what is expected. */

import { readFileSync } from 'node:fs'

/** One query of a `.sql` case file, the SQL it becomes, and the rows it gives, as JSON. */
export type PassCase = {
  readonly title: string
  readonly hogql: string
  readonly sql: string
  readonly rows: string
}

/** Reads `cases/<name>.sql`: per block a title, the HogQL, its SQL in lines as `formatSQL` breaks them, and the rows. */
export function readPassCases(name: string): readonly PassCase[] {
  return readFileSync(new URL(`./cases/${name}.sql`, import.meta.url), 'utf8')
    .split('\n\n')
    .map((block) => block.trimEnd().split('\n'))
    .filter((lines) => lines.length >= 4)
    .map(([title = '', hogql = '', ...rest]) => ({
      title: title.replace(/^-- /, ''),
      hogql,
      sql: rest.slice(0, -1).join('\n'),
      rows: (rest.at(-1) ?? '').replace(/^-- /, ''),
    }))
}

const CLAUSE =
  / ((?:FROM|WHERE|GROUP BY|HAVING|QUALIFY|ORDER BY|LIMIT|OFFSET|UNION|INTERSECT|EXCEPT|(?:[A-Z]+ )*JOIN) )/y

/** Breaks printed SQL before each clause of a select, indented by the depth of sub-selects, so that changes can be reviewed. */
export function formatSQL(sql: string): string {
  // Per open bracket: the indentation inside it, or null where it contains no select.
  const brackets: (number | null)[] = [0]
  let text = ''
  let quote: string | null = null
  for (let at = 0; at < sql.length; at += 1) {
    const character = sql.charAt(at)
    if (quote !== null) quote = character === quote ? null : quote
    else if (character === "'" || character === '"') quote = character
    else if (character === '(') {
      const depth = brackets.filter((indent) => indent !== null).length
      brackets.push(/^\((?:SELECT|WITH) /.test(sql.slice(at, at + 8)) ? depth : null)
    } else if (character === ')') brackets.pop()
    CLAUSE.lastIndex = at
    const indent = quote === null ? (brackets.at(-1) ?? null) : null
    const words = indent === null ? null : (CLAUSE.exec(sql)?.[1] ?? null)
    if (indent === null || words === null) text += character
    else {
      text += `\n${'  '.repeat(indent)}${words}`
      at += words.length
    }
  }
  return text
}

/** Reads the tab-separated lines of `cases/<name>.tsv`, comments left out. */
export function readTable(name: string): readonly (readonly [string, string, string])[] {
  return readFileSync(new URL(`./cases/${name}.tsv`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [asked = '', types = '', answer = ''] = line.split('\t')
      return [asked, types, answer] as const
    })
}
