/** The states of a background query: every move, and laws over any sequence of them, on the real store. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { openCacheDB } from '../../../src/query/service/cache.ts'
import {
  changeStatus,
  isComplete,
  newStatus,
  type QueryStatus,
  STATUS_KEPT_MS,
  STATUS_TRANSITIONS,
  type StatusEvent,
  type StatusState,
  statusText,
} from '../../../src/query/service/status.ts'
import { StatusStore } from '../../../src/query/service/status-store.ts'
import { limitOf } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'

const ASKED = {
  id: 'q1',
  project_id: 7,
  caller: 'ann',
  task_id: 't1',
  labels: ['HogQLQuery'],
  query_async: true,
}
const keyOf = (project_id: number, id: string, caller = ASKED.caller) => ({
  project_id,
  caller,
  id,
})
const KINDS = ['start', 'finish', 'fail', 'cancel', 'expire', 'restart'] as const

const eventOf = (kind: (typeof KINDS)[number]): StatusEvent =>
  kind === 'fail' ? { kind, message: 'It broke.' } : { kind }

const inState = (state: StatusState): QueryStatus => ({ ...newStatus(ASKED, 0), state })

describe('a status', () => {
  test.each([
    ['waiting', 'start', 'running'],
    ['waiting', 'finish', 'finished'],
    ['waiting', 'fail', 'failed'],
    ['waiting', 'restart', 'failed'],
    ['waiting', 'expire', 'waiting'],
    ['waiting', 'cancel', 'gone'],
    ['running', 'start', 'running'],
    ['running', 'finish', 'finished'],
    ['running', 'fail', 'failed'],
    ['running', 'restart', 'failed'],
    ['running', 'expire', 'running'],
    ['running', 'cancel', 'gone'],
    ['finished', 'start', 'finished'],
    ['finished', 'finish', 'finished'],
    ['finished', 'fail', 'finished'],
    ['finished', 'restart', 'finished'],
    ['finished', 'expire', 'gone'],
    ['finished', 'cancel', 'gone'],
    ['failed', 'start', 'failed'],
    ['failed', 'finish', 'failed'],
    ['failed', 'fail', 'failed'],
    ['failed', 'restart', 'failed'],
    ['failed', 'expire', 'gone'],
    ['failed', 'cancel', 'gone'],
  ] as const)('that is %s is after %s %s', (state, kind, after) => {
    const moved = changeStatus(inState(state), eventOf(kind), STATUS_KEPT_MS)
    expect(moved?.state ?? 'gone').toBe(after)
  })

  test('does not expire before its time, which begins again when it ends', () => {
    const asked = newStatus(ASKED, 1000)
    expect(asked.expiration_ms).toBe(1000 + STATUS_KEPT_MS)
    const ended = changeStatus(asked, { kind: 'finish' }, 5000)
    expect(ended?.expiration_ms).toBe(5000 + STATUS_KEPT_MS)
    const at = (now_ms: number) => ended && changeStatus(ended, { kind: 'expire' }, now_ms)
    expect([at(4999 + STATUS_KEPT_MS), at(5000 + STATUS_KEPT_MS)]).toEqual([ended, null])
  })

  test('has every field of the interface on the wire, with real types', () => {
    const started = changeStatus(newStatus(ASKED, 0), { kind: 'start' }, 1500) ?? inState('waiting')
    expect(JSON.parse(statusText(started, null))).toEqual({
      id: 'q1',
      team_id: 7,
      complete: false,
      error: false,
      error_message: null,
      query_async: true,
      query_progress: null,
      start_time: '1970-01-01T00:00:00.000Z',
      pickup_time: '1970-01-01T00:00:01.500Z',
      end_time: null,
      expiration_time: '1970-01-01T00:20:01.500Z',
      dashboard_id: null,
      insight_id: null,
      labels: ['HogQLQuery'],
      task_id: 't1',
    })
    const failed = changeStatus(started, { kind: 'restart' }, 2000) ?? started
    expect(JSON.parse(statusText(failed, null))).toMatchObject({
      complete: true,
      error: true,
      error_message: 'The server was restarted while the query ran. Ask it again.',
      end_time: '1970-01-01T00:00:02.000Z',
    })
  })
})

describe('any sequence of what can happen', () => {
  const steps = fc.array(
    fc.record({ kind: fc.constantFrom(...KINDS), wait_ms: fc.nat(STATUS_KEPT_MS) }),
    { maxLength: 12 },
  )

  test(
    'leaves a status in order, also over restarts of the store',
    () => {
      fc.assert(
        fc.property(steps, (list) => {
          const folder = mkdtempSync(join(tmpdir(), 'tidemark-status-'))
          let db = openCacheDB(folder)
          let store = new StatusStore(db, 1000)
          let now_ms = 1
          store.add(newStatus(ASKED, now_ms))
          let before: QueryStatus | null = store.find(keyOf(7, 'q1'), now_ms)
          const results = Buffer.from('{}')
          for (const { kind, wait_ms } of list) {
            now_ms += wait_ms
            if (kind === 'restart') {
              db.close()
              db = openCacheDB(folder)
              store = new StatusStore(db, 1000)
              store.restart(now_ms)
            } else store.move(ASKED, eventOf(kind), now_ms, kind === 'finish' ? results : undefined)
            const after = store.find(keyOf(7, 'q1'), now_ms)
            checkMove({ before, after, kind, now_ms })
            const has_results = after !== null && store.findResults(keyOf(7, 'q1')) !== null
            expect(has_results).toBe(after?.state === 'finished')
            before = after
          }
          db.close()
          rmSync(folder, { recursive: true, force: true })
        }),
        randomRuns(4),
      )
    },
    limitOf(240_000),
  )

  type Moved = {
    readonly before: QueryStatus | null
    readonly after: QueryStatus | null
    readonly kind: StatusEvent['kind']
    readonly now_ms: number
  }

  function checkMove({ before, after, kind, now_ms }: Moved): void {
    // What is gone stays gone.
    if (before === null) return expect(after).toBeNull()
    if (after === null) {
      const is_over = isComplete(before) && now_ms >= before.expiration_ms
      return expect(kind === 'cancel' || is_over).toBe(true)
    }
    if (after.state !== before.state) {
      const allowed = STATUS_TRANSITIONS.some(
        (move) => move.kind === kind && move.from.includes(before.state) && move.to === after.state,
      )
      expect(allowed).toBe(true)
    } else expect(after).toEqual(before)
    expect(isComplete(after)).toBe(after.end_ms !== null)
    expect(after.state === 'failed').toBe(after.error_message !== null)
    const times = [after.start_ms, after.pickup_ms, after.end_ms, after.expiration_ms]
    const known = times.filter((time) => time !== null)
    expect(known).toEqual(known.toSorted((a, b) => a - b))
    expect(after).toMatchObject(ASKED)
  }
})

describe('the store', () => {
  const open = () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-status-'))
    return { store: new StatusStore(openCacheDB(folder), 1000), folder }
  }

  test('knows a query by project and id, and leaves a replaced run alone', () => {
    const { store, folder } = open()
    store.add(newStatus(ASKED, 1))
    expect(store.find(keyOf(8, 'q1'), 1)).toBeNull()
    expect(store.find(keyOf(7, 'q1', 'bob'), 1)).toBeNull()
    store.add(newStatus({ ...ASKED, task_id: 't2' }, 2))
    expect(store.move(ASKED, { kind: 'finish' }, 3, Buffer.from('{}'))).toBeNull()
    expect(store.find(keyOf(7, 'q1'), 3)).toMatchObject({ state: 'waiting', task_id: 't2' })
    rmSync(folder, { recursive: true, force: true })
  })

  test('forgets results that expire first when there are too many bytes, but never the newest', () => {
    const { store, folder } = open()
    for (const id of ['a', 'b', 'c']) {
      const asked = { ...ASKED, id, task_id: id }
      store.add(newStatus(asked, 1))
      store.move(asked, { kind: 'finish' }, id.charCodeAt(0), Buffer.alloc(150))
    }
    expect(['a', 'b', 'c'].map((id) => store.find(keyOf(7, id), 200)?.state ?? null)).toEqual([
      null,
      'finished',
      'finished',
    ])
    const large = { ...ASKED, id: 'd', task_id: 'd' }
    store.add(newStatus(large, 200))
    store.move(large, { kind: 'finish' }, 201, Buffer.alloc(5000))
    expect(store.findResults(keyOf(7, 'd'))).toHaveLength(5000)
    expect(store.find(keyOf(7, 'c'), 202)).toBeNull()
    rmSync(folder, { recursive: true, force: true })
  })

  test('forgets what ended when there are too many, with results or without, but nothing that goes on', () => {
    const { store, folder } = open()
    const nameOf = (count: number) => ({ ...ASKED, id: `q${count}`, task_id: `t${count}` })
    for (let count = 0; count < 20; count++) {
      store.add(newStatus(nameOf(count), count))
      if (count % 2 === 0) store.move(nameOf(count), { kind: 'fail', message: 'no' }, count)
    }
    const states = Array.from(
      { length: 20 },
      (_, count) => store.find(keyOf(7, `q${count}`), 20)?.state,
    )
    expect(states.filter((state) => state === 'waiting')).toHaveLength(10)
    expect(states.filter((state) => state === 'failed').length).toBeLessThan(2)
    rmSync(folder, { recursive: true, force: true })
  })

  test('forgets a project', () => {
    const { store, folder } = open()
    store.add(newStatus(ASKED, 1))
    store.add(newStatus({ ...ASKED, project_id: 8 }, 1))
    store.dropProject(7)
    expect([store.find(keyOf(7, 'q1'), 1), store.find(keyOf(8, 'q1'), 1)?.state]).toEqual([
      null,
      'waiting',
    ])
    rmSync(folder, { recursive: true, force: true })
  })
})
