/** No regular expression of the house is superlinear: what strangers send is matched in time that grows with its length only. */
import { describe, expect, test } from 'bun:test'
import { execSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Expression, parseSync, Visitor } from 'oxc-parser'
import { type Attack, findAttack } from './backtracking.ts'

const ROOT = join(import.meta.dir, '..')

/** An expression of a source file, as written there. */
type Found = { readonly file: string; readonly code: string }
/** A literal, or a construction from one; `source` is null where the file does not say it. */
type Written = Found & { readonly source: string | null; readonly flags: string }
/** An expression that may stay as it is, because its text is bounded or not of strangers. */
type Exception = Found & { readonly reason: string }

const EXCEPTIONS: readonly Exception[] = [
  {
    file: 'src/insights/filters/versions.ts',
    code: 'new RegExp(pattern)',
    reason:
      'one of the file’s constants, each anchored, matched with what the one before it accepted',
  },
]

const isException = (found: Found): boolean =>
  EXCEPTIONS.some(({ file, code }) => file === found.file && code === found.code)

/** Every regular expression of a file: literals, `RegExp(…)` and `new RegExp(…)`. */
function expressionsIn(file: string, text: string): readonly Written[] {
  const { program } = parseSync(file, text)
  const found: Written[] = []
  const constants = new Map<string, Expression>()
  const constructed: { code: string; of: Expression | undefined; flags: unknown }[] = []
  const construct = (node: {
    start: number
    end: number
    callee: Expression
    arguments: readonly unknown[]
  }) => {
    if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return
    const [of, flags] = node.arguments as readonly (Expression | undefined)[]
    constructed.push({
      code: text.slice(node.start, node.end),
      of,
      flags: flags?.type === 'Literal' ? flags.value : '',
    })
  }
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init !== null) constants.set(id.name, init)
    },
    Literal(node) {
      if (!('regex' in node)) return
      const { pattern: source, flags } = node.regex
      found.push({ file, code: node.raw ?? '', source, flags })
    },
    NewExpression: construct,
    CallExpression: construct,
  }).visit(program)
  for (const { code, of, flags } of constructed) {
    const named = of?.type === 'Identifier' ? constants.get(of.name) : of
    // A literal is in the list already.
    if (named?.type === 'Literal' && 'regex' in named) continue
    found.push({ file, code, source: textOf(named), flags: String(flags) })
  }
  return found
}

/** The text of a literal, of a template without places, or of one tagged with String.raw. */
function textOf(node: Expression | undefined): string | null {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  const template = node?.type === 'TaggedTemplateExpression' ? node.quasi : node
  if (template?.type !== 'TemplateLiteral' || template.quasis.length !== 1) return null
  const [quasi] = template.quasis
  const is_raw = node?.type === 'TaggedTemplateExpression'
  return (is_raw ? quasi?.value.raw : quasi?.value.cooked) ?? null
}

type Fault = Found & { readonly fault: Attack | 'cannot be read here' }

function faultsIn(expressions: readonly Written[]): readonly Fault[] {
  return expressions.flatMap(({ file, code, source, flags }) => {
    const fault = source === null ? 'cannot be read here' : findAttack(source, flags)
    return fault === null ? [] : [{ file, code, fault }]
  })
}

const sourceFiles = execSync('git ls-files src', { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file.endsWith('.ts'))

const expressions = sourceFiles.flatMap((file) =>
  expressionsIn(file, readFileSync(join(ROOT, file), 'utf8')),
)

describe('regular expressions', () => {
  test('take time that grows with the text only, or are excepted for a reason', () => {
    expect(expressions.length).toBeGreaterThan(200)
    expect(faultsIn(expressions.filter((one) => !isException(one)))).toEqual([])
  })

  test('that are excepted exist', () => {
    const gone = EXCEPTIONS.filter(
      ({ file, code }) => !expressions.some((one) => one.file === file && one.code === code),
    )
    expect(gone).toEqual([])
  })

  test.each([
    // exponential: nested repetitions, and alternatives that overlap
    [String.raw`^(a+)+$`, ''],
    [String.raw`^(?:a|a)*$`, ''],
    [String.raw`^(?:[a-z]+\s?)+$`, ''],
    // polynomial: neighbours that overlap, anchored
    [String.raw`^\d+\.?\d*$`, ''],
    [String.raw`^\s*\w*\s*\w*\s*;`, ''],
    // polynomial: entered at every place
    [String.raw`\s+$`, ''],
    [String.raw`\/+$`, 'g'],
    [String.raw`^-+|-+$`, 'g'],
    [String.raw`x.*y`, ''],
    [String.raw`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`, 'g'],
    [String.raw`([^\s="]+?)="((?:[^"\\]|\\.)*)"`, 'g'],
    [String.raw`\s*(>)\s*|\s+(?![^[]*\])`, ''],
    [String.raw`Input: ?".*$`, ''],
    [String.raw`a{0,200}a{0,200}b`, ''],
  ])('refuse /%s/%s', (source, flags) => {
    expect(findAttack(source, flags)).not.toBeNull()
  })

  test.each([
    [String.raw`^\d+(?:\.\d*)?$`, ''],
    [String.raw`\d`, 'g'],
    [String.raw`[^a-z0-9]+`, 'g'],
    [String.raw`^(?:a|b)*$`, ''],
    [String.raw`^(?:[a-z]+\s)+$`, ''],
    [String.raw`a{1,8}b`, ''],
    [String.raw`"(?:[^"\\]|\\[^])*(?:"|\\?$)`, 'g'],
  ])('allow /%s/%s', (source, flags) => {
    expect(findAttack(source, flags)).toBeNull()
  })

  test('are found as literals and as constructions, also from constants', () => {
    const text = String.raw`
      const A = String.raw${'`'}\s+$${'`'}
      const B = /b+$/g
      export const used = [new RegExp(A), RegExp('c+$', 'g'), new RegExp(B), new RegExp(other)]`
    expect(expressionsIn('x.ts', text).map(({ source, flags }) => [source, flags])).toEqual([
      ['b+$', 'g'],
      [String.raw`\s+$`, ''],
      ['c+$', 'g'],
      [null, ''],
    ])
  })
})
