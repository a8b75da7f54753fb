/** The statuses of blocking queries that have ended: how many are kept, and for how long. */
import { expect, test } from 'bun:test'
import { ENDED_STATUSES_MAX, EndedStatuses } from '../../../src/query/service/ended-statuses.ts'
import { newStatus, STATUS_KEPT_MS } from '../../../src/query/service/status.ts'

const statusNamed = (id: string) =>
  newStatus({ id, project_id: 1, caller: 'a', labels: [], query_async: false, task_id: id }, 0)

const keyOf = (id: string) => ({ id, project_id: 1, caller: 'a' })

test('the newest ended queries are known, up to a number', () => {
  const ended = new EndedStatuses()
  for (let n = 0; n <= ENDED_STATUSES_MAX; n += 1) {
    ended.keep(statusNamed(`q${n}`), { kind: 'finish' }, 0)
  }
  const isKnown = (id: string): boolean => ended.find(keyOf(id), 0) !== null
  expect(['q0', 'q1', `q${ENDED_STATUSES_MAX}`].map(isKnown)).toEqual([false, true, true])
})

test('an ended query is known to its caller until it expires', () => {
  const ended = new EndedStatuses()
  ended.keep(statusNamed('q'), { kind: 'fail', message: 'Too large.' }, 5)
  expect(ended.find(keyOf('q'), 5)).toMatchObject({
    state: 'failed',
    error_message: 'Too large.',
    end_ms: 5,
  })
  expect(ended.find({ ...keyOf('q'), caller: 'b' }, 5)).toBeNull()
  expect(ended.find(keyOf('q'), 5 + STATUS_KEPT_MS)).toBeNull()
})
