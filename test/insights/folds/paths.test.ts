/** Paths of one actor: laws against plain words, and examples worked by hand. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { foldPaths, OMITTED_STEPS, type PathFold } from '../../../src/insights/folds/paths.ts'
import { limitTests } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'

limitTests(60_000)

const plain: PathFold = { gap_us: 100, step_limit: 5, has_start: false, has_end: false }

/** Items by letters, `<a` a start, `>a` an end; one apart, and `|` a long time. */
function walk(text: string, fold: PathFold): readonly string[] {
  const at_us: number[] = []
  const codes: number[] = []
  let at = 0
  for (const word of text.split(' ')) {
    at += word === '|' ? 100 : 1
    if (word === '|') continue
    const item = word.charCodeAt(word.length - 1) - 96
    at_us.push(at)
    codes.push(item * 4 + (word.includes('<') ? 1 : 0) + (word.includes('>') ? 2 : 0))
  }
  const name = (item: number): string =>
    item === OMITTED_STEPS ? '...' : String.fromCharCode(96 + item)
  return foldPaths({ at_us, codes }, fold).map(
    ({ step, item, before, took_us, is_last }) =>
      `${before === null ? '' : `${step - 1}_${name(before)} ${took_us} `}${step}_${name(item)}${is_last ? '.' : ''}`,
  )
}

describe('paths', () => {
  test.each([
    ['a b c', plain, ['1_a', '1_a 1 2_b', '2_b 1 3_c.']],
    ['a a b b', plain, ['1_a', '1_a 2 2_b.']],
    ['a b | c', plain, ['1_a', '1_a 1 2_b.', '1_c.']],
    ['a | a', plain, ['1_a.', '1_a.']],
    ['a b c d', { ...plain, step_limit: 2 }, ['1_a', '1_a 1 2_b.']],
    ['a <b c <b', { ...plain, has_start: true }, ['1_b', '1_b 1 2_c', '2_c 1 3_b.']],
    ['a b', { ...plain, has_start: true }, []],
    ['a >b c >b', { ...plain, has_end: true }, ['1_a', '1_a 1 2_b.']],
    ['a b c >d', { ...plain, has_end: true, step_limit: 2 }, ['1_c', '1_c 1 2_d.']],
    [
      '>d <a b c >d e',
      { ...plain, has_start: true, has_end: true },
      ['1_a', '1_a 1 2_b', '2_b 1 3_c', '3_c 1 4_d.'],
    ],
    [
      '<a b c e >d',
      { ...plain, has_start: true, has_end: true, step_limit: 4 },
      ['1_a', '1_a 1 2_b', '2_b 1 3_...', '3_... 1 4_e', '4_e 1 5_d.'],
    ],
  ] as const)('of %s', (text, fold, steps) => {
    expect(walk(text, fold)).toEqual([...steps])
  })

  test('have every visit’s first items in order, none twice in a row', () => {
    const event = fc.record({
      gap: fc.constantFrom(1, 7, 99, 100, 500),
      item: fc.integer({ min: 1, max: 3 }),
    })
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 20 }),
        fc.integer({ min: 1, max: 6 }),
        (events, limit) => {
          let at = 0
          const at_us = events.map(({ gap }) => (at += gap))
          const steps = foldPaths(
            { at_us, codes: events.map(({ item }) => item * 4) },
            { ...plain, step_limit: limit },
          )
          const visits = events
            .map(({ gap, item }, index) => (index === 0 || gap >= 100 ? `|${item}` : `${item}`))
            .join('')
            .split('|')
            .slice(1)
            .map((visit) => visit.replaceAll(/(.)\1+/g, '$1').slice(0, limit))
          const found = steps
            .map(({ step, item }) => (step === 1 ? `|${item}` : `${item}`))
            .join('')
          expect(found).toBe(visits.map((visit) => `|${visit}`).join(''))
          expect(steps.filter(({ is_last }) => is_last)).toHaveLength(visits.length)
          for (const { step, before, took_us } of steps) {
            expect(before === null).toBe(step === 1)
            expect(took_us > 0).toBe(step > 1)
          }
        },
      ),
      randomRuns(300),
    )
  })
})
