/** What queries cost: shares of one process' accounts. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  ResourceUsage,
  type UsedResources,
} from '../../../../src/query/worker/limits/resource-usage.ts'

test('a query alone costs what the process spends; queries at a time share', () => {
  let spent: UsedResources = { bytes_read: 1000, cpu_us: 500 }
  const spending = new ResourceUsage(() => spent)
  const spend = (bytes_read: number, cpu_us: number): void => {
    spent = { bytes_read: spent.bytes_read + bytes_read, cpu_us: spent.cpu_us + cpu_us }
  }
  spend(7, 7) // nobody asked yet
  spending.begin(1)
  spend(100, 10)
  expect(spending.of(1)).toEqual({ bytes_read: 100, cpu_us: 10 })
  spending.begin(2)
  spend(100, 20)
  expect([spending.of(1), spending.of(2)]).toEqual([
    { bytes_read: 150, cpu_us: 20 },
    { bytes_read: 50, cpu_us: 10 },
  ])
  spending.end(1)
  spend(100, 10)
  expect(spending.of(2)).toEqual({ bytes_read: 150, cpu_us: 20 })
  expect(spending.of(1)).toEqual({ bytes_read: 0, cpu_us: 0 })
})

test('all queries together cost what was spent while any ran, whatever begins and ends', () => {
  const step = fc.record({ id: fc.nat(3), work: fc.nat(1000) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let cpu_us = 0
      let charged = 0
      let given_out = 0
      const running = new Set<number>()
      const spending = new ResourceUsage(() => ({ bytes_read: 0, cpu_us }))
      for (const { id, work } of steps) {
        cpu_us += work
        if (running.size > 0) charged += work
        if (running.has(id)) {
          given_out += spending.of(id).cpu_us
          spending.end(id)
          running.delete(id)
        } else {
          spending.begin(id)
          running.add(id)
        }
      }
      for (const id of running) given_out += spending.of(id).cpu_us
      expect(given_out).toBeCloseTo(charged, 6)
    }),
  )
})

test('the process it runs in has accounts', () => {
  const spending = new ResourceUsage()
  spending.begin(1)
  // Work, not time: on a busy machine a process may wait all of its milliseconds.
  let sum = 0
  for (let step = 0; step < 20_000_000; step++) sum += Math.sqrt(sum + 1)
  expect(sum).toBeGreaterThan(0)
  expect(spending.of(1).cpu_us).toBeGreaterThan(0)
  // Looking costs reading.
  expect(spending.of(1).bytes_read).toBeGreaterThan(0)
})
