/** Markup in surveys: what looks stays, what acts goes, whatever is written. */
import { describe, expect, test } from 'bun:test'
import { array, assert, constantFrom, property } from 'fast-check'
import { MarkupCleaner, TooMuchMarkup } from '../../../src/targeting/surveys/survey-markup.ts'
import { randomRuns } from '../../random-runs.ts'

const cleanMarkup = (text: string) => new MarkupCleaner().clean(text)

/** What markup is made of, whole and torn. */
const PIECES = [
  '<b>',
  '</b>',
  '<script>',
  '</script>',
  '<img src=x onerror=alert(1)>',
  '<',
  '>',
  'a',
  ' ',
  '<noscript>',
  '</noscript>',
  '<!--',
  '-->',
  '"',
  '<a href="javascript:x">',
  '<svg/onload=1>',
  '<textarea>',
  '</textarea>',
  '<template>',
  '<p title="<script>">',
  '&lt;',
  'scr',
  'ipt>',
  '<style>',
  '</style>',
  '<title>',
  '<xmp>',
  '</xmp>',
  '<![CDATA[',
  ']]>',
  '<?x',
  "'",
]

describe('text with markup', () => {
  test.each([
    ['How was it?', 'How was it?'],
    ['1 < 2 && 3 > 2', '1 < 2 && 3 > 2'],
    ['<b>Bold</b> and <i class="x">plain</i>', '<b>Bold</b> and <i>plain</i>'],
    ['<p style="color:red" onclick="go()">x</p>', '<p style="color:red;">x</p>'],
    ['<script>alert(1)</script>left', 'left'],
    ['<SCRIPT>alert(1)</SCRIPT>left', 'left'],
    ['<form><b>x</b></form>', '<b>x</b>'],
    ['<!-- c --><b>x</b>', '<b>x</b>'],
    ['<img src=x onerror=alert(1)>', '<img src>'],
    ['<a href="https://a.b/c?d">x</a>', '<a href="https://a.b/c?d">x</a>'],
    ['<a href="/local#x">x</a>', '<a href="/local#x">x</a>'],
    ['<a href="javascript:alert(1)">x</a>', '<a href>x</a>'],
    ['<a href=" java\nscript:alert(1)">x</a>', '<a href>x</a>'],
    ['<a href="&#106;avascript:alert(1)">x</a>', '<a href>x</a>'],
    ['<a href="javascript&colon;alert(1)//">x</a>', '<a href>x</a>'],
    ['<a href="mailto:a@b.c">x</a>', '<a href="mailto:a@b.c">x</a>'],
    ['<img src="/a?b=1&c=2">', '<img src="/a?b=1&c=2">'],
    ['<a href="data:text/html,x">x</a>', '<a href>x</a>'],
    ['<noscript><img src=x onerror=alert(1)></noscript>', ''],
    ['<svg><a xlink:href="javascript:alert(1)">x</a></svg>', ''],
    ['<scr<script></script>ipt>alert(1)</script>', expect.not.stringMatching(/<script/i)],
    ['<b>x</b><img src=x onerror=alert(1)', '<b>x</b><img src>'],
    ['<b>a</b> <3 you', '<b>a</b> &lt;3 you'],
  ])('%j becomes %j', (text, clean) => {
    expect(cleanMarkup(text)).toEqual(clean)
  })

  test.each([
    ['names of attributes', `<a ${'a '.repeat(20_000)}>`],
    ['attributes', `<a ${'a="" '.repeat(8000)}>`],
    ['tags with many of them', `<a ${'a\t'.repeat(150)}>`.repeat(150)],
    ['open tags', '<b '.repeat(20_000)],
    ['length', `<b>${'x'.repeat(50_000)}</b>`],
  ])('is refused for too many %s', (_what, text) => {
    const started = performance.now()
    expect(() => cleanMarkup(text)).toThrow(TooMuchMarkup)
    expect(performance.now() - started).toBeLessThan(1000)
  })

  test('is bounded over all texts of one thing', () => {
    const cleaner = new MarkupCleaner()
    const text = `<p style="color:red">${'x'.repeat(10_000)}</p>`
    for (let times = 0; times < 4; times += 1) cleaner.clean(text)
    expect(() => cleaner.clean(text)).toThrow(TooMuchMarkup)
    expect(cleaner.clean('x'.repeat(100_000))).toHaveLength(100_000)
  })

  test('is not changed by being looked at twice, and never acts', () => {
    assert(
      property(array(constantFrom(...PIECES), { maxLength: 12 }), (pieces) => {
        const clean = cleanMarkup(pieces.join(''))
        expect(cleanMarkup(clean)).toBe(clean)
        const acts: string[] = []
        new HTMLRewriter()
          .on('*', {
            element: ({ tagName, attributes }) => {
              if (
                /^(script|svg|style|iframe|xmp|noscript|template|textarea|title)$/.test(tagName)
              ) {
                acts.push(tagName)
              }
              for (const [name = '', value = ''] of attributes) {
                if (name.startsWith('on') || /script:/i.test(value)) acts.push(name)
              }
            },
          })
          .transform(clean)
        expect(acts).toEqual([])
      }),
      randomRuns(80),
    )
  })
})
