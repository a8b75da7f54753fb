/** The watchdog: a request that holds the event loop is named while it still does. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('a hanging thread is logged with the request that holds it, before it is free again', async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'hung-process.ts')], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let text = ''
  for await (const chunk of child.stderr) {
    text += new TextDecoder().decode(chunk)
    if (text.includes('\n')) break
  }
  child.kill('SIGKILL')
  await child.exited
  const line: Record<string, unknown> = JSON.parse(text.split('\n')[0] ?? '')
  expect(line).toEqual({
    level: 'warn',
    time: expect.any(String),
    thread: 'main',
    held_ms: expect.any(Number),
    work: { name: 'GET /held/', request_id: 1, project_id: 7 },
    msg: 'the event loop is held',
  })
  expect(line['held_ms']).toBeGreaterThanOrEqual(100)
})
