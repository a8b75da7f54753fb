/** The statuses of blocking queries that have ended: how many are kept, and for how long. */
import { expect, test } from 'bun:test'
import { ENDED_QUERIES_MAX, RunningQueries } from '../../../src/query/service/running-queries.ts'
import { newStatus, STATUS_KEPT_MS } from '../../../src/query/service/status.ts'

const statusNamed = (id: string) =>
  newStatus({ id, project_id: 1, caller: 'a', labels: [], query_async: false, task_id: id }, 0)

const keyOf = (id: string) => ({ id, project_id: 1, caller: 'a' })

test('the newest ended queries are known, up to a number', () => {
  const running = new RunningQueries()
  for (let n = 0; n <= ENDED_QUERIES_MAX; n += 1) {
    running.keepEnded(statusNamed(`q${n}`), { kind: 'finish' }, 0)
  }
  const isKnown = (id: string): boolean => running.findEnded(keyOf(id), 0) !== null
  expect(['q0', 'q1', `q${ENDED_QUERIES_MAX}`].map(isKnown)).toEqual([false, true, true])
})

test('an ended query is known to its caller until it expires', () => {
  const running = new RunningQueries()
  running.keepEnded(statusNamed('q'), { kind: 'fail', message: 'Too large.' }, 5)
  expect(running.findEnded(keyOf('q'), 5)).toMatchObject({
    state: 'failed',
    error_message: 'Too large.',
    end_ms: 5,
  })
  expect(running.findEnded({ ...keyOf('q'), caller: 'b' }, 5)).toBeNull()
  expect(running.findEnded(keyOf('q'), 5 + STATUS_KEPT_MS)).toBeNull()
})
