/** What each owner may take of a limit that they share. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { FairBudget } from '../../src/threads/fair-budget.ts'

/** Takes one by one for as long as it is allowed; the number taken. */
function takeAll(budget: FairBudget, owner: string): number {
  let taken = 0
  while (budget.hasRoom(1) && budget.isFair([owner], 1)) {
    budget.take([owner], 1)
    taken += 1
  }
  return taken
}

test('one owner gets two thirds, and those that come later two thirds of what is left', () => {
  const budget = new FairBudget(900)
  expect(takeAll(budget, 'first')).toBe(600)
  expect(takeAll(budget, 'second')).toBe(200)
  budget.release(['first'], 600)
  expect(takeAll(budget, 'second')).toBe(400)
})

test('what is larger than the limit is allowed alone', () => {
  const budget = new FairBudget(10)
  expect([budget.hasRoom(20), budget.isFair(['a'], 20)]).toEqual([true, true])
  budget.take(['a'], 20)
  expect([budget.hasRoom(1), budget.isFair(['b'], 1)]).toEqual([false, false])
  budget.release(['a'], 20)
  expect(budget.hasRoom(20)).toBe(true)
})

test('whatever is taken and given back, the limit holds, and no owner has nearly all of it', () => {
  const step = fc.record({
    owner: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 1, max: 100 }),
    gives: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new FairBudget(1000)
      let taken: { owner: string; amount: number }[] = []
      const sumOf = (list: typeof taken) => list.reduce((sum, { amount }) => sum + amount, 0)
      for (const { owner, amount, gives } of steps) {
        const before = gives ? taken.pop() : undefined
        if (before !== undefined) budget.release([before.owner], before.amount)
        else if (budget.hasRoom(amount) && budget.isFair([owner], amount)) {
          budget.take([owner], amount)
          taken = [...taken, { owner, amount }]
        }
        expect(sumOf(taken)).toBeLessThanOrEqual(1000)
        const own = sumOf(taken.filter((one) => one.owner === owner))
        // Two thirds, and as much of the last amount.
        expect(own).toBeLessThanOrEqual((2 * (1000 + 100)) / 3)
      }
      for (const { owner, amount } of taken) budget.release([owner], amount)
      expect(takeAll(budget, 'a')).toBe(667)
    }),
  )
})
