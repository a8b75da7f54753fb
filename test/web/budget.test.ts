/** What the interface may weigh: the first load of every page, and what it adds to the executable. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { buildWeb, THOROUGHLY } from '../../src/web-build.ts'
import { packWeb, unpackWeb, type WebFile, type WebFiles } from '../../src/web-pack.ts'

setDefaultTimeout(60_000)

/** Bytes as sent, brotli 11. */
const FIRST_LOAD_MAX = 80_000
/** What the SQL page may load beyond the others, for its editor. */
const EDITOR_MAX = 130_000
const PACK_MAX = 1_000_000

const PAGES = join(import.meta.dir, '../../src/web/pages')
const NAMED_FILE = /\/ui\/([\w-]+\.(?:js|css))/g

const textOf = ({ brotli }: WebFile): string => brotliDecompressSync(brotli).toString()

/** The HTML of a page and every file that it names: script, styles, the chunks of the page. */
function firstLoad({ files, pages }: WebFiles, page: string): readonly WebFile[] {
  const html = pages.get(page)
  if (html === undefined) throw new Error(`no HTML for ${page}`)
  const names = new Set([...textOf(html).matchAll(NAMED_FILE)].map(([, name = '']) => name))
  const named = [...names].map((name) => {
    const file = files.get(name)
    if (file === undefined) throw new Error(`${page} names ${name}, which was not built`)
    return file
  })
  return [html, ...named]
}

const bytesOf = (files: readonly WebFile[]): number =>
  files.reduce((sum, { brotli }) => sum + brotli.length, 0)

describe('the built interface', () => {
  let web: WebFiles
  beforeAll(async () => {
    web = await buildWeb(THOROUGHLY)
  })

  const folders = readdirSync(PAGES).filter((name) =>
    readdirSync(join(PAGES, name)).includes('page.tsx'),
  )

  test('has an HTML of its own for every page, with the chunks of the page', () => {
    expect([...web.pages.keys()].toSorted()).toEqual(['', ...folders].toSorted())
    for (const folder of folders) {
      const html = web.pages.get(folder)
      expect([folder, html && textOf(html).includes('rel="modulepreload"')]).toEqual([folder, true])
    }
  })

  test.each(['', ...folders])('page "%s" loads within its budget', (folder) => {
    const max = folder === 'sql' ? FIRST_LOAD_MAX + EDITOR_MAX : FIRST_LOAD_MAX
    expect(bytesOf(firstLoad(web, folder))).toBeLessThanOrEqual(max)
  })

  test('adds at most 1 MB to the executable', () => {
    expect(packWeb(web).length).toBeLessThanOrEqual(PACK_MAX)
  })

  test('has one style sheet', () => {
    expect([...web.files.keys()].filter((name) => name.endsWith('.css'))).toHaveLength(1)
  })

  test('asks nothing of other servers, and has no source map', () => {
    for (const { name, brotli } of web.files.values()) {
      const text = brotliDecompressSync(brotli).toString()
      expect([name, text.includes('sourceMappingURL')]).toEqual([name, false])
      const imports = [...text.matchAll(/(?:from|import\(?)\s*["'](https?:[^"']+)/g)]
      expect([name, imports.map(([, address]) => address)]).toEqual([name, []])
      expect([name, /@import|url\(\s*["']?https?:/.test(text)]).toEqual([name, false])
    }
  })

  test('is the same in both encodings, and after packing', () => {
    const unpacked = unpackWeb(new Uint8Array(packWeb(web)))
    expect([...unpacked.files.keys()]).toEqual([...web.files.keys()])
    expect([...unpacked.pages.keys()]).toEqual([...web.pages.keys()])
    for (const [name, file] of web.files) {
      const other = unpacked.files.get(name)
      expect(other).toEqual(file)
      expect(gunzipSync(file.gzip).toString()).toBe(textOf(file))
    }
  })
})

test('the sheet has only colours of its own tokens: contrast is checked for those', () => {
  const sheets = [
    ...new Bun.Glob('src/web/**/*.module.css').scanSync(join(import.meta.dir, '../..')),
  ]
  expect(sheets.length).toBeGreaterThan(10)
  const strange = sheets.flatMap((path) => {
    const css = readFileSync(join(import.meta.dir, '../..', path), 'utf8')
    const colours = css.match(/#[0-9a-f]{3,8}\b|\brgba?\([^)]*\)|\bhsla?\([^)]*\)/gi) ?? []
    return colours.map((colour) => `${path}: ${colour}`)
  })
  expect(strange).toEqual([])
})
