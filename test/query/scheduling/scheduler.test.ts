/** The scheduler: what is computed how often, who stops it, and whose turn it is. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { isOverShare, ProjectQueue } from '../../../src/query/scheduling/project-queue.ts'
import type { ScheduledQuery } from '../../../src/query/scheduling/scheduled-query.ts'
import {
  type Lane,
  QUERIES_MAX,
  type RunningExecution,
  Scheduler,
  type SchedulerLimits,
} from '../../../src/query/scheduling/scheduler.ts'
import type { ComputedAnswer } from '../../../src/query/service/cache.ts'
import { newStatus } from '../../../src/query/service/status.ts'
import { refusal } from '../world.ts'

const PATIENT_MS = 15_000

/** A clock that stands still, and executions that end when the test says so. */
class Bench {
  now_ms = 1_000_000
  readonly scheduler: Scheduler
  readonly begun: {
    now: Date
    running: RunningExecution
    end: PromiseWithResolvers<ComputedAnswer>
  }[] = []

  constructor(limits: Partial<SchedulerLimits> = {}) {
    this.scheduler = new Scheduler(
      { background_running_max: 1, background_waiting_max: 9, ...limits },
      () => new Date(this.now_ms),
    )
  }

  join(
    max_age_ms: number,
    lane: Lane = 'interactive',
    { project_id = 1, cache_key = 'k', id = 'q' } = {},
  ): ScheduledQuery {
    const named = { id, project_id, caller: '', task_id: id, labels: [], query_async: true }
    return this.scheduler.schedule({
      status: newStatus(named, 0),
      cache_key,
      max_age_ms,
      lane,
      compute: (now, running) => {
        const end = Promise.withResolvers<ComputedAnswer>()
        running.signal.addEventListener('abort', () => end.reject(new Error('stopped')))
        this.begun.push({ now, running, end })
        return end.promise
      },
    })
  }

  async end(index: number): Promise<void> {
    await settle()
    const last_refresh_ms = this.begun[index]?.now.getTime() ?? 0
    const answer = { head: `${index}`, results: new Uint8Array(), last_refresh_ms }
    this.begun[index]?.end.resolve({ ...answer, ends_at_ms: null })
    await settle()
  }

  get executions() {
    const { running, started } = this.scheduler.state
    return { running, started }
  }
}

const settle = () => Bun.sleep(0)
const headOf = (query: ScheduledQuery): Promise<string> => query.answer.then(({ head }) => head)

describe('a query asked by many', () => {
  test('is computed anew for who comes after the past of its project has changed', async () => {
    const bench = new Bench()
    const before = bench.join(PATIENT_MS)
    await settle()
    bench.scheduler.outdate(2)
    const beside = bench.join(PATIENT_MS)
    bench.scheduler.outdate(1)
    const after = bench.join(PATIENT_MS)
    // One that has not begun sees the change.
    bench.scheduler.outdate(1)
    expect([before, beside, after].map((hold) => hold.isOutdated())).toEqual([true, true, false])
    await bench.end(0)
    await bench.end(1)
    const heads = await Promise.all([before, beside, after].map(headOf))
    expect(heads).toEqual(['0', '0', '1'])
    expect(bench.executions).toEqual({ running: 0, started: 2 })
  })

  test('is computed once for all who come while an answer would be fresh', async () => {
    const bench = new Bench()
    const holds = Array.from({ length: 200 }, () => bench.join(PATIENT_MS))
    bench.now_ms += PATIENT_MS - 1
    holds.push(bench.join(PATIENT_MS))
    await bench.end(0)
    expect(new Set(await Promise.all(holds.map(headOf)))).toEqual(new Set(['0']))
    expect(bench.executions).toEqual({ running: 0, started: 1 })
  })

  test('is computed once more, after that, for all who must have it newer', async () => {
    const bench = new Bench()
    const first = bench.join(0)
    await settle()
    bench.now_ms += 5
    const forced = Array.from({ length: 50 }, () => bench.join(0))
    await settle()
    expect(bench.begun).toHaveLength(1)
    bench.now_ms += 100
    await bench.end(0)
    expect(bench.begun.map(({ now }) => now.getTime())).toEqual([1_000_000, 1_000_105])
    await bench.end(1)
    expect(await headOf(first)).toBe('0')
    expect(new Set(await Promise.all(forced.map(headOf)))).toEqual(new Set(['1']))
    expect(bench.executions).toEqual({ running: 0, started: 2 })
  })

  test('is not joined by those for whom it began too long ago', async () => {
    const bench = new Bench()
    bench.join(PATIENT_MS)
    await settle()
    bench.now_ms += PATIENT_MS
    const late = bench.join(PATIENT_MS)
    await bench.end(0)
    await bench.end(1)
    expect(await headOf(late)).toBe('1')
  })

  test('goes on as long as one of them stays', async () => {
    const bench = new Bench()
    const [first, second] = [bench.join(PATIENT_MS), bench.join(PATIENT_MS)]
    await settle()
    first.leave()
    first.leave()
    expect(await refusal(first.answer)).toBe('query_cancelled: The query was cancelled.')
    expect(bench.begun[0]?.running.signal.aborted).toBe(false)
    await bench.end(0)
    expect(await headOf(second)).toBe('0')
  })

  test('stops when the last one leaves, and is begun anew for the next', async () => {
    const bench = new Bench()
    const holds = [bench.join(PATIENT_MS), bench.join(PATIENT_MS)]
    await settle()
    for (const hold of holds) hold.leave()
    expect(bench.begun[0]?.running.signal.aborted).toBe(true)
    expect(bench.executions.running).toBe(0)
    const next = bench.join(PATIENT_MS)
    await bench.end(1)
    expect(await headOf(next)).toBe('1')
  })

  test('is not computed when everybody left before it began', async () => {
    const bench = new Bench()
    bench.join(PATIENT_MS, 'background', { cache_key: 'other' })
    const hold = bench.join(PATIENT_MS, 'background')
    await settle()
    hold.leave()
    await bench.end(0)
    expect(bench.begun).toHaveLength(1)
    expect(bench.scheduler.state.background).toEqual({ running: 0, waiting: 0 })
  })

  test('fails for all of them, and is tried again for the next', async () => {
    const bench = new Bench()
    const holds = [bench.join(PATIENT_MS), bench.join(PATIENT_MS)]
    await settle()
    bench.begun[0]?.end.reject(new Error('broken'))
    expect(await Promise.allSettled(holds.map(headOf))).toMatchObject([
      { reason: { message: 'broken' } },
      { reason: { message: 'broken' } },
    ])
    const next = bench.join(PATIENT_MS)
    await bench.end(1)
    expect(await headOf(next)).toBe('1')
  })

  test('is begun at once when somebody waits for what was queued in the background', async () => {
    const bench = new Bench()
    bench.join(PATIENT_MS, 'background', { cache_key: 'other' })
    const queued = bench.join(PATIENT_MS, 'background')
    await settle()
    expect(bench.begun).toHaveLength(1)
    const waiting = bench.join(0)
    await bench.end(1)
    expect([await headOf(queued), await headOf(waiting)]).toEqual(['1', '1'])
  })
})

describe('background queries', () => {
  test('take turns: a project with many does not keep another waiting', async () => {
    const { scheduler } = new Bench({ background_running_max: 2, background_waiting_max: 99 })
    const order: string[] = []
    const take = (project_id: number, name: string) => {
      const turn = scheduler.takeSlot(project_id)
      void turn.granted.then(() => order.push(name))
      return turn
    }
    const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'a5', 'b2']
    const taken = new Map(names.map((name) => [name, take(name.startsWith('a') ? 1 : 2, name)]))
    await settle()
    expect(order).toEqual(['a1', 'a2'])
    for (const over of ['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a5']) {
      taken.get(over)?.release()
      await settle()
    }
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a5'])
    expect(scheduler.state.background).toEqual({ running: 0, waiting: 0 })
  })

  test('are refused when too many wait', async () => {
    const { scheduler } = new Bench({ background_waiting_max: 2 })
    for (let count = 0; count < 3; count++) scheduler.takeSlot(1)
    const refused = Promise.try(() => scheduler.takeSlot(1))
    expect(await refusal(refused)).toStartWith('throttled: Too many background queries')
  })
})

describe('what is limited', () => {
  test('is left to those who have less than their part, also when others have all of it', async () => {
    const { scheduler } = new Bench({ background_waiting_max: 4 })
    const take = (project_id: number) => refusal(Promise.try(() => scheduler.takeSlot(project_id)))
    const taken: Record<number, number> = {}
    for (const project_id of [1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 1]) {
      const is_taken = (await take(project_id)) === 'answered'
      taken[project_id] = (taken[project_id] ?? 0) + (is_taken ? 1 : 0)
    }
    // One runs and four wait; the next two have their halves and thirds of four.
    expect(taken).toEqual({ 1: 5, 2: 2, 3: 2 })
  })

  test('grows by the part of each newcomer and no more, whoever comes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(5), { maxLength: 200 }),
        fc.integer({ min: 0, max: 20 }),
        (asked, max) => {
          const taken: number[] = []
          for (const project_id of asked) {
            const own = taken.filter((other) => other === project_id).length
            const is_over = isOverShare(taken, project_id, max)
            if (taken.length < max) expect(is_over).toBe(false)
            if (own === 0 && max > 6) expect(is_over).toBe(false)
            if (!is_over) taken.push(project_id)
          }
          expect(taken.length).toBeLessThanOrEqual(max * 3 + 6)
        },
      ),
    )
  })

  test('are queries that join others too', () => {
    const bench = new Bench()
    const register = (project_id: number, id: string) =>
      bench.join(PATIENT_MS, 'interactive', { project_id, id })
    const count = () => bench.scheduler.state.requests
    const first = register(1, 'first')
    for (let made = 1; made < QUERIES_MAX; made++) register(1, `q${made % 7}`)
    expect(count()).toBe(QUERIES_MAX)
    expect(() => register(1, 'more')).toThrow('Too many queries')
    register(2, 'other')
    first.end()
    first.end()
    expect(count()).toBe(QUERIES_MAX)
  })
})

describe('a query is cancelled', () => {
  test('by its id, for its own caller only; its execution goes on for the others', async () => {
    const bench = new Bench()
    const [mine, other] = ['mine', 'other'].map((id) =>
      bench.join(PATIENT_MS, 'interactive', { id }),
    )
    if (mine === undefined || other === undefined) throw new Error('no queries')
    await settle()
    bench.scheduler.cancel({ project_id: 1, caller: '', id: 'mine' })
    bench.scheduler.cancel({ project_id: 2, caller: '', id: 'other' })
    bench.scheduler.cancel({ project_id: 1, caller: 'somebody', id: 'other' })
    await bench.end(0)
    expect(await refusal(mine.answer)).toBe('query_cancelled: The query was cancelled.')
    expect(await headOf(other)).toBe('0')
  })

  test('with its project', async () => {
    const bench = new Bench()
    const own = bench.join(PATIENT_MS)
    const foreign = bench.join(PATIENT_MS, 'interactive', { project_id: 2, cache_key: 'foreign' })
    await settle()
    bench.scheduler.cancelProject(1)
    await bench.end(1)
    expect(await refusal(own.answer)).toBe('query_cancelled: The query was cancelled.')
    expect(await headOf(foreign)).toBe('1')
  })
})

describe('a fair queue', () => {
  const LIMITS = { running_max: 3, waiting_max: 9 }

  test('has one place more for a project of which nothing runs', () => {
    const limits = { running_max: 2, waiting_max: 9, extra_max: 1 }
    const queue = new ProjectQueue<{ id: number; project_id: number }>(limits)
    for (const [id, project_id] of [1, 1, 1, 2, 3, 1].entries()) queue.add({ id, project_id })
    const begun = Array.from({ length: 4 }, () => queue.takeNext()?.id ?? null)
    expect(begun).toEqual([0, 3, 4, null])
    queue.remove({ id: 3, project_id: 2 })
    expect(queue.takeNext()).toBe(null)
    queue.remove({ id: 4, project_id: 3 })
    expect(queue.takeNext()?.id).toBe(1)
    queue.add({ id: 6, project_id: 2 })
    expect([queue.takeNext()?.id, queue.takeNext()]).toEqual([6, null])
  })

  test('does not count running entries that take no place', () => {
    const queue = new ProjectQueue<{ id: number; project_id: number }>(
      { running_max: 1, waiting_max: 9 },
      ({ id }) => id > 0,
    )
    for (const id of [0, 1, 2]) queue.add({ id, project_id: 1 })
    expect([queue.takeNext()?.id, queue.takeNext()?.id, queue.takeNext()]).toEqual([0, 1, null])
    expect(queue.state).toEqual({ running: 2, waiting: 1 })
  })

  test('passes over entries that may not begin yet', () => {
    const queue = new ProjectQueue<{ id: number; project_id: number }>(LIMITS)
    const entries = [1, 1, 2].map((project_id, id) => ({ id, project_id }))
    for (const entry of entries) queue.add(entry)
    expect(queue.takeNext(({ project_id }) => project_id === 2)).toEqual({ id: 2, project_id: 2 })
    expect(queue.state).toEqual({ running: 1, waiting: 2 })
    queue.remove({ id: 2, project_id: 2 })
    expect(queue.takeNext()).toEqual({ id: 0, project_id: 1 })
  })
})
