/** Selectors over chains of elements, as they are stored: innermost first, quotes escaped. */
import { expect, test } from 'bun:test'
import { elementsChain } from '../../../src/ingest/pipeline/elements.ts'
import { selectorPattern, tagPattern } from '../../../src/insights/filters/selectors.ts'

const CHAIN = elementsChain([
  {
    tag_name: 'a',
    $el_text: 'Say "hi"; now',
    attr__class: 'btn md:flex primary',
    attr__href: '/x;y',
    attr__id: 'buy',
    'attr__data-id': 'a b',
    nth_child: 2,
    nth_of_type: 1,
  },
  { tag_name: 'section', nth_child: 1, nth_of_type: 1 },
  { tag_name: 'div', attr__class: ['card'], nth_child: 1, nth_of_type: 3 },
])

test.each([
  ['a', true],
  ['*', true],
  ['button', false],
  // A tag is not the beginning of another.
  ['sec', false],
  ['div a', true],
  ['div > a', false],
  ['section > a', true],
  ['div > section > a.btn', true],
  ['a section', false],
  ['#buy', true],
  ['#bu', false],
  ['[constructor="x"]', false],
  ['[constructor]', false],
  ['.btn', true],
  ['.primary.btn', true],
  ['.prim', false],
  ['a.md\\:flex', true],
  ['.card', true],
  ['.card .btn', true],
  ['.btn.card', false],
  ['[href="/x;y"]', true],
  ["a[href='/x;y'].btn", true],
  ['[href="/x"]', false],
  ['[data-id="a b"]', true],
  ['[data-id]', true],
  ['section   >   [data-id="a b"]', true],
  ['section>a', true],
  ['[data-id="a > b"]', false],
  ['[data-id="a] b"]', false],
  ['[data-name]', false],
  ['a:nth-child(2)', true],
  ['a:nth-child(1)', false],
  ['div:nth-of-type(3) a[data-id="a b"]:nth-child(2)', true],
])('%s is found: %p', (selector, expected) => {
  expect(new RegExp(selectorPattern(selector, 'selector')).test(CHAIN)).toBe(expected)
})

test.each(['', '>', 'a >', '> a', 'a..b', 'a[', 'a:hover', 'a, b', `a${' b'.repeat(30)}`])(
  '%s is refused',
  (selector) => {
    expect(() => selectorPattern(selector, 'selector')).toThrow('Not a selector')
  },
)

test('blanks within brackets are read at once', () => {
  const selector = `[a="${' '.repeat(980)}"]`
  const started_ms = performance.now()
  for (let step = 0; step < 100; step += 1) {
    expect(selectorPattern(selector, 'selector')).toContain('attr__a')
  }
  // A pattern that looked ahead from each blank took 15 s.
  expect(performance.now() - started_ms).toBeLessThan(500)
})

test('a tag is found as a whole', () => {
  expect(new RegExp(tagPattern('section')).test(CHAIN)).toBe(true)
  expect(new RegExp(tagPattern('sect')).test(CHAIN)).toBe(false)
  expect(new RegExp(tagPattern('btn')).test(CHAIN)).toBe(false)
})
