/** Kills a child process that makes no progress, so that its work is done by another one. */
import { readFileSync } from 'node:fs'
import { MINUTE_MS } from '../../time.ts'

/** Work that lasts less than this is never looked at. */
const LOOK_EVERY_MS = 10 * MINUTE_MS

/** A process that used no larger part of the time is stalled: its threads wait for each other, or for a disk that does not answer. */
const PROCESSOR_SHARE_MIN = 0.001

/** The kernel's unit of processor time. */
const TICK_MS = 10

/**
 * Watches a child while it works; the returned function ends that. Without a limit, one that hangs would keep all later
 * work waiting, and the log would grow until the disk is full. Not where the system has no `/proc`.
 */
export function killWhenStalled(
  child: Pick<Bun.Subprocess, 'kill' | 'pid'>,
  look_every_ms = LOOK_EVERY_MS,
): () => void {
  let before_ms = readProcessorTime(child.pid)
  const timer = setInterval(() => {
    const now_ms = readProcessorTime(child.pid)
    if (now_ms === null || before_ms === null) return
    if (now_ms - before_ms <= look_every_ms * PROCESSOR_SHARE_MIN) child.kill('SIGKILL')
    before_ms = now_ms
  }, look_every_ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** Milliseconds of processor time that a process has used, in user code and in the system; null when it has ended. */
function readProcessorTime(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the name in parentheses, which may contain spaces; user and system time are fields 14 and 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  } catch {
    return null
  }
}
