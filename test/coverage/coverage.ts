/**
 * How much of the original's API is here: every operation of its public description against our routes. The operations
 * are facts (method and path) from operations.tsv, gathered in November 2026 from a client that was generated from the
 * public OpenAPI description (October 2025) and from the command line tool that the original publishes (0.18.3).
 */
import { join } from 'node:path'
import { ROUTES } from '../../src/app.ts'

/** What a call of an operation is answered. */
export type CoverageState =
  /** By what it is for. */
  | 'works'
  /** 405: the object is here, but not this way to change it. */
  | 'refused'
  /** 404, or 400 where its name is read as an id. */
  | 'absent'

export type CoveredOperation = {
  readonly method: string
  /** With `{}` for what differs; environments are written as projects. */
  readonly path: string
  /** The first constant segment below the project or organization. */
  readonly family: string
  readonly state: CoverageState
}

const FOLDER = import.meta.dir
export const LIST_FILE = join(FOLDER, '../../.github/COVERAGE.md')
export const README_FILE = join(FOLDER, '../../README.md')
const START = '<!-- coverage: written by `bun run coverage` -->'
const END = '<!-- /coverage -->'

/** Reads the original's operations and compares them with our routes. */
export async function readCoverage(): Promise<readonly CoveredOperation[]> {
  const text = await Bun.file(join(FOLDER, 'operations.tsv')).text()
  const stateOf = stateFinder()
  return text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [method = '', path = ''] = line.split('\t')
      return { method, path, family: familyOf(path), state: stateOf(method, path) }
    })
}

function stateFinder(): (method: string, path: string) => CoverageState {
  const ours = ROUTES.flatMap(({ method, paths }) =>
    paths.map((path) => ({
      method,
      line: `${method} ${withoutNames(path)}`,
      pattern: new RegExp(`^${withoutNames(path).replaceAll('{}', '[^/]+')}$`),
    })),
  )
  const lines = new Set(ours.map(({ line }) => line))
  return (method, path) => {
    if (lines.has(`${method} ${path}`)) return 'works'
    const methods = ours.flatMap((one) => (one.pattern.test(path) ? one.method : []))
    return methods.length > 0 && !methods.some((one) => one === method) ? 'refused' : 'absent'
  }
}

function withoutNames(path: string): string {
  return path.replaceAll(/:\w+/g, '{}').replace('/api/environments/{}', '/api/projects/{}')
}

function familyOf(path: string): string {
  const words = path.split('/').slice(2, -1)
  if (words[0] === 'organizations' && words[2] === 'projects') return 'projects'
  const is_nested = words[0] === 'projects' || words[0] === 'organizations'
  return (is_nested ? words[2] : words[0]) ?? words[0] ?? ''
}

/** Writes the whole list as Markdown. */
export function printList(operations: readonly CoveredOperation[]): string {
  const families = [...Map.groupBy(operations, ({ family }) => family)].toSorted(byName)
  const sections = families.map(([family, own]) => {
    const works = own.filter(({ state }) => state === 'works').length
    const lines = own.map(({ method, path, state }) => `- ${state}: \`${method} ${path}\``)
    return [`## ${family}: ${works} of ${own.length}`, '', ...lines, ''].join('\n')
  })
  return [
    "# The original's operations, one by one",
    '',
    'Written by `bun run coverage`; a test compares it with the routes, and calls every operation.',
    '',
    '- works: answered by what it is for',
    '- refused: 405, the object is here, but is changed another way (deleting is a change of `deleted`)',
    '- absent: 404, or 400 where a name is read as an id',
    '',
    '`{}` stands for an id; what is under `projects` is under `environments` too.',
    '',
    ...sections,
  ].join('\n')
}

/** Writes the totals as Markdown, for the README. */
export function printTotals(operations: readonly CoveredOperation[]): string {
  const count = (state: CoverageState): number =>
    operations.filter((one) => one.state === state).length
  const sum = `Of the ${operations.length.toLocaleString('en')} operations in the original's public description, ${count('works')} work here, ${count('refused')} are refused with 405, and ${count('absent')} answer 404`
  return [START, `${sum}: see [each of them, by family](.github/COVERAGE.md).`, END].join('\n')
}

/** Replaces the totals in the text of the README. Throws where the marks are missing. */
export function withTotals(readme: string, totals: string): string {
  const [start, end] = [readme.indexOf(START), readme.indexOf(END)]
  if (start === -1 || end === -1) throw new Error('the README has no place for the totals')
  return readme.slice(0, start) + totals + readme.slice(end + END.length)
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1
