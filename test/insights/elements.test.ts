/** Chains of elements: what is stored of any elements is read back as those. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { elementsChain } from '../../src/ingest/pipeline/elements.ts'
import { type ElementAnswer, readElements } from '../../src/insights/elements.ts'
import { randomRuns } from '../random-runs.ts'

test.each([
  ['', []],
  [
    'b:nth-child="3"nth-of-type="1";div.x.y:attr__id="main"',
    [
      { tag_name: 'b', nth_child: 3, nth_of_type: 1, order: 0, attr_class: null, attributes: {} },
      { tag_name: 'div', attr_class: ['x', 'y'], attr_id: 'main', order: 1, text: null },
    ],
  ],
  [
    'a.hover:bg-blue.md:p-2:href="/x;y?a=b"text="say \\"hi\\": now"',
    [{ tag_name: 'a', attr_class: ['hover:bg-blue', 'md:p-2'], href: '/x;y?a=b' }],
  ],
  ['button', [{ tag_name: 'button', attr_class: null, attributes: {} }]],
])('of %j are read one after the other', (chain, elements) => {
  expect(readElements(chain)).toMatchObject(elements)
  expect(readElements(chain)).toHaveLength(elements.length)
})

const word = fc.stringMatching(/^[a-z][a-z0-9:_-]{0,8}[a-z]$/)
const value = fc.string({ maxLength: 12 }).filter((text) => !/[\\\n\r]/.test(text))

test('of any elements are those elements again', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          tag_name: fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/),
          classes: fc.uniqueArray(word, { maxLength: 3 }),
          text: fc.option(value.filter((text) => text !== '')),
          title: fc.option(value),
          nth_child: fc.nat(9),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      (sent) => {
        const chain = elementsChain(
          sent.map(({ tag_name, classes, text, title, nth_child }) => ({
            tag_name,
            nth_child,
            ...(classes.length === 0 ? {} : { attr__class: classes.join(' ') }),
            ...(text === null ? {} : { $el_text: text }),
            ...(title === null ? {} : { attr__title: title }),
          })),
        )
        const read = readElements(chain)
        expect(
          read.map(({ tag_name, attr_class, text, attributes, nth_child }) => ({
            tag_name,
            classes: (attr_class ?? []).toSorted(),
            text,
            title: attributes['attr__title'] ?? null,
            nth_child,
          })),
        ).toEqual(sent.map((one) => ({ ...one, classes: one.classes.toSorted() })))
      },
    ),
  )
})

type PatternElement = Pick<
  ElementAnswer,
  'tag_name' | 'attr_class' | 'text' | 'attributes' | 'order'
>

/** What each chain means, said by patterns; their time grows with the square of what does not match. */
function elementsByPatterns(chain: string): PatternElement[] {
  const elements = chain.matchAll(/(?:[^;"\\]|\\.|"(?:[^"\\]|\\.)*")+/gs)
  return [...elements].map(([text], order) => {
    const [head = '', tag_and_classes = ''] = /^(.*?)(?::(?=[\w-]+=")|$)/s.exec(text) ?? []
    const [tag_name = '', ...rest] = tag_and_classes.split('.')
    const classes = rest.filter((one) => one !== '')
    const attributes = text.slice(head.length).matchAll(/([^\s="]+?)="((?:[^"\\]|\\.)*)"/gs)
    const pairs = [...attributes].map(
      ([, name = '', escaped = '']) => [name, escaped.replaceAll(String.raw`\"`, '"')] as const,
    )
    return {
      tag_name: tag_name === '' ? null : tag_name,
      attr_class: classes.length === 0 ? null : classes,
      text: new Map(pairs).get('text') ?? null,
      attributes: Object.fromEntries(pairs.filter(([name]) => name.startsWith('attr__'))),
      order,
    }
  })
}

test('of any text are what the patterns say', () => {
  const piece = fc.constantFrom(
    'a',
    '.b',
    ':',
    ';',
    '"',
    '="',
    '=',
    '\\',
    '\\"',
    ' ',
    '\n',
    'text="x"',
    'attr__id="y"',
    'c-d',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const read = readElements(pieces.join(''))
      expect(
        read.map(({ tag_name, attr_class, text, attributes, order }) => ({
          tag_name,
          attr_class,
          text,
          attributes,
          order,
        })),
      ).toEqual(elementsByPatterns(pieces.join('')))
    }),
    randomRuns(800),
  )
})

test.each([
  ['a name without an end', `a:x="1"${'b'.repeat(900_000)}`],
  ['a value without an end', `a:x="${String.raw`\"`.repeat(450_000)}`],
  ['quotes that are never closed', `a${String.raw`"\"`.repeat(300_000)}`],
  ['colons', `a${':b'.repeat(450_000)}`],
  ['attributes', `a:${'x="1"'.repeat(180_000)}`],
  ['elements', 'a;'.repeat(450_000)],
  ['equals signs', `a:x="1"${'='.repeat(900_000)}`],
])('of a megabyte of %s are read at once, and only so many', (_, chain) => {
  const started_ms = performance.now()
  const elements = readElements(chain)
  // Patterns took from seconds to a quarter of an hour.
  expect(performance.now() - started_ms).toBeLessThan(500)
  expect(elements.length).toBeLessThanOrEqual(300)
  expect(Object.keys(elements[0]?.attributes ?? {}).length).toBeLessThanOrEqual(300)
})
