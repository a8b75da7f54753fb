/** A child process that uses no processor time is killed, one that works is not. */
import { expect, test } from 'bun:test'
import { killWhenStalled } from '../../../src/storage/process/kill-stalled.ts'

test.skipIf(process.platform !== 'linux')('a frozen process is killed', async () => {
  const child = Bun.spawn(['sh', '-c', 'while :; do :; done'])
  const stopWatching = killWhenStalled(child, 1000)
  await Bun.sleep(3500)
  expect(child.exitCode ?? child.signalCode).toBe(null)
  child.kill('SIGSTOP')
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  stopWatching()
})

test('a process that is no longer watched lives on', async () => {
  const child = Bun.spawn(['sleep', '600'])
  const stopWatching = killWhenStalled(child, 20)
  stopWatching()
  await Bun.sleep(100)
  expect(child.exitCode ?? child.signalCode).toBe(null)
  child.kill()
  await child.exited
})
