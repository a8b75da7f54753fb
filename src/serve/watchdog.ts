/** Starts the watchdog, which logs the request that holds a thread while the thread hangs. */
import type { EventLoops } from '../threads/loop-memory.ts'
import { startHeartbeat } from '../threads/this-thread.ts'
import type { WatchdogOptions } from './watchdog-thread.ts'

/** Starts the heartbeat of this thread, and watches it and all others that have one. To be closed before those threads. */
export function watchEventLoops(
  event_loops: EventLoops,
  { stall_log_ms, log_level }: Pick<WatchdogOptions, 'log_level' | 'stall_log_ms'>,
  parts: DisposableStack | AsyncDisposableStack,
): void {
  parts.defer(startHeartbeat(event_loops.main))
  if (stall_log_ms === 0) return
  const worker = new Worker(new URL('./watchdog-thread.ts', import.meta.url).href, { smol: true })
  const options: WatchdogOptions = { event_loops, stall_log_ms, log_level }
  worker.postMessage(options, [])
  worker.unref()
  parts.defer(() => worker.terminate())
}
