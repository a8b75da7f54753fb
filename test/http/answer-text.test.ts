/** Answers written in pieces into shared memory: each response has its own text. */
import { expect, test } from 'bun:test'
import { AnswerText } from '../../src/http/answers/answer-text.ts'

const out = new AnswerText()

function answer(...pieces: readonly string[]): Response {
  out.begin()
  for (const piece of pieces) out.write(piece)
  return new Response(out.written())
}

test('a response keeps its text when the next one is written', async () => {
  const [first, second] = [answer('{"a":', '1}'), answer('[', '', ']')]
  expect([await first.text(), await second.text()]).toEqual(['{"a":1}', '[]'])
})

test('a text that was begun and not answered leaves nothing behind', async () => {
  out.begin().write('of somebody else')
  expect(await answer('own').text()).toBe('own')
})

test('texts of any length and script are written whole, and the next is short again', async () => {
  const pieces = ['ä€😀', 'x'.repeat(64 * 1024), '€'.repeat(70_000), '\0', 'end']
  expect(await answer(...pieces).text()).toBe(pieces.join(''))
  expect(await answer('short').text()).toBe('short')
})
