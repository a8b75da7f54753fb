/** Which property columns are offered: those that queries read, and some of those they have read. */
import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type NeededColumn, neededColumnName } from '../../../../src/column-names.ts'
import { ColumnDemand } from '../../../../src/query/worker/columns/column-demand.ts'
import { randomRuns } from '../../../random-runs.ts'

const column = (name: string): NeededColumn => ({ kind: 'text', name })
const openWants = () =>
  new ColumnDemand<NeededColumn>({ nameOf: neededColumnName, weight_max: 256 })
const some = (count: number, begin = ''): readonly NeededColumn[] =>
  Array.from({ length: count }, (_, index) => column(`${begin}${index}`))
const namesOf = (wanted: ColumnDemand<NeededColumn>) => wanted.list().map(({ name }) => name)

test('a query has all of its columns while it reads, however many; then most of them go', () => {
  const wanted = openWants()
  const release = wanted.acquire(some(900))
  expect(wanted.list()).toHaveLength(900)
  const others = wanted.acquire(some(10, 'other'))
  expect(wanted.list()).toHaveLength(910)
  release()
  release()
  expect(wanted.list()).toHaveLength(256)
  expect(namesOf(wanted).slice(-10)).toEqual(some(10, 'other').map(({ name }) => name))
  others()
  const before = wanted.version
  // What is there already changes nothing.
  wanted.acquire([column('other3')])()
  expect(wanted.version).toBe(before)
  expect(namesOf(wanted).at(-1)).toBe('other3')
})

test('columns that cannot be offered go, whoever wants them; those that were offered stay', () => {
  const wanted = openWants()
  wanted.acquire(some(3))
  const offered = wanted.list()
  wanted.acquire([column('bad'), column('1')])
  const tried = wanted.list()
  const { request } = wanted
  wanted.acquire([column('later')])
  const before = wanted.version
  wanted.drop(tried, offered, request)
  expect(namesOf(wanted).toSorted()).toEqual(['0', '1', '2', 'later'])
  expect(wanted.version).toBeGreaterThan(before)
})

test('whatever queries begin and end, each has its columns, and few others stay', () => {
  const step = fc.record({ columns: fc.array(fc.nat(600), { maxLength: 400 }), ends: fc.nat(5) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const wanted = openWants()
      const running: { names: readonly string[]; release: () => void }[] = []
      for (const { columns, ends } of steps) {
        const list = columns.map((number) => column(String(number)))
        const names = list.flatMap((one) => neededColumnName(one) ?? [])
        running.push({ names, release: wanted.acquire(list) })
        for (const { release } of running.splice(0, ends)) release()
        const offered = new Set(wanted.list().map(neededColumnName))
        const needed = new Set(running.flatMap((query) => query.names))
        for (const name of needed) expect(offered.has(name as `p_${string}`)).toBe(true)
        expect(offered.size).toBeLessThanOrEqual(Math.max(256, needed.size))
      }
    }),
    randomRuns(15),
  )
})
