/** The Markdown of this repository: its links lead somewhere, and the settings it names exist. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dir, '..')

const list = (pattern: string): readonly string[] =>
  Array.from(new Bun.Glob(pattern).scanSync({ cwd: ROOT, dot: true }))
    .filter((file) => !file.includes('node_modules'))
    .toSorted()

const pages = [
  ...list('*.md'),
  ...list('docs/*.md'),
  ...list('.github/*.md'),
  ...list('src/**/*.md'),
]
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** The address of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)))

/** The links of a page that lead to no file, or to no heading in it. */
function brokenLinks(page: string, text: string): readonly string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g)].flatMap((found) => {
    const link = found[1] ?? found[2] ?? ''
    if (/^https?:/.test(link)) return []
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : join(dirname(page), path)
    if (!existsSync(join(ROOT, target))) return [`${page}: ${link}`]
    const is_there =
      anchor === undefined || anchorsOf(target === page ? text : textOf(target)).has(anchor)
    return is_there ? [] : [`${page}: ${link}`]
  })
}

describe('the documentation', () => {
  test('has no link that leads nowhere', () => {
    expect(pages.length).toBeGreaterThan(30)
    expect(pages.flatMap((page) => brokenLinks(page, textOf(page)))).toEqual([])
    expect(
      brokenLinks('README.md', '[a](docs/nothing.md) [b](#nothing) [c](docs/settings.md#https)'),
    ).toEqual(['README.md: docs/nothing.md', 'README.md: #nothing'])
  })

  test('is reached from the README, each page of docs/', () => {
    const readme = textOf('README.md')
    expect(list('docs/*.md').filter((page) => !readme.includes(`(${page})`))).toEqual([])
  })

  test('names no setting that does not exist', () => {
    const sources = list('src/**/*.ts').map(textOf).join('\n')
    const names = pages.flatMap(
      (page) => textOf(page).match(/\bTIDEMARK_[A-Z\d_]*[A-Z\d]\b/g) ?? [],
    )
    expect([...new Set(names)].filter((name) => !sources.includes(name))).toEqual([])
  })
})
