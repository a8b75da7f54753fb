/** Shared computations and turns: what is computed how often, and who stops it. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { BackgroundSlots } from '../../../src/query/service/background-slots.ts'
import type { ComputedAnswer } from '../../../src/query/service/cache.ts'
import { isOverShare } from '../../../src/query/service/fair-share.ts'
import { KeyLimits } from '../../../src/query/service/key-limits.ts'
import { RUNNING_QUERIES_MAX, RunningQueries } from '../../../src/query/service/running-queries.ts'
import {
  type RunningExecution,
  SharedExecutions,
  type Subscription,
} from '../../../src/query/service/shared-executions.ts'
import { newStatus } from '../../../src/query/service/status.ts'
import { refusal } from '../world.ts'

const PATIENT_MS = 15_000

/** A clock that stands still, and computations that end when told to. */
class Bench {
  now_ms = 1_000_000
  readonly computations = new SharedExecutions(() => new Date(this.now_ms))
  readonly begun: {
    now: Date
    running: RunningExecution
    end: PromiseWithResolvers<ComputedAnswer>
  }[] = []

  join(
    patience_ms: number,
    turns?: BackgroundSlots,
    project_id = 1,
    cache_key = 'k',
  ): Subscription {
    return this.computations.join({
      project_id,
      cache_key,
      patience_ms,
      takeSlot: turns === undefined ? null : () => turns.take(project_id),
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
    this.begun[index]?.end.resolve({ head: `${index}`, results: new Uint8Array(), last_refresh_ms })
    await settle()
  }
}

const NEVER = Promise.withResolvers<never>().promise
const HOLD: Subscription = {
  answer: NEVER,
  begun: NEVER,
  probe: async () => null,
  isOutdated: () => false,
  leave: () => undefined,
}

const settle = () => Bun.sleep(0)
const headOf = (hold: Subscription): Promise<string> => hold.answer.then(({ head }) => head)

describe('a question asked by many', () => {
  test('is computed anew for who comes after the past of its project has changed', async () => {
    const bench = new Bench()
    const before = bench.join(PATIENT_MS)
    await settle()
    bench.computations.outdate(2)
    const beside = bench.join(PATIENT_MS)
    bench.computations.outdate(1)
    const after = bench.join(PATIENT_MS)
    // One that has not begun sees the change.
    bench.computations.outdate(1)
    expect([before, beside, after].map((hold) => hold.isOutdated())).toEqual([true, true, false])
    await bench.end(0)
    await bench.end(1)
    const heads = await Promise.all([before, beside, after].map(headOf))
    expect(heads).toEqual(['0', '0', '1'])
    expect(bench.computations.state).toEqual({ running: 0, started: 2 })
  })

  test('is computed once for all who come while an answer would be fresh', async () => {
    const bench = new Bench()
    const holds = Array.from({ length: 200 }, () => bench.join(PATIENT_MS))
    bench.now_ms += PATIENT_MS - 1
    holds.push(bench.join(PATIENT_MS))
    await bench.end(0)
    expect(new Set(await Promise.all(holds.map(headOf)))).toEqual(new Set(['0']))
    expect(bench.computations.state).toEqual({ running: 0, started: 1 })
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
    expect(bench.computations.state).toEqual({ running: 0, started: 2 })
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
    expect(bench.computations.state.running).toBe(0)
    const next = bench.join(PATIENT_MS)
    await bench.end(1)
    expect(await headOf(next)).toBe('1')
  })

  test('is not computed when everybody left before it began', async () => {
    const bench = new Bench()
    const turns = new BackgroundSlots(1, 9)
    bench.join(PATIENT_MS, turns, 1, 'other')
    const hold = bench.join(PATIENT_MS, turns)
    await settle()
    hold.leave()
    await bench.end(0)
    expect(bench.begun).toHaveLength(1)
    expect(turns.state).toEqual({ running: 0, waiting: 0 })
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
    const turns = new BackgroundSlots(1, 9)
    bench.join(PATIENT_MS, turns, 1, 'other')
    const queued = bench.join(PATIENT_MS, turns)
    await settle()
    expect(bench.begun).toHaveLength(1)
    const waiting = bench.join(0)
    await bench.end(1)
    expect([await headOf(queued), await headOf(waiting)]).toEqual(['1', '1'])
  })
})

describe('background questions', () => {
  test('take turns: a project with many does not keep another waiting', async () => {
    const turns = new BackgroundSlots(2, 99)
    const order: string[] = []
    const take = (project_id: number, name: string) => {
      const turn = turns.take(project_id)
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
    expect(turns.state).toEqual({ running: 0, waiting: 0 })
  })

  test('are refused when too many wait', async () => {
    const turns = new BackgroundSlots(1, 2)
    for (let count = 0; count < 3; count++) turns.take(1)
    const refused = Promise.try(() => turns.take(1))
    expect(await refusal(refused)).toStartWith('throttled: Too many background queries')
  })
})

describe('what is limited', () => {
  test('is left to those who have less than their part, also when others have all of it', async () => {
    const turns = new BackgroundSlots(1, 4)
    const take = (project_id: number) => refusal(Promise.try(() => turns.take(project_id)))
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

  test('are questions that join others too', () => {
    const running_queries = new RunningQueries()
    const register = (project_id: number, id: string) => {
      running_queries.requireRoom(project_id)
      const asked = { id, project_id, caller: '', task_id: id, labels: [], query_async: true }
      const flight = { status: newStatus(asked, 0), subscription: HOLD, begun_ms: () => null }
      running_queries.add(flight)
      return flight
    }
    const first = register(1, 'first')
    for (let count = 1; count < RUNNING_QUERIES_MAX; count++) register(1, `q${count % 7}`)
    expect(running_queries.size).toBe(RUNNING_QUERIES_MAX)
    expect(() => register(1, 'more')).toThrow('Too many queries')
    register(2, 'other')
    running_queries.remove(first)
    running_queries.remove(first)
    expect(running_queries.size).toBe(RUNNING_QUERIES_MAX)
  })
})

describe('a key', () => {
  const enter = (limits: KeyLimits, key: string) => refusal(Promise.try(() => limits.enter(key)))

  test('has no limits unless they are set', async () => {
    const limits = new KeyLimits({ running_max: 0, per_minute: 0, per_hour: 0 }, () => new Date(0))
    for (let count = 0; count < 1000; count++) expect(await enter(limits, 'a')).toBe('answered')
  })

  test('runs so many questions at a time, and others are not concerned', async () => {
    const limits = new KeyLimits({ running_max: 2, per_minute: 0, per_hour: 0 }, () => new Date(0))
    const leave = limits.enter('a')
    limits.enter('a')
    const told = 'throttled: This API key may run 2 queries at a time.'
    expect(await enter(limits, 'a')).toBe(told)
    expect(await enter(limits, 'b')).toBe('answered')
    leave()
    leave()
    expect(await enter(limits, 'a')).toBe('answered')
    expect(await enter(limits, 'a')).toBe(told)
  })

  test('asks so many in a minute and in an hour, and is told when to come again', async () => {
    let now_ms = 0
    const limits = new KeyLimits(
      { running_max: 0, per_minute: 3, per_hour: 5 },
      () => new Date(now_ms),
    )
    const four = async () => {
      const told: string[] = []
      for (let count = 0; count < 4; count++) told.push(await enter(limits, 'a'))
      return told
    }
    const wait = (seconds: number) =>
      `throttled: Request was throttled. Expected available in ${seconds} seconds.`
    expect(await four()).toEqual(['answered', 'answered', 'answered', wait(20)])
    now_ms += 20_000
    expect(await enter(limits, 'a')).toBe('answered')
    now_ms += 60_000
    // The hour's five, of which a twelfth of an hour gives one back.
    expect(await four()).toEqual(['answered', wait(640), wait(640), wait(640)])
    now_ms += 640_000
    expect(await enter(limits, 'a')).toBe('answered')
  })
})
