/** A process whose event loop is held for ever by one of two requests, or put to sleep; the watchdog writes to its error output. */
import { watchEventLoops } from '../../src/serve/watchdog.ts'
import { createEventLoops } from '../../src/threads/loop-memory.ts'
import { nameWork, noteProject, resumeWork, runWork } from '../../src/threads/this-thread.ts'

const event_loops = createEventLoops()
watchEventLoops(event_loops, { stall_log_ms: 100, log_level: 'info' }, new DisposableStack())
// Until the watchdog has started.
await Bun.sleep(300)

const holder = runWork(nameWork('GET /held/'), async () => {
  noteProject(7)
  await Bun.sleep(60)
  resumeWork()
  while (process.argv[2] !== 'sleeping');
  Bun.sleepSync(400)
  await Bun.sleep(60_000)
})
const bystander = runWork(nameWork('GET /harmless/'), async () => {
  noteProject(8)
  await Bun.sleep(10)
})
await Promise.all([holder, bystander])
