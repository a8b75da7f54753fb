/** Processes that work beside the server leave it the processors, with all of their threads. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog } from '../../../src/storage/log/event-log.ts'
import { lowerPriority } from '../../../src/storage/process/lower-priority.ts'
import { childCommand } from '../../../src/storage/process/spawn-self.ts'
import { askUntil } from '../../flows/clients/patience.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-priority-'))
new EventLog(folder).close()
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The nicenesses of the threads of a process. */
const nicenessesOf = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`).map((id) => {
    const stat = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

// The server lowers that of a snapshot process (`test/snapshots/child.test.ts`).
for (const args of [
  ['shipping-process', folder],
  ['shipping-process', folder, 'confined'],
])
  test.skipIf(process.platform !== 'linux')(`${args[0]} ${args[2] ?? ''}`.trim(), async () => {
    const child = Bun.spawn([...childCommand(args)], { stdin: 'pipe', stdout: 'ignore' })
    // The runtime starts its own threads before the first line of the program.
    const nicenesses = await askUntil(
      () => nicenessesOf(child.pid),
      (all) => all.length > 3 && all.every((niceness) => niceness === 10),
    )
    expect(new Set(nicenesses)).toEqual(new Set([10]))
    child.kill('SIGKILL')
    await child.exited
  })

test('a priority that is lower already stays, and a process that is gone is none to lower', async () => {
  // This process may have a lower priority itself: a niceness ends at 19.
  const lower = Math.min(getPriority() + 15, 19)
  const child = Bun.spawn(['nice', '-n', '15', 'sleep', '60'])
  await askUntil(
    () => getPriority(child.pid),
    (niceness) => niceness === lower,
  )
  lowerPriority(child.pid)
  expect(getPriority(child.pid)).toBe(lower)
  child.kill()
  await child.exited
  lowerPriority(child.pid)
})
