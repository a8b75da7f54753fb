/** The order of an experiment's metrics, of which a body may name very many. */
import { expect, test } from 'bun:test'
import { orderOf } from '../../src/targeting/experiments/experiment-metrics.ts'

test('metrics keep their stored order, new ones follow, however many there are', () => {
  const uuids = Array.from({ length: 20_000 }, (_, index) => `u${index}`)
  const metrics = [...uuids, 'new'].map((uuid) => ({ uuid }))
  const stored = [...uuids.toReversed(), 'removed', 'u5']
  expect(orderOf(stored, metrics, [])).toEqual([...uuids.toReversed(), 'new'])
})
