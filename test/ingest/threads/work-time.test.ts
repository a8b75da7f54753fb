/** Work is measured by the processor time of its thread, and ends by the clock at the latest. */
import { describe, expect, test } from 'bun:test'
import { limitWork } from '../../../src/ingest/threads/work-time.ts'

/** Keeps this thread busy until it has used an amount of processor time. */
function work(cpu_ms: number): void {
  const used = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(used)
    if ((user + system) / 1000 >= cpu_ms) return
  }
}

describe('the time of work', () => {
  test('is over at once where there is none', () => {
    expect(limitWork(0)()).toBe(true)
  })

  test('is over after its processor time', () => {
    const isOver = limitWork(20)
    work(25)
    expect(isOver()).toBe(true)
  })

  test('is not over while the thread waits, up to three times as long by the clock', async () => {
    const isOver = limitWork(1000)
    await Bun.sleep(1010)
    expect(isOver()).toBe(false)
    await Bun.sleep(2000)
    expect(isOver()).toBe(true)
  }, 20_000)
})
