/** Chains of elements: what is stored of any elements is read back as those. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { elementsChain } from '../../src/ingest/elements.ts'
import { readElements } from '../../src/insights/elements.ts'

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
