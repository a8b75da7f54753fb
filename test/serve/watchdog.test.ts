/** The watchdog: a request that holds the event loop is named while it still does. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** The first lines that the watchdog writes about a process. */
async function linesOf(count: number, ...args: readonly string[]) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'hung-process.ts'), ...args], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let text = ''
  for await (const chunk of child.stderr) {
    text += new TextDecoder().decode(chunk)
    if (text.split('\n').length > count) break
  }
  child.kill('SIGKILL')
  await child.exited
  return text
    .split('\n')
    .slice(0, count)
    .map((line): Record<string, unknown> => JSON.parse(line))
}

test('a hanging thread is logged with the request that holds it, before it is free again', async () => {
  const [line] = await linesOf(1)
  expect(line).toEqual({
    level: 'warn',
    time: expect.any(String),
    thread: 'main',
    held_ms: expect.any(Number),
    work: { name: 'GET /held/', request_id: 1, project_id: 7 },
    msg: 'the event loop is held',
  })
  expect(line?.['held_ms']).toBeGreaterThanOrEqual(100)
})

test('a thread that was kept from running is told from one that worked, by its processor time', async () => {
  const [, line] = await linesOf(2, 'sleeping')
  expect(line).toEqual({
    level: 'warn',
    time: expect.any(String),
    thread: 'main',
    held_ms: expect.any(Number),
    cpu_ms: expect.any(Number),
    msg: 'the event loop is free again: it waited for a processor or for the disk',
  })
  expect(Number(line?.['cpu_ms'])).toBeLessThan(Number(line?.['held_ms']) / 2)
})
