/** Limits of a personal API key: queries at a time, a minute and an hour. */
import { describe, expect, test } from 'bun:test'
import { KeyLimits } from '../../../src/query/service/key-limits.ts'
import { refusal } from '../world.ts'

describe('a key', () => {
  const enter = (limits: KeyLimits, key: string) => refusal(Promise.try(() => limits.enter(key)))

  test('has no limits unless they are set', async () => {
    const limits = new KeyLimits({ running_max: 0, per_minute: 0, per_hour: 0 }, () => new Date(0))
    for (let count = 0; count < 1000; count++) expect(await enter(limits, 'a')).toBe('answered')
  })

  test('runs so many queries at a time, and others are not concerned', async () => {
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
