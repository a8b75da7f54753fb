/** Markup in surveys: what looks stays, what acts goes, whatever is written. */
import { describe, expect, test } from 'bun:test'
import { array, assert, constantFrom, property } from 'fast-check'
import { cleanMarkup } from '../../src/targeting/survey-markup.ts'

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
      { numRuns: 500 },
    )
  })
})
