/**
 * `security-findings.tsv` lists the findings of a security review, each with the test that failed before it was mended.
 * Where something is left by decision, the row has the file and the sentence that state it.
 */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'

const ROOT = join(import.meta.dir, '..')

const numbered = (letter: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)
/** N: what later readings found. */
const IDS = [
  ...numbered('C', 1),
  ...numbered('H', 7),
  ...numbered('M', 8),
  ...numbered('L', 17),
  ...numbered('N', 36),
]

type Finding = {
  readonly id: string
  readonly was_possible: string
  readonly file: string
  readonly title: string
}

const findings = readFileSync(join(import.meta.dir, 'security-findings.tsv'), 'utf8')
  .trimEnd()
  .split('\n')
  .slice(1)
  .map((line): Finding => {
    const [id = '', was_possible = '', file = '', title = ''] = line.split('\t')
    return { id, was_possible, file, title }
  })

/** Titles of tests that run: the first argument of `test(…)` and of `test.each(…)(…)`, of each place in a file. */
function titlesOf(text: string): ReadonlySet<string> {
  const titles = new Set<string>()
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item)
    else if (typeof node === 'object' && node !== null) {
      const { type, callee, arguments: given } = node as Record<string, unknown>
      const [title] = Array.isArray(given) ? (given as { readonly value?: unknown }[]) : []
      if (type === 'CallExpression' && isTest(callee) && typeof title?.value === 'string')
        titles.add(title.value)
      for (const child of Object.values(node)) visit(child)
    }
  }
  visit(parseSync('file.ts', text).program)
  return titles
}

/** `test`, `test.each(…)` and `test.skipIf(…)`, which runs in check:long, but not `test.todo` or `test.skip`. */
function isTest(callee: unknown): boolean {
  const { type, name, object, property, callee: inner } = callee as Record<string, unknown>
  if (type === 'Identifier') return name === 'test'
  if (type === 'CallExpression') return isTest(inner)
  if (type !== 'MemberExpression') return false
  const { name: how } = property as { readonly name: string }
  return isTest(object) && (how === 'each' || how === 'skipIf')
}

/** Without the line breaks and comment signs within a sentence. */
const proseOf = (text: string): string => text.replaceAll(/\s+(?:# )?/g, ' ')

function isStated({ file, title }: Finding): boolean {
  const path = join(ROOT, file)
  if (!existsSync(path)) return false
  const text = readFileSync(path, 'utf8')
  return file.endsWith('.test.ts') ? titlesOf(text).has(title) : proseOf(text).includes(title)
}

describe('findings of the security review', () => {
  test('are all listed, in order, and nothing else is', () => {
    expect([...new Set(findings.map(({ id }) => id))]).toEqual([...IDS])
    expect(findings.filter(({ was_possible }) => was_possible === '')).toEqual([])
  })

  test('each have a test that runs, or a sentence that says why not', () => {
    expect(findings.filter((finding) => !isStated(finding))).toEqual([])
  })

  test.each([
    ["test('a', () => {})", true],
    ["describe('b', () => { test.each([1])('a', () => {}) })", true],
    ["test.skipIf(true)('a', () => {})", true],
    ["test.todo('a')", false],
    ["test.skip('a', () => {})", false],
    ["describe('a', () => {})", false],
    ["// test('a')", false],
  ])('are looked for by the titles of tests: %s', (text, is_found) => {
    expect(titlesOf(text).has('a')).toBe(is_found)
  })
})
