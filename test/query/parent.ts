/** A server process in miniature: keeps a query process busy until it is killed. Prints the process's id when it is. */
import { QueryEngine } from '../../src/query/engine/engine.ts'
import { query } from './world.ts'

const [data_dir = '', sql = ''] = process.argv.slice(2)
const engine = new QueryEngine({
  data_dir,
  settings: {
    memory_mb: 256,
    spill_mb: 2048,
    threads: 2,
    result_bytes_max: 1_000_000,
    running_max: 4,
    waiting_max: 4,
  },
  log: { info: () => undefined, warn: () => undefined },
})
await engine.run(query('select 1 where $1 = 1'), { timeout_ms: 30_000 })
engine.run(query(sql), { timeout_ms: 600_000 }).catch(() => undefined)
console.log(engine.state.pid)
