/** Reading case files: blocks of lines, a title after `--`, then what was asked and what is expected. */

import { readFileSync } from 'node:fs'

/** One query of a `.sql` case file, the SQL it becomes, and the rows it gives, as JSON. */
export type PassCase = {
  readonly title: string
  readonly hogql: string
  readonly sql: string
  readonly rows: string
}

/** Reads `cases/<name>.sql`. */
export function readPassCases(name: string): readonly PassCase[] {
  return readFileSync(new URL(`./cases/${name}.sql`, import.meta.url), 'utf8')
    .split('\n\n')
    .map((block) => block.trim().split('\n'))
    .filter((lines) => lines.length >= 4)
    .map(([title = '', hogql = '', sql = '', rows = '']) => ({
      title: title.replace(/^-- /, ''),
      hogql,
      sql,
      rows: rows.replace(/^-- /, ''),
    }))
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
